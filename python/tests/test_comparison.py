"""compare() against the program's report of the same runs: --json, and the tables as CSV."""

import csv
import json
import shutil

import pytest
from conftest import compact, sha256, write_run

import batchplus


def rows_of(file):
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def close(ours, text):
    """The program prints every digit; sums may round differently in the last one."""
    return (text == "" and ours != ours) or ours == pytest.approx(float(text), rel=1e-12)


def require_same_cells(comparison, file):
    theirs = rows_of(file)
    assert len(theirs) == len(comparison.cells) > 0
    names = {"mean": "final_mean", "std": "final_std", "interval_low": "interval_low", "interval_high": "interval_high",
             "best_mean": "best_mean", "best_std": "best_std", "published_mean": "published_mean",
             "published_std": "published_std"}
    for (_, ours), row in zip(comparison.cells.iterrows(), theirs):
        for column in list(row)[: list(row).index("choice")]:
            assert ours[column] == row[column]
        assert [ours.n, ours.diverged, ours.missing] == [int(row[key]) for key in ("n", "diverged", "missing")]
        assert ours.runs == row["runs"].split()
        for name, theirs_name in names.items():
            assert close(ours[name], row[theirs_name]), (name, ours[name], row[theirs_name])


def formatted_p(p):
    return "-" if p != p else "< 0.001" if p < 0.001 else f"{p:.3f}"


def require_same_pairs(comparison, file, digits):
    """This table is rounded for readers, so ours is rounded as well."""
    theirs = rows_of(file)
    assert len(theirs) == len(comparison.paired) > 0
    for (_, ours), row in zip(comparison.paired.iterrows(), theirs):
        assert f"{ours.a} − {ours.b}" == row["difference"]
        assert float(row["mean"]) == pytest.approx(ours.difference, abs=0.501 * 10**-digits)
        assert int(row["pairs"]) == ours.pairs
        assert [formatted_p(ours.p), formatted_p(ours.p_holm)] == [row["p"], row["p (Holm)"]]
        if ours["std"] > 0:
            low, high = row["95 % interval"].split(" to ")
            assert float(low) == pytest.approx(ours.interval_low, abs=0.501 * 10**-digits)
            assert float(high) == pytest.approx(ours.interval_high, abs=0.501 * 10**-digits)
        else:
            assert row["95 % interval"] in ("-", "no spread")


@pytest.mark.parametrize("quantity, digits", [("test_accuracy", 2), ("loss_gap", 4), ("mean_squared_gradient_norm", 2)])
@pytest.mark.parametrize("below", ["", "runs"])
def test_equals_the_report_of_a_sweep_and_of_its_runs_alone(call, sweep, tmp_path, quantity, digits, below):
    call("report", sweep / below, "--out", tmp_path, "--tables", quantity, "--no-figures")
    comparison = batchplus.compare(sweep / below, quantity)
    require_same_cells(comparison, tmp_path / f"tables/cells-{quantity}.csv")
    require_same_pairs(comparison, tmp_path / f"tables/{quantity}_paired.csv", digits)


def test_equals_the_report_at_equal_training_loss(call, sweep, tmp_path):
    printed = call("report", sweep, "--out", tmp_path, "--tables", "test_accuracy", "--at-loss", "0.8,0.4", "--no-figures")
    comparison = batchplus.compare(sweep, at_loss=[0.8, 0.4])
    require_same_pairs(comparison, tmp_path / "tables/at_loss_test_accuracy_paired.csv", 2)
    cells = comparison.cells.set_index(["c", "training_loss"])
    compared = 0
    for cell in printed["cells"]:
        for level in cell["at_loss"]:
            ours = cells.loc[(cell["cell"]["c"], level["loss"])]
            theirs = level.get("test_accuracy", {"n": 0})
            assert ours.n == theirs["n"]
            if ours.n:
                assert close(ours["mean"], str(theirs["mean"])) and close(ours["std"], str(theirs["std"]))
                compared += 1
    assert compared == 19  # c = 4 never gets down to 0.4
    named = [run for cell in printed["cells"] for level in cell["at_loss"] if level["loss"] == 0.4 for run in level["never"]]
    assert len(named) >= 10 and comparison.notes[-1] == f"without a value at the training loss 0.4 (never): {', '.join(named)}"


