"""The examples run as a user runs them."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT


def run(script, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, ROOT / "examples/python" / script, *map(str, arguments)], env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_plain_loop_and_bp_svrg_spend_the_same_and_learn():
    pytest.importorskip("torch")
    printed = run("bp_svrg_loop.py", "--epochs", 4)
    lines = re.findall(r"^(.*?) +(\d+) gradient evaluations  test accuracy ([\d.]+) %$", printed, re.MULTILINE)
    assert [(name, int(count)) for name, count, _ in lines] == [("plain", 384), ("c = 1", 384)]
    # Guessing is right in 10 % of the cases.
    assert all(float(accuracy) > 50 for _, _, accuracy in lines), printed


def test_the_figure_is_drawn_from_the_sweep(sweep, tmp_path):
    pytest.importorskip("matplotlib")
    figure = tmp_path / "figure.svg"
    printed = run("coefficient_figure.py", sweep, figure)
    assert re.search(r"bp-svrg +done +80", printed) and "Paired differences" in printed
    drawn = figure.read_text()
    committed = (ROOT / "docs/python.svg").read_text()
    for words in ("coefficient c", "test accuracy at the end (%)", "c = -1", "c = 4", "SGD"):
        assert words in drawn and words in committed


def test_the_committed_figure_is_what_the_script_draws(sweep, tmp_path):
    """With the matplotlib that drew it; another one may place things differently."""
    matplotlib = pytest.importorskip("matplotlib")
    committed = (ROOT / "docs/python.svg").read_text()
    if f"Matplotlib v{matplotlib.__version__}," not in committed:
        pytest.skip(f"docs/python.svg was drawn by another matplotlib than {matplotlib.__version__}")
    run("coefficient_figure.py", sweep, tmp_path / "figure.svg")

    def points(text):
        return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]

    drawn = (tmp_path / "figure.svg").read_text()
    assert points(drawn) == pytest.approx(points(committed), abs=0.01)
