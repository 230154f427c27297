"""The program's commands as functions."""

import os
import pathlib
import signal
import stat
import subprocess
import sys

import pytest
from conftest import ROOT

import batchplus
from batchplus.program import arguments_of

SMALL = {"dataset": "synthetic", "train_limit": 100, "test_limit": 50, "inner_batch": 25, "epochs": 2}


def test_an_empty_value_does_not_take_the_next_option():
    assert arguments_of({"save_weights": "", "metrics": [], "quiet": True}) == [
        "--save-weights", "", "--metrics", "", "--quiet"]


def test_keywords_become_options():
    assert arguments_of({"lr": 0.1, "resume": True, "tensorboard": False, "out": None, "coefficient": -1,
                         "metrics": ["gaps", "hessian"], "set": {"epochs": 2, "lr": 1e-05}, "init": pathlib.Path("a b")}) == [
        "--lr=0.1", "--resume", "--coefficient=-1", "--metrics=gaps,hessian", "--set", "epochs=2", "--set", "lr=1e-05",
        "--init=a b"]


def test_train_returns_the_result_and_streams_progress(program, tmp_path, capsys):
    result = batchplus.train(**SMALL, out=tmp_path / "run")
    assert result["status"] == "done"
    shown = capsys.readouterr()
    assert "epoch 2" in shown.err and shown.out == ""
    row = batchplus.runs(tmp_path / "run").iloc[0]
    assert (row.test_accuracy, row.weights_sha256) == (result["test_accuracy"], result["weights_sha256"])
    batchplus.train(**SMALL, quiet=True)
    assert capsys.readouterr().err == ""


def test_a_diverged_run_is_a_result(program):
    assert batchplus.train(**SMALL, lr=1e12)["status"] == "diverged"


def test_the_programs_own_message_is_raised(program):
    with pytest.raises(batchplus.ProgramError) as caught:
        batchplus.train(dataset="cifar11")
    assert caught.value.exit_code == 2
    assert str(caught.value).startswith("unknown dataset\n") and "hint:  did you mean 'cifar10'?" in str(caught.value)
    with pytest.raises(batchplus.ProgramError, match="learning-rate"):
        batchplus.train(learning_rate=1)


def test_measure_report_and_sweep_return_their_json(program, tmp_path):
    run = tmp_path / "run"
    batchplus.train(**SMALL, out=run, quiet=True)
    assert batchplus.measure(run, quantities=["gaps"], quiet=True)["loss_gap"]["value"] > -10
    assert batchplus.report(run, no_figures=True)["cells"][0]["done"] == 1
    spec = tmp_path / "spec.toml"
    spec.write_text('title = "t"\n[base]\n' + "".join(f"{key} = {value!r}\n" for key, value in SMALL.items()).replace("'", '"'))
    dry = batchplus.sweep(spec, dry_run=True, no_calibration=True, set={"repeats": 3, "lr": 0.05})
    assert [row["seed"] for row in dry["runs"]] == [1, 2, 3] and dry["runs"][0]["lr"] == 0.05
    with pytest.raises(batchplus.Error, match="name a spec"):
        batchplus.report()


def test_an_interrupt_saves_the_run(program, tmp_path):
    out = tmp_path / "run"
    options = {**SMALL, "epochs": 100_000, "out": str(out)}
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import batchplus; batchplus.train(**{options!r})"
    python = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    for line in python.stderr:
        if line.startswith("epoch 3 "):
            break
    python.send_signal(signal.SIGINT)  # to Python alone
    assert "KeyboardInterrupt" in python.stderr.read()
    python.wait()
    run = batchplus.read_run(out)
    assert run.state == "interrupted" and len(run.records) >= 3


def test_a_process_that_dies_of_a_signal_raises(tmp_path, monkeypatch):
    fake(tmp_path / "batchplus", "echo working >&2; kill -9 $$", monkeypatch)
    with pytest.raises(batchplus.ProgramError, match="working") as caught:
        batchplus.train()
    assert caught.value.exit_code == 137


def test_output_that_is_no_json_is_refused(tmp_path, monkeypatch):
    fake(tmp_path / "batchplus", "echo hello", monkeypatch)
    with pytest.raises(batchplus.Error, match="not JSON"):
        batchplus.train()


def test_much_output_on_both_streams_does_not_block(tmp_path, monkeypatch, capsys):
    fake(tmp_path / "batchplus", "for i in $(seq 20000); do echo a line of progress >&2; done; echo '{}'", monkeypatch)
    assert batchplus.train() == {}
    assert capsys.readouterr().err.count("\n") == 20000


def test_the_program_is_found_by_variable_then_path(tmp_path, monkeypatch):
    first, second = tmp_path / "first/batchplus", tmp_path / "second/batchplus"
    fake(first, "echo '{}'", monkeypatch)
    fake(second, "echo '{}'", monkeypatch)
    monkeypatch.setenv("PATH", f"{second.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BATCHPLUS_PROGRAM", str(first))
    assert batchplus.find_program() == first
    monkeypatch.delenv("BATCHPLUS_PROGRAM")
    assert batchplus.find_program() == second
    monkeypatch.setenv("BATCHPLUS_PROGRAM", str(tmp_path / "nothing"))
    with pytest.raises(batchplus.Error, match="BATCHPLUS_PROGRAM"):
        batchplus.find_program()


def fake(path, script, monkeypatch):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BATCHPLUS_PROGRAM", str(path))