def test_runs_without_a_value_at_a_level_are_named_with_the_reason(tmp_path):
    def gap(loss, **others):
        return {"loss_gap": {"value": 0.1, "train_loss": loss}, **others}

    write_run(tmp_path / "high", {"seed": 1}, [gap(2.0, test_loss=3.0), gap(1.0, test_loss=2.0)], result={"test_loss": 2.0})
    write_run(tmp_path / "low", {"seed": 2}, [gap(0.25, test_loss=1.0)], result={"test_loss": 1.0})
    write_run(tmp_path / "silent", {"seed": 3}, [gap(2.0), gap(0.25)], result={"test_loss": 1.0})
    write_run(tmp_path / "good", {"seed": 4}, [gap(1.0, test_loss=3.0), gap(0.5, test_loss=2.0)], result={"test_loss": 2.0})
    comparison = batchplus.compare(tmp_path, "test_loss", at_loss=[0.75])
    assert comparison.cells[["n", "mean"]].values.tolist() == [[1, 2.5]]
    assert comparison.notes == ("without a value at the training loss 0.75 (never): high",
                                "without a value at the training loss 0.75 (below_from_the_start): low",
                                "without a value at the training loss 0.75 (not_recorded): silent")


def test_levels_may_be_of_numpy(tmp_path):
    numpy = pytest.importorskip("numpy")
    records = [{"test_accuracy": 1.0, "loss_gap": {"value": 0.1, "train_loss": loss}} for loss in (2.0, 0.25)]
    write_run(tmp_path / "a", records=records, result={"test_accuracy": 1.0})
    for level in (numpy.float32(0.5), numpy.float64(0.5), numpy.array(0.5), numpy.array([0.5]), (each for each in [0.5])):
        assert batchplus.compare(tmp_path, at_loss=level).cells.training_loss.tolist() == [0.5]


SPEC = """
title = "A choice, a diverging rate and published numbers"
[base]
dataset = "synthetic"
train_limit = 200
test_limit = 100
validation = 50
inner_batch = 25
epochs = 1
repeats = 2
[[axis]]
name = "network"
  [[axis.value]]
  label = "small"
  model = "mlp"
[[axis]]
name = "method"
  [[axis.value]]
  label = "BP"
  method = "bp-svrg"
  [[axis.value]]
  label = "B"
  method = "b-svrg"
  [[axis.value]]
  label = "wild"
  method = "sgd"
  lr = 1e12
[choose]
key = "lr"
values = [0.01, 0.1]
when = { method = "BP" }
same_for = { method = "B" }
by = "validation_accuracy"
[published]
"small/BP" = [50.5, 0.25]
"""


def test_equals_the_report_where_rates_are_chosen_and_runs_diverge(call, tmp_path):
    spec, out = tmp_path / "spec.toml", tmp_path / "sweep"
    spec.write_text(SPEC)
    batchplus.sweep(spec, out=out, quiet=True)
    printed = call("report", out, "--no-figures")
    comparison = batchplus.compare(out)
    require_same_cells(comparison, out / "report/tables/cells-test_accuracy.csv")
    require_same_pairs(comparison, out / "report/tables/test_accuracy_paired.csv", 2)
    assert comparison.cells.lr.tolist() == [cell.get("lr", "") for cell in printed["cells"]]
    assert comparison.cells.diverged.tolist() == [0, 0, 2]
    assert comparison.cells.published_mean.tolist()[0] == 50.5

    assert list(comparison.notes) == printed["notes"]

    # A run that is damaged, and one in the place of another, are left out of both.
    one, two = (out / "runs" / id for id in comparison.cells.runs[0])
    shutil.rmtree(two)
    shutil.copytree(one, two)
    (one / "config.toml").write_text("lr = 7\n")
    printed = call("report", out, "--no-figures")
    comparison = batchplus.compare(out)
    require_same_cells(comparison, out / "report/tables/cells-test_accuracy.csv")
    assert list(comparison.notes) == printed["notes"]
    assert len(comparison.notes) == 3 and "unequal numbers of finished runs" in comparison.notes[2]


