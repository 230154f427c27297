"""How long batchplus.runs, records and compare take over many run directories.

    PYTHONPATH=python python3 bench/python_runs.py [RUNS]

Copies the 100 runs of results/coefficient-mlp.tar.xz until there are RUNS of them (2,000 unless given; 90 MB), each with its
own seed in its config and a new checksum, and prints the median of three readings of each, with the processor.
"""

import hashlib
import json
import pathlib
import shutil
import statistics
import sys
import tarfile
import tempfile
import time

from machine import processor

import batchplus

ROOT = pathlib.Path(__file__).resolve().parents[1]


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def copy_with_seed(source, target, seed):
    shutil.copytree(source, target)
    config = "".join(f"seed = {seed}\n" if line.startswith("seed = ") else f"{line}\n"
                     for line in (source / "config.toml").read_text().splitlines())
    (target / "config.toml").write_text(config)
    # The tokens of the numbers stay as they are written.
    old = json.loads((source / "status.json").read_text())
    text = (source / "status.json").read_text().replace(old["config_sha256"], sha256(config))
    compact = "".join(line.strip().replace('": ', '":') for line in text.splitlines())
    rest = compact[: compact.index(',"checksum"')] + "}"
    (target / "status.json").write_text(text.replace(old["checksum"], sha256(rest)))


def seconds(work):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        with tarfile.open(ROOT / "results/coefficient-mlp.tar.xz") as archive:
            archive.extractall(folder / "sweep")
        sources = sorted((folder / "sweep/runs").iterdir())
        for place in range(count):
            copy_with_seed(sources[place % 100], folder / f"runs/{place:05d}", 100 + place)
        print(f"{count} runs, {processor()}, Python {sys.version.split()[0]}")
        for name in ("runs", "records", "compare"):
            elapsed, result = seconds(lambda: getattr(batchplus, name)(folder / "runs"))
            print(f"{name:8s} {elapsed:5.1f} s  {len(result.cells if name == 'compare' else result)} rows")


main()
