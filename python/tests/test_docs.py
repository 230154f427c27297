"""The examples of docs/python.md run, in order, and print what the page says."""

import contextlib
import io
import re
import shutil

import pytest

import batchplus

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CALLS_THE_PROGRAM = re.compile(r"batchplus\.(train|sweep|measure|report)\(")


def examples_of(page):
    """Each block of Python with what it prints."""
    blocks = BLOCK.findall(page)
    for (kind, code), (next_kind, output) in zip(blocks, [*blocks[1:], ("", "")]):
        if kind == "python":
            yield code, output if next_kind == "text" else None


def run_examples(root, sweep, with_program):
    shutil.copytree(sweep, "build/results/coefficient-mlp")
    shutil.copytree(root / "specs", "specs")
    shutil.copytree(root / "docs", "docs")
    examples = list(examples_of((root / "docs/python.md").read_text()))
    names = {}
    ran = 0
    for code, expected in examples:
        if CALLS_THE_PROGRAM.search(code) and not with_program:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/python.md", "exec"), names)
        assert expected is None or printed.getvalue() == expected, code
        ran += 1
    return ran


def test_the_examples_print_what_the_page_says(root, sweep, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    assert run_examples(root, sweep, with_program=False) == 5


def test_the_examples_of_the_program_do_too(root, sweep, program, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    assert run_examples(root, sweep, with_program=True) == 7


def test_the_page_names_every_public_function(root):
    page = (root / "docs/python.md").read_text()
    for name in set(batchplus.__all__) - {"Comparison", "Run", "find_runs", "read_run", "optim"}:
        assert f"batchplus.{name}" in page or f"`{name}`" in page, name