def test_copies_count_once_and_different_results_of_one_config_are_refused(tmp_path):
    result = {"test_accuracy": 50.0, "weights_sha256": "a"}
    write_run(tmp_path / "runs/a", result=result)
    write_run(tmp_path / "runs/b", {"out": "elsewhere"}, result=result)
    comparison = batchplus.compare(tmp_path / "runs")
    assert comparison.cells.n.tolist() == [1]
    assert comparison.notes == (f"{tmp_path}/runs/b has the config and the seed of {tmp_path}/runs/a, and counts once with it",)
    write_run(tmp_path / "runs/c", result={**result, "weights_sha256": "b"})
    with pytest.raises(batchplus.Error, match="different results"):
        batchplus.compare(tmp_path / "runs")


def damage(run, name="metrics.jsonl"):
    with (run / name).open("a") as file:
        file.write("{}\n")


def require_same_report(call, folder, out):
    printed = call("report", folder, "--out", out, "--no-figures")
    comparison = batchplus.compare(folder)
    require_same_cells(comparison, out / "tables/cells-test_accuracy.csv")
    assert list(comparison.notes) == printed["notes"]
    return comparison


def test_runs_without_a_sweep_that_are_damaged_are_missing_as_in_the_report(call, tmp_path):
    runs = tmp_path / "runs"
    record = [{"epoch": 1, "test_accuracy": 50.0}]
    for method in ("nag", "sgd"):
        for seed in (1, 2):
            write_run(runs / f"{method}{seed}", {"method": method, "seed": seed}, record,
                      result={"test_accuracy": 50.0 + seed, "weights_sha256": f"{method}{seed}"})
    damage(runs / "sgd2")
    comparison = require_same_report(call, runs, tmp_path / "one")
    assert comparison.cells.missing.tolist() == [0, 1] and len(comparison.notes) == 1

    # All runs of a method: it stays a column. A run that goes on may be broken, and one whose config is damaged is unknown.
    damage(runs / "sgd1")
    (write_run(runs / "sgd3", {"seed": 3}, status="running") / "metrics.jsonl").write_text('{"epo\n{"epoch": 2}\n')
    damage(write_run(runs / "sgd4", {"seed": 4}), "config.toml")
    comparison = require_same_report(call, runs, tmp_path / "all")
    assert comparison.cells.missing.tolist() == [0, 3] and len(comparison.notes) == 3

    # A copy that is whole counts in its place.
    write_run(runs / "whole", {"method": "sgd", "seed": 2}, record, result={"test_accuracy": 52.0, "weights_sha256": "sgd2"})
    comparison = require_same_report(call, runs, tmp_path / "copy")
    assert comparison.cells.n.tolist() == [2, 1]


def test_runs_of_a_sweep_that_are_cut_short_or_elsewhere_are_noted_as_in_the_report(call, tmp_path):
    rows = []
    for seed in (1, 2, 3):
        write_run(tmp_path / "runs" / str(seed), {"seed": seed}, [{"epoch": 1}], status="running" if seed == 2 else "done",
                  result={"test_accuracy": 50.0})
        rows.append({"id": str(seed), "seed": seed, "cell": {"method": "SGD"}, "config": {"seed": "7" if seed == 3 else str(seed)}})
    (tmp_path / "runs/2/metrics.jsonl").write_text('{"epo\n{"epoch": 2}\n')
    damage(tmp_path / "runs/3")
    (tmp_path / "sweep.json").write_text(json.dumps({
        "format_version": 1, "name": "n", "title": "t", "scale": "full", "note": "", "set": [],
        "axes": [{"name": "method", "labels": ["SGD"]}], "runs": rows,
        "report": {"tables": ["test_accuracy"], "curves": ["test_accuracy"], "x": "epochs", "smooth": 1}, "published": []}))
    comparison = require_same_report(call, tmp_path, tmp_path / "out")
    assert comparison.cells[["n", "missing"]].values.tolist() == [[1, 2]]
    assert len(comparison.notes) == 1 and "another run than the sweep's" in comparison.notes[0]
    (tmp_path / "runs/2/status.json").unlink()
    comparison = require_same_report(call, tmp_path, tmp_path / "lost")
    assert comparison.notes[0] == f"left out, because it is damaged: {tmp_path / 'runs/2/status.json'} (it is missing)"


