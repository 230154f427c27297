"""Finds runs that had other data under one name, or other weights in one `init` file: they are not comparable."""

from __future__ import annotations

import json

from batchplus.config_values import config_text
from batchplus.found_runs import FoundRun
from batchplus.grid import Cell, Grid
from batchplus.store import Json

_Input = tuple[str, str, str]


def find_mixed_inputs(runs: list[FoundRun]) -> list[str]:
    """The inputs ("test", "init") that differ between runs although their configs name the same.

    Test data also counts where it differs because the configs take other samples of it."""
    mixed = []
    for key in ("test", "train", "validation", "init"):
        given: dict[tuple[str, ...], set[str]] = {}
        for run in runs:
            inputs = inputs_of(run.provenance)
            if key in inputs:
                tested = tuple(config_text(run.config, name) for name in ("dataset", "split_seed", "test_limit"))
                choice = tested if key == "test" else _name_of(key, run.config)
                given.setdefault(choice, set()).add(json.dumps(inputs[key]))
        if any(len(digests) > 1 for digests in given.values()):
            mixed.append(key)
    return mixed


def leave_out_mixed_inputs(grid: Grid) -> None:
    """Leaves out runs of a row that were given something else than most of it, with a note."""
    for row in grid.rows():
        cells = [cell for cell in grid.cells if cell.labels[:-1] == row]
        for (what, name, _), by_digest in sorted(_given_in(cells).items()):
            most = max(by_digest.values(), key=len)
            for directories in by_digest.values():
                for directory in directories if directories is not most else []:
                    for cell in grid.cells:
                        cell.runs = [None if run and str(run.path) == directory else run for run in cell.runs]
                    grid.note(f"left out, because it had other {what} ({name}) than {most[0]}, as most of its row: "
                              f"{directory}")


def _given_in(cells: list[Cell]) -> dict[_Input, dict[str, list[str]]]:
    """The directories of runs by what they were given, and by its digest."""
    given: dict[_Input, dict[str, list[str]]] = {}
    for run in (run for cell in cells for run in cell.runs if run is not None):
        for key, digest in inputs_of(run.provenance).items():
            directories = given.setdefault(_name_of(key, run.config), {}).setdefault(json.dumps(digest), [])
            if str(run.path) not in directories:  # cells may share a run
                directories.append(str(run.path))
    return given


def describe_input(key: str) -> str:
    return "initial weights" if key == "init" else f"{'training' if key == 'train' else key} data"


def note_mixed_inputs(grid: Grid) -> None:
    for (what, name, _), by_digest in sorted(_given_in(grid.cells).items()):
        first, *others = by_digest.values()
        for directories in others:
            grid.note(f"not comparable: other {what} ({name}) than {first[0]} had: {', '.join(directories)}")


def inputs_of(provenance: Json) -> Json:
    """Digests of a run's inputs. A run from before has those of the first process that went on with it, or none."""
    resumed = provenance.get("resumed", [])
    for process in [provenance, *(resumed if isinstance(resumed, list) else [])]:
        if isinstance(process, dict) and isinstance(process.get("inputs"), dict):
            inputs: Json = process["inputs"]
            return inputs
    return {}


def _name_of(key: str, config: Json) -> _Input:
    """What an input is called, the name under which runs expect the same one, and what the config says of it."""
    if key == "init":
        return describe_input(key), config_text(config, "init"), ""
    chosen_by = {"test": ["test_limit"], "validation": ["validation"]}.get(key, ["validation", "train_limit"])
    is_first = config.get("sampling") == "sequential"
    choice = " ".join([*(config_text(config, name) for name in ("split_seed", *chosen_by)), str(is_first)])
    return describe_input(key), config_text(config, "dataset"), choice
