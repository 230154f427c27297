"""What the tests share: the tree, the program, and run directories of their own.

$BATCHPLUS_REQUIRE="program torch fashion-mnist" makes lacking these an error instead of a skip.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("MPLBACKEND", "Agg")


REQUIRED = os.environ.get("BATCHPLUS_REQUIRE", "").split()
if "torch" in REQUIRED:
    import torch  # noqa: F401


def lacking(what, why):
    if what in REQUIRED:
        pytest.fail(f"this machine is meant to have {what}: {why}")
    pytest.skip(f"{what}: {why}")


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def program():
    """The program, if it starts here: that of another system may be in the tree."""
    import batchplus

    try:
        found = batchplus.find_program()
        subprocess.run([found, "methods", "--json"], capture_output=True, check=True)
    except (batchplus.Error, OSError, subprocess.CalledProcessError) as problem:
        lacking("program", str(problem).splitlines()[0])
    return found


@pytest.fixture
def call(program):
    """Runs the program; its JSON."""

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def sweep(tmp_path_factory):
    """The committed records of 100 real runs, as the directory of a sweep."""
    folder = tmp_path_factory.mktemp("coefficient-mlp")
    with tarfile.open(ROOT / "results/coefficient-mlp.tar.xz") as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder


def compact(content):
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def write_run(folder, config=None, records=(), status="done", result=None, inputs=None):
    """A run directory as the program writes it. Numbers are such that Python and the program print them alike."""
    folder.mkdir(parents=True)
    config = {"dataset": "synthetic", "model": "mlp", "method": "sgd", "lr": 0.1, "seed": 1, **(config or {})}
    config_text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in config.items())
    records_text = "".join(compact(record) + "\n" for record in records)
    provenance = {"batchplus": "0.1.0", "processor": "an abacus", **({"inputs": inputs} if inputs else {})}
    provenance_text = json.dumps(provenance)
    content = {"format_version": 2, "status": status, "updated": "2026-01-01T00:00:00Z", **(result or {}),
               "config_sha256": sha256(config_text)}
    if status in ("done", "diverged"):
        content["metrics_sha256"] = sha256(records_text)
        content["provenance_sha256"] = sha256(provenance_text)
    content["checksum"] = sha256(compact(content))
    (folder / "config.toml").write_text(config_text)
    (folder / "provenance.json").write_text(provenance_text)
    (folder / "metrics.jsonl").write_text(records_text)
    (folder / "status.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return folder
