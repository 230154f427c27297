"""Against SciPy's values (tests/fixtures/make_statistics.py) and closed forms."""

import json
import math

import pytest

from batchplus.statistics import compare_paired, correct_holm, summarize, t_quantile, t_tail


def test_summaries_and_paired_tests_equal_scipy(root):
    fixture = json.loads((root / "tests/fixtures/statistics.json").read_text())
    for expected in fixture["summaries"]:
        summary = summarize(expected["values"])
        assert summary.mean == pytest.approx(expected["mean"], rel=1e-14)
        assert summary.std == pytest.approx(expected["std"], rel=1e-13)
        # SciPy's quantile for few degrees of freedom is itself right to 4e-11.
        assert summary.half_width == pytest.approx(expected["half_width"], rel=1e-10)
    for expected in fixture["paired"]:
        assert compare_paired(expected["a"], expected["b"])[1] == pytest.approx(expected["p"], rel=1e-12)


@pytest.mark.parametrize("t", [0.0, 0.01, 0.5, 1.0, 3.0, 40.0, 1e6])
def test_one_and_two_degrees_of_freedom_have_closed_forms(t):
    # Errors of lgamma, log and exp are a few 1e-16 each; 1 - I loses another few.
    assert t_tail(t, 1) == pytest.approx(math.atan2(1, t) / math.pi, rel=1e-13)
    root = math.sqrt(2 + t * t)
    assert t_tail(t, 2) == pytest.approx(1 / (root * (root + t)), rel=1e-13)


def test_the_quantile_inverts_the_tail():
    for degrees in (1, 2, 3, 9, 30, 1000):
        for probability in (0.6, 0.975, 0.9995):
            assert t_tail(t_quantile(probability, degrees), degrees) == pytest.approx(1 - probability, rel=1e-12)


def test_single_values_have_no_spread_and_none_no_mean():
    assert summarize([3.0]).std is None and summarize([3.0]).interval == (None, None)
    assert summarize([]).mean is None


def test_equal_differences_have_no_p_and_equal_values_p_one():
    assert compare_paired([93.41, 92.51], [93.40, 92.50])[1] is None
    assert compare_paired([1.0, 2.0], [1.0, 2.0])[1] == 1.0
    assert compare_paired([1.0], [2.0])[1] is None


def test_holm_multiplies_by_what_is_left_and_never_falls():
    assert correct_holm([0.01, None, 0.04, 0.03]) == [0.03, None, 0.06, 0.06]
    assert correct_holm([0.9, 0.8]) == [1.0, 1.0]