def test_other_data_under_one_name_stands_in_rows_of_its_own_as_in_the_report(call, tmp_path):
    for name, method, seed, test in (("1", "sgd", 1, "1" * 64), ("2", "sgd", 2, "1" * 64), ("3", "nag", 1, "2" * 64),
                                     ("4", "nag", 2, "1" * 64), ("5", "sgd", 1, "2" * 64), ("6", "nag", 3, None)):
        write_run(tmp_path / "runs" / name, {"method": method, "seed": seed}, result={"test_accuracy": 50.0 + seed},
                  inputs={"test": test, "train": "t"} if test else None)
    comparison = batchplus.compare(tmp_path / "runs")
    assert list(comparison.cells.columns[:2]) == ["test data", "method"]
    assert comparison.paired[["test data", "pairs"]].values.tolist() == [["1" * 8, 1], ["2" * 8, 1]]
    printed = call("report", tmp_path / "runs", "--no-figures", "--out", tmp_path / "report")
    require_same_cells(comparison, tmp_path / "report/tables/cells-test_accuracy.csv")
    assert list(comparison.notes) == printed["notes"] != []


def test_runs_of_a_sweep_with_other_data_are_left_out_as_in_the_report(call, tmp_path):
    (tmp_path / "s.toml").write_text(
        'title = "t"\n[base]\ndataset = "synthetic"\nmodel = "mlp"\ntrain_limit = 64\ntest_limit = 20\n'
        'inner_batch = 32\nepochs = 1\nrepeats = 3\n[[axis]]\nname = "method"\n[[axis.value]]\nlabel = "SGD"\n'
        'method = "sgd"\n[[axis.value]]\nlabel = "NAG"\nmethod = "nag"\n[scale.paper]\n')
    call("sweep", tmp_path / "s.toml", "--out", tmp_path / "sweep", "--quiet")
    run = sorted((tmp_path / "sweep/runs").iterdir())[0]
    content = json.loads((run / "provenance.json").read_text())
    content["inputs"]["test"] = "other"
    (run / "provenance.json").write_text(json.dumps(content))
    status = json.loads((run / "status.json").read_text())
    status["provenance_sha256"] = sha256((run / "provenance.json").read_text())
    del status["checksum"]
    status["checksum"] = sha256(compact(status))
    (run / "status.json").write_text(json.dumps(status))
    comparison = batchplus.compare(tmp_path / "sweep")
    assert sorted(comparison.cells.missing) == [0, 1]
    assert [note.startswith("left out, because it had other test data") for note in comparison.notes] == [True]
    printed = call("report", tmp_path / "sweep", "--no-figures")
    require_same_cells(comparison, tmp_path / "sweep/report/tables/cells-test_accuracy.csv")
    assert list(comparison.notes) == printed["notes"]
    (tmp_path / "sweep/sweep.json").write_text((tmp_path / "sweep/sweep.json").read_text().replace("SGD", "SDG"))
    with pytest.raises(batchplus.Error, match="not as it was written"):
        batchplus.compare(tmp_path / "sweep")


def test_gaps_at_the_end_are_over_all_samples(tmp_path):
    """What was measured may be of some of them."""
    write_run(tmp_path / "a", result={"test_loss": 2.0, "train_loss": 1.5, "loss_gap": {"value": 0.9}})
    assert batchplus.compare(tmp_path, "loss_gap").cells["mean"].tolist() == [0.5]


def test_a_value_with_fewer_diverged_runs_is_chosen_before_a_better_one(call, tmp_path):
    runs = []
    for lr, seed, state, accuracy in ((0.1, 1, "done", 50.0), (0.1, 2, "done", 52.0), (0.2, 1, "done", 90.0),
                                      (0.2, 2, "diverged", None), (0.3, 1, "done", 51.0), (0.3, 2, "done", 51.0)):
        id = f"{lr}-{seed}"
        write_run(tmp_path / "runs" / id, {"lr": lr, "seed": seed}, status=state, result={"test_accuracy": accuracy})
        runs.append({"id": id, "seed": seed, "cell": {"method": "SGD"}, "choice": str(lr), "decided_by": {"method": "SGD"}})
    (tmp_path / "sweep.json").write_text(json.dumps({
        "format_version": 1, "name": "n", "title": "t", "scale": "full", "note": "", "set": [],
        "choice": {"key": "lr", "by": "test_accuracy"}, "axes": [{"name": "method", "labels": ["SGD"]}], "runs": runs,
        "report": {"tables": ["test_accuracy"], "curves": ["test_accuracy"], "x": "epochs", "smooth": 1}, "published": []}))
    comparison = batchplus.compare(tmp_path)
    assert comparison.cells[["lr", "mean"]].values.tolist() == [["0.1", 51.0]]
    printed = call("report", tmp_path, "--no-figures")
    assert [cell["lr"] for cell in printed["cells"]] == ["0.1"]
    assert list(comparison.notes) == printed["notes"] == ["SGD: lr 0.1 and 0.3 did equally well, and the first counts"]


