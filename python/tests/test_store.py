"""Whole runs are read, and whatever is wrong with a directory is named with its file."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import write_run

import batchplus

RECORDS = [{"epoch": 1, "test_loss": 0.5}, {"epoch": 2, "test_loss": 0.25}]


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "runs/first", records=RECORDS, result={"test_loss": 0.25, "name": "ä \\\" {,}"})


def refusal(path):
    with pytest.raises(batchplus.Error) as caught:
        batchplus.runs(path)
    return caught.value


def change(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_every_committed_run_has_the_checksums_that_the_program_wrote(sweep):
    found = batchplus.find_runs(sweep)
    assert len(found) == 100
    for path in found:
        assert batchplus.read_run(path).state == "done"


def test_strings_with_quotes_spaces_and_brackets_do_not_disturb_the_checksum(run):
    assert batchplus.read_run(run).status["name"] == "ä \\\" {,}"


def test_other_white_space_is_the_same_status(run):
    content = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(json.dumps(content, indent=7, ensure_ascii=False))
    assert batchplus.read_run(run).state == "done"


@pytest.mark.parametrize("name, old, new", [
    ("status.json", "0.25", "0.125"),
    ("status.json", '"done"', '"running"'),
    ("config.toml", "lr = 0.1", "lr = 0.2"),
    ("metrics.jsonl", "0.5", "0.6"),
    ("provenance.json", "an abacus", "a slide rule"),
])
def test_a_changed_file_is_named(run, name, old, new):
    change(run / name, old, new)
    problem = refusal(run)
    assert problem.where == str(run / name)
    assert problem.what == "the file is not as it was written"
    assert "restore it or remove the run" in problem.hint


@pytest.mark.parametrize("name", ["status.json", "provenance.json", "config.toml", "metrics.jsonl"])
def test_a_cut_file_is_named(run, name):
    file = run / name
    file.write_bytes(file.read_bytes()[: len(file.read_bytes()) // 2])
    assert refusal(run).where == str(file)


@pytest.mark.parametrize("name", ["provenance.json", "config.toml", "metrics.jsonl"])
def test_a_lost_file_is_named(run, name):
    (run / name).unlink()
    problem = refusal(run)
    assert (problem.what, problem.where) == ("it is missing", str(run / name))


def test_a_lost_status_beside_a_checkpoint_is_named(run):
    (run / "status.json").unlink()
    (run / "checkpoint.pt").write_bytes(b"")
    problem = refusal(run)
    assert (problem.what, problem.where) == ("it is missing", str(run / "status.json"))


@pytest.mark.parametrize("left", [["config.toml", "metrics.jsonl"], ["config.toml", "provenance.json", "weights.pt"],
                                  ["config.toml", "metrics.jsonl", "provenance.json", "weights.pt"]])
def test_a_run_that_has_lost_its_status_is_named_among_others(run, left):
    lost = write_run(run.parent / "lost", {"seed": 2}, records=RECORDS)
    (lost / "weights.pt").write_bytes(b"")
    for file in lost.iterdir():
        if file.name not in left:
            file.unlink()
    problem = refusal(run.parent)
    assert (problem.what, problem.where) == ("it is missing", str(lost / "status.json"))
    with pytest.raises(batchplus.Error, match="it is missing"):
        batchplus.records(run.parent)
    for read in (batchplus.runs, batchplus.records):
        with pytest.warns(UserWarning, match="left out, because it is damaged: .*lost/status.json"):
            assert set(read(run.parent, damaged="warn").id) == {"first"}
    assert batchplus.compare(run.parent, "test_loss").notes == (
        f"left out, because it is damaged: {lost / 'status.json'} (it is missing)",)


@pytest.mark.parametrize("left", [[], ["config.toml"], ["config.toml", "provenance.json", "lock"], ["config.toml", "weights.pt"],
                                  ["photo.jpg", "metrics.jsonl"]])
def test_a_run_that_just_begins_and_a_foreign_folder_are_not_damaged(run, left):
    other = run.parent / "other"
    other.mkdir()
    for name in left:
        (other / name).write_text("")
    assert batchplus.runs(run.parent).id.tolist() == ["first"]


def test_one_directory_under_several_names_is_one_run(run, tmp_path, monkeypatch):
    (run.parent / "a link to it").symlink_to(run)
    monkeypatch.chdir(tmp_path)
    absolute = str(run.parent)
    assert batchplus.find_runs(["runs", absolute, "./runs/../runs", "runs/first", "runs/a link to it"]) == [
        pathlib.Path("runs/first")]
    assert batchplus.compare([absolute, "runs"], "test_loss").notes == ()


def test_folders_behind_links_are_not_looked_into(run, tmp_path):
    write_run(tmp_path / "elsewhere/folder/second")
    (run.parent / "linked").symlink_to(tmp_path / "elsewhere/folder")
    assert batchplus.find_runs(run.parent) == [run]
    assert len(batchplus.find_runs(run.parent / "linked")) == 1  # that is named


@pytest.mark.parametrize("paths", [None, 3, b"runs", ["runs", 3], [None]])
def test_what_is_no_path_is_named(paths):
    problem = refusal(paths)
    assert (problem.what, problem.where) == ("not a path", "paths")


def test_paths_may_come_one_by_one(run):
    assert batchplus.runs(path for path in [run]).id.tolist() == ["first"]


def test_linked_runs_are_found_and_lost_ones_named(run, tmp_path):
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "a").symlink_to(run)
    assert batchplus.find_runs(folder) == [folder / "a"]
    (run / "status.json").unlink()
    with pytest.raises(batchplus.Error, match="it is missing"):
        batchplus.read_run(run)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(run):
    (run / "status.json").unlink()
    os.mkfifo(run / "status.json")
    with pytest.raises(batchplus.Error, match="not a regular file"):
        batchplus.read_run(run)


def test_bytes_that_are_no_text_are_named(run):
    (run / "status.json").write_bytes(b"\xff\xfe\x00")
    assert refusal(run).what == "not text"


@pytest.mark.parametrize("content", ["[]", "{}", '{"status": 3, "format_version": 2}', '{"status": "done"}'])
def test_a_status_of_something_else_is_refused(run, content):
    (run / "status.json").write_text(content)
    problem = refusal(run)
    assert (problem.what, problem.where) == ("not the status of a run", str(run / "status.json"))


@pytest.mark.parametrize("state", ["", "finished"])
def test_a_state_that_no_run_has_is_refused(run, state):
    (run / "status.json").write_text(json.dumps({"format_version": 1, "status": state}))
    problem = refusal(run)
    assert (problem.what, problem.where, problem.value) == ("not a state of a run", str(run / "status.json"), repr(state))


@pytest.mark.parametrize("name, opening", [("status.json", "["), ("provenance.json", '{"a":'), ("metrics.jsonl", "["),
                                           ("config.toml", "a = [")])
def test_brackets_without_end_are_named(tmp_path, name, opening):
    run = write_run(tmp_path / "run", records=RECORDS, status="running")
    if name == "config.toml":
        (run / "status.json").write_text('{"format_version": 1, "status": "done"}')  # has no checksum of it
    (run / name).write_text(opening + opening[-1] * 100_000 if name == "config.toml" else opening * 100_000 + "\n")
    problem = refusal(run)
    assert problem.where.startswith(str(run / name)) and problem.what.startswith("not valid")


def test_a_newer_format_is_refused(run):
    change(run / "status.json", '"format_version": 2', '"format_version": 3')
    assert refusal(run).hint == "use a newer batchplus"


def test_the_first_format_had_no_checksums(run):
    (run / "status.json").write_text('{"format_version": 1, "status": "done", "test_loss": 0.25}')
    assert batchplus.read_run(run).status["test_loss"] == 0.25


def test_a_last_line_that_was_not_finished_is_left_out(tmp_path):
    run = write_run(tmp_path / "cut", records=RECORDS, status="running")
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 3, "test')
    assert [record["epoch"] for record in batchplus.read_run(run).records] == [1, 2]


def test_a_broken_line_in_the_middle_is_named_with_its_number(tmp_path):
    run = write_run(tmp_path / "broken", records=RECORDS, status="running")
    (run / "metrics.jsonl").write_text('{"epoch": 1}\n{"epo\n{"epoch": 3}\n')
    assert refusal(run).where == f"{run / 'metrics.jsonl'}:2"


def test_a_run_that_has_not_begun_says_so(tmp_path):
    (tmp_path / "config.toml").write_text('lr = 0.1\n')
    assert refusal(tmp_path).what == "the run has not begun"


@pytest.mark.parametrize("make", [lambda path: None, lambda path: (path / "photo.jpg").write_bytes(b"\xff\xd8")])
def test_a_foreign_directory_has_no_run(tmp_path, make):
    make(tmp_path)
    problem = refusal(tmp_path)
    assert (problem.what, problem.where) == ("there is no run here", str(tmp_path))


def test_a_path_that_is_not_there_and_a_file_are_named(tmp_path):
    assert refusal(tmp_path / "nowhere").what == "there is no such directory"
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file").what == "not a directory"


def test_read_run_of_a_folder_of_runs_says_what_it_is(run):
    with pytest.raises(batchplus.Error, match="not a run directory"):
        batchplus.read_run(run.parent)


def test_the_program_agrees_about_damage(call, run, program, tmp_path):
    real = tmp_path / "real"
    call("train", "--dataset", "synthetic", "--train-limit", 100, "--test-limit", 50, "--inner-batch", 25, "--epochs", 1,
         "--out", real, "--quiet")
    assert batchplus.read_run(real).state == "done"
    for name in ("status.json", "config.toml", "metrics.jsonl"):
        damaged = tmp_path / f"damaged-{name}"
        shutil.copytree(real, damaged)
        content = (damaged / name).read_bytes()
        place = content.index(b"0.1") + 2
        (damaged / name).write_bytes(content[:place] + b"7" + content[place + 1:])
        assert refusal(damaged).where == str(damaged / name)
        checked = json.loads(subprocess.run([program, "check", damaged, "--json"], capture_output=True).stdout)
        assert checked[0]["problems"] == [f"{name}: {refusal(damaged).what}"]


def test_the_program_names_a_lost_status_too(program, run):
    lost = write_run(run.parent / "lost", {"seed": 2}, records=RECORDS)
    (lost / "status.json").unlink()
    checked = subprocess.run([program, "check", run.parent, "--json"], capture_output=True)
    problems = {row["path"]: row["problems"] for row in json.loads(checked.stdout)}
    assert checked.returncode == 2 and problems[str(lost)] == ["status.json: it is missing"]
    reported = subprocess.run([program, "report", run.parent, "--out", run.parent.parent / "report", "--no-figures", "--json"],
                              capture_output=True, check=True)
    assert tuple(json.loads(reported.stdout)["notes"]) == batchplus.compare(run.parent, "test_loss").notes != ()
