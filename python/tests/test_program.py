"""The program's commands as functions."""

import os
import pathlib
import select
import signal
import stat
import subprocess
import sys

import pytest
from conftest import ROOT

import batchplus
from batchplus.arguments import arguments_of

SMALL = {"dataset": "synthetic", "train_limit": 100, "test_limit": 50, "inner_batch": 25, "epochs": 2}


def refused(command="train", **options):
    with pytest.raises(batchplus.Error) as caught:
        arguments_of(command, options)
    return caught.value


def test_keywords_become_options_flags_first_and_values_in_one_piece():
    assert arguments_of("train", {
        "lr": 0.1, "resume": True, "tensorboard": False, "out": None, "coefficient": -1, "metrics": ["gaps", "hessian"],
        "save_weights": "", "init": pathlib.Path("a b"), "quiet": True}) == [
        "--json", "--quiet", "--resume", "--lr=0.1", "--coefficient=-1", "--metrics=gaps,hessian", "--save-weights=", "--init=a b"]
    assert arguments_of("sweep", {"set": {"epochs": 2, "lr": 1e-05, "tensorboard": True}, "dry_run": True}) == [
        "--dry-run", "--json", "--set=epochs=2", "--set=lr=1e-05", "--set=tensorboard=true"]


def test_true_for_an_option_that_takes_a_value_is_refused():
    problem = refused(save_weights=True, seed=7)
    assert (problem.what, problem.where, problem.value) == ("this option takes a value", "save_weights", "True")
    assert "resume" in problem.hint and "tensorboard" in problem.hint
    assert refused("measure", no_figures=True).hint == "without a value are: json, per_layer, quiet"


def test_false_for_an_option_that_takes_a_value_is_refused():
    problem = refused(augment=False)
    assert (problem.what, problem.where, problem.value) == ("this option takes a value", "augment", "False")
    assert "None leaves it out" in problem.hint and "'none'" in problem.hint


@pytest.mark.parametrize("value", ["false", "true", "", 1, 0, ["a"], {}])
def test_a_value_for_an_option_without_one_is_refused(value):
    problem = refused(resume=value)
    assert (problem.what, problem.where, problem.value) == ("this option takes no value", "resume", repr(value))


def test_json_and_help_are_not_for_functions():
    assert refused(json=False).hint == "leave it out"
    assert "batchplus train --help" in refused(help=True).hint


def test_arrays_and_scalars_of_numpy_are_values():
    numpy = pytest.importorskip("numpy")
    assert arguments_of("train", {"metrics": numpy.array(["gaps", "hessian"]), "lr": numpy.float32(0.1), "seed": numpy.int64(3),
                                  "resume": numpy.bool_(True), "tensorboard": numpy.bool_(False)}) == [
        "--json", "--resume", "--metrics=gaps,hessian", "--lr=0.1", "--seed=3"]
    assert refused(augment=numpy.bool_(False)).what == "this option takes a value"


@pytest.mark.parametrize("value", [{"gaps", "hessian"}, range(2), b"gaps", object(), [None], len])
def test_what_is_no_value_is_refused(value):
    problem = refused(metrics=value)
    assert (problem.what, problem.where) == ("not a value of an option", "metrics")


def test_a_dict_is_for_set_alone():
    assert refused(metrics={"gaps": 1}).what == "this option takes no dict"


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
    for _ in range(2):  # run, and done before
        one = batchplus.sweep(spec, index=0, out=tmp_path / "sweep", quiet=True)
        assert (one["id"], one["index"], one["status"]) == (batchplus.read_run(one["directory"]).id, 0, "done")
    with pytest.raises(batchplus.Error, match="name a spec"):
        batchplus.report()
    assert batchplus.report([run], no_figures=True)["cells"][0]["done"] == 1
    with pytest.raises(batchplus.Error, match="not a path"):
        batchplus.report(run, 3)


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


THREADED = "import threading; thread = threading.Thread(target=train); thread.start(); thread.join()"
# A copy of the process that outlives it, as a DataLoader's worker may be one.
FORKED = """import os, threading, time
from batchplus import with_parent
thread = threading.Thread(target=train); thread.start()
while not len(with_parent._watchers): time.sleep(0.01)
if os.fork() == 0:
    os.closerange(0, 3); time.sleep(600); os._exit(0)
print("forked", file=sys.stderr, flush=True)
thread.join()"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("how", ["train()", THREADED, FORKED])
def test_the_end_of_python_saves_the_run(program, tmp_path, number, how):
    out = tmp_path / "run"
    options = {**SMALL, "epochs": 1_000_000, "out": str(out), "checkpoint_every": "never"}
    code = (f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import batchplus\n"
            f"def train(): batchplus.train(**{options!r})\n{how}")
    python = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    awaited = {"epoch", "forked"} if how == FORKED else {"epoch"}
    for line in python.stderr:
        awaited -= {"epoch"} if line.startswith("epoch 3 ") else {line.strip()}
        if not awaited:
            break
    tasks = pathlib.Path(f"/proc/{python.pid}/task").glob("*/children")
    children = [int(pid) for task in tasks for pid in task.read_text().split()]
    (child,) = [pid for pid in children if b"--epochs=" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
    copies = [pid for pid in children if b"os.fork" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(copies) == (how == FORKED)
    descriptor = os.pidfd_open(child)
    python.send_signal(number)  # to Python alone
    assert python.wait() == -number
    python.stderr.close()
    ended = select.poll()
    ended.register(descriptor, select.POLLIN)
    is_over = bool(ended.poll(120_000))
    os.close(descriptor)
    for pid in copies if is_over else [*copies, child]:
        os.kill(pid, signal.SIGKILL)
    assert is_over
    run = batchplus.read_run(out)
    assert run.state == "interrupted" and len(run.records) >= 3 and (out / "checkpoint.pt").exists()


def test_a_program_that_cannot_be_watched_is_ended(tmp_path, monkeypatch):
    fake(tmp_path / "batchplus", "sleep 60", monkeypatch)
    watched = []

    def fail(pid):
        watched.append(pid)
        raise OSError("no more processes")
    monkeypatch.setattr("batchplus.program.Watcher", fail)
    with pytest.raises(OSError, match="no more processes"):
        batchplus.train()
    with pytest.raises(ProcessLookupError):
        os.kill(watched[0], 0)


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
