"""Rows of runs and records."""

import warnings

import pandas
import pytest
from conftest import write_run

import batchplus

RECORDS = [
    {"epoch": 1, "lr": 0.1, "hessian_trace": {"value": 8.0, "standard_error": 0.5, "draws": 10},
     "loss_gap": {"value": 0.25, "train_loss": 1.5, "samples": 64}, "accuracy_gap": {"value": 2.0, "train_accuracy": 75.0}},
    {"epoch": 2, "lr": 0.01},
]


def test_a_run_is_a_row_with_config_result_and_state(tmp_path):
    write_run(tmp_path / "a", {"epochs": 3}, RECORDS, result={"epochs": 2, "lr": 0.01, "test_accuracy": 50.0,
                                                              "hessian_trace": {"value": 8.0, "standard_error": 0.5}})
    row = batchplus.runs(tmp_path).iloc[0]
    assert (row.id, row.status, row.method, row.test_accuracy) == ("a", "done", "sgd", 50.0)
    assert (row.lr, row.final_lr, row.epochs, row.final_epochs) == (0.1, 0.01, 3, 2)
    assert (row.hessian_trace, row.hessian_trace_se) == (8.0, 0.5)
    assert row.run == str(tmp_path / "a")
    assert row.processor == "an abacus"


@pytest.mark.parametrize("state", ["running", "interrupted", "done", "diverged"])
def test_every_state_is_a_row(tmp_path, state):
    write_run(tmp_path / "a", status=state)
    assert batchplus.runs(tmp_path).status.tolist() == [state]


def test_several_paths_and_any_depth_give_each_run_once(tmp_path):
    write_run(tmp_path / "a/deep/er/one")
    write_run(tmp_path / "b/two")
    table = batchplus.runs([tmp_path / "b", str(tmp_path / "a"), tmp_path / "b/two"])
    assert table.id.tolist() == ["one", "two"]


def test_text_that_is_a_number_in_every_run_is_a_number(tmp_path):
    write_run(tmp_path / "a", {"coefficient": "2", "outer_batch": "200"})
    write_run(tmp_path / "b", {"coefficient": "", "outer_batch": "all"})
    table = batchplus.runs(tmp_path)
    assert table.coefficient.tolist()[0] == 2.0 and pandas.isna(table.coefficient[1])
    assert table.outer_batch.tolist() == ["200", "all"]


def test_a_record_is_a_row_with_metrics_as_value_and_standard_error(tmp_path):
    write_run(tmp_path / "a", records=RECORDS)
    table = batchplus.records(tmp_path)
    assert table.epoch.tolist() == [1, 2]
    assert table.hessian_trace[0] == 8.0 and table.hessian_trace_se[0] == 0.5 and pandas.isna(table.hessian_trace[1])
    assert (table.train_loss[0], table.train_accuracy[0]) == (1.5, 75.0)
    assert "hessian_trace_draws" not in table and "loss_gap_se" not in table


def test_records_take_keys_of_the_config_and_details(tmp_path):
    write_run(tmp_path / "a", {"coefficient": "-1"}, RECORDS)
    table = batchplus.records(tmp_path, config=["coefficient", "lr"], details=True)
    assert table.coefficient.tolist() == [-1.0, -1.0]
    assert table.config_lr.tolist() == [0.1, 0.1] and table.lr.tolist() == [0.1, 0.01]
    assert table.hessian_trace_draws[0] == 10


def test_a_key_that_no_config_has_is_refused_and_one_that_is_not_set_is_empty(tmp_path):
    write_run(tmp_path / "a", records=RECORDS)
    with pytest.raises(batchplus.Error, match="did you mean 'method'") as caught:
        batchplus.records(tmp_path, config=["seed", "methd"])
    assert (caught.value.what, caught.value.where, caught.value.value) == ("no run has this key", "config", "methd")
    assert batchplus.records(tmp_path, config="dropout").dropout.isna().all()


def test_runs_without_records_give_an_empty_table(tmp_path):
    write_run(tmp_path / "a", status="running")
    assert batchplus.records(tmp_path).empty


def test_damage_raises_or_warns_and_leaves_out(tmp_path):
    write_run(tmp_path / "a")
    (write_run(tmp_path / "b") / "config.toml").write_text("lr = 7\n")
    with pytest.raises(batchplus.Error, match="config.toml"):
        batchplus.runs(tmp_path)
    with pytest.warns(UserWarning, match="left out, because it is damaged: .*b/config.toml"):
        assert batchplus.runs(tmp_path, damaged="warn").id.tolist() == ["a"]
    with pytest.raises(batchplus.Error, match="raise or warn"):
        batchplus.runs(tmp_path, damaged="ignore")


def test_the_committed_runs_have_the_published_means(sweep):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = batchplus.runs(sweep)
        records = batchplus.records(sweep)
    means = table[table.method == "bp-svrg"].groupby("coefficient").test_accuracy.mean()
    assert round(means[4.0], 2) == 43.01 and round(means[-1.0], 2) == 38.02  # docs/results.md
    last = records.sort_values("epoch").groupby("id").last().test_accuracy
    assert last.sort_index().tolist() == table.set_index("id").sort_index().test_accuracy.tolist()
