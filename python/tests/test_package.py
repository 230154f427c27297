"""The package as a whole: its version, what importing it needs, and many runs."""

import re
import subprocess
import sys

from conftest import ROOT, write_run

import batchplus


def test_the_version_is_the_programs():
    cmake = re.search(r"project\(BatchPlus VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    project = re.search(r'^version = "(.*)"$', (ROOT / "python/pyproject.toml").read_text(), re.MULTILINE)[1]
    assert batchplus.__version__ == project == cmake


def test_importing_it_needs_the_standard_library_alone():
    code = ("import sys; before = set(sys.modules); import batchplus; "
            "print(*{name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names - {'batchplus'})")
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); {code}"],
                          capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_pandas_that_is_not_there_is_named():
    code = (f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import batchplus\n"
            f"try: batchplus.runs({str(ROOT)!r})\n"
            "except batchplus.Error as problem: print(problem.what)")
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    assert done.stdout == "tables need pandas, which is not here\n", done.stderr


def test_two_thousand_runs_are_two_thousand_rows(tmp_path):
    for place in range(2000):
        write_run(tmp_path / f"{place % 40}/{place}", {"seed": place}, [{"epoch": 1}], result={"test_accuracy": 50.0})
    table = batchplus.runs(tmp_path)
    assert sorted(table.seed) == list(range(2000))
    assert len(batchplus.records(tmp_path)) == 2000