def test_methods_at_different_tasks_do_not_meet(call, tmp_path):
    for method, model, rate in (("nag", "mlp", 0.1), ("sgd", "vgg11", 0.2)):
        for seed in (1, 2):
            write_run(tmp_path / "runs" / f"{method}{seed}", {"method": method, "model": model, "lr": rate, "seed": seed},
                      result={"test_accuracy": 50.0})
    comparison = batchplus.compare(tmp_path / "runs")
    assert list(comparison.cells[["model", "method"]].itertuples(index=False, name=None)) == [
        ("mlp", "nag"), ("vgg11", "sgd")]
    assert comparison.paired.empty
    printed = call("report", tmp_path / "runs", "--no-figures")
    assert list(comparison.notes) == printed["notes"] == [
        "the runs also differ in lr, which follows from what the tables show"]


def test_labels_are_sorted_by_size_and_long_ones_cut(tmp_path):
    for last in (1, 2):
        for lr in (10.0, 2.0, 0.5):
            write_run(tmp_path / f"{last}-{lr}", {"lr": lr, "normalize": f"{'0.5,' * 8}{last}"},
                      result={"test_accuracy": 1.0})
    cells = batchplus.compare(tmp_path).cells
    assert list(cells.columns[:2]) == ["normalize", "lr"]
    assert cells.lr.tolist() == 2 * ["0.5", "2", "10"]
    assert cells["normalize"].tolist() == 3 * ["...,1"] + 3 * ["...,2"]


def test_long_labels_show_where_they_differ_and_runs_of_one_name_their_folders(tmp_path):
    deep = "/a/the-same-in-both-for-long/but-not-at-the-end/"
    for place, init in enumerate((deep + "1.pt", deep + "2.pt", "/b/something-else-entirely/w.pt", "w.pt")):
        write_run(tmp_path / str(place) / "run", {"init": init}, result={"test_accuracy": 1.0})
    cells = batchplus.compare(tmp_path).cells
    assert cells["init"].tolist() == [deep + "1.pt", deep + "2.pt", "/b/something-else-ent...", "w.pt"]
    assert cells["runs"].tolist() == [["0/run"], ["1/run"], ["2/run"], ["3/run"]]


@pytest.mark.parametrize("arguments, words", [
    ({"quantity": "test_acuracy"}, "one of: .*test_accuracy"),
    ({"at_loss": 0.4}, "metric group gaps"),
    ({"at_loss": [-1]}, "greater than zero"),
    ({"at_loss": []}, "no level"), ({"at_loss": "0.4"}, "greater than zero"), ({"at_loss": [True]}, "greater than zero"),
    ({"at_loss": [None]}, "greater than zero"), ({"at_loss": [[0.4]]}, "greater than zero"),
    ({"quantity": ["test_accuracy", "loss_gap"]}, "one at a time"), ({"quantity": None}, "one at a time"),
    ({"at_loss": [0.5, 1, 0.5]}, "given twice"),
])
def test_what_cannot_be_compared_is_refused(tmp_path, arguments, words):
    write_run(tmp_path / "a", result={"test_accuracy": 1.0})
    with pytest.raises(batchplus.Error, match=words):
        batchplus.compare(tmp_path, **arguments)


def test_a_sweep_that_cannot_be_read_is_named(tmp_path):
    for content in ("{", "[]", "[" * 100_000, json.dumps({"format_version": 1})):
        (tmp_path / "sweep.json").write_text(content)
        with pytest.raises(batchplus.Error, match="sweep.json"):
            batchplus.compare(tmp_path)


def test_runs_that_have_not_finished_are_missing(tmp_path):
    write_run(tmp_path / "a", status="running")
    with pytest.raises(batchplus.Error, match="no run has finished"):
        batchplus.compare(tmp_path)
