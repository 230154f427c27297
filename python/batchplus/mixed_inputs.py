"""Notes runs that had other data under one name, or other weights in one `init` file: they are not comparable."""

from __future__ import annotations

import json

from batchplus.config_values import config_text
from batchplus.grid import Grid
from batchplus.store import Json

_Input = tuple[str, str, str]


def note_mixed_inputs(grid: Grid) -> None:
    given: dict[_Input, dict[str, list[str]]] = {}
    for run in (run for cell in grid.cells for run in cell.runs if run is not None):
        for key, digest in _inputs_of(run.provenance).items():
            directories = given.setdefault(_name_of(key, run.config), {}).setdefault(json.dumps(digest), [])
            if str(run.path) not in directories:  # cells may share a run
                directories.append(str(run.path))
    for (what, name, _), by_digest in sorted(given.items()):
        first, *others = by_digest.values()
        for directories in others:
            grid.note(f"not comparable: other {what} ({name}) than {first[0]} had: {', '.join(directories)}")


def _inputs_of(provenance: Json) -> Json:
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
        return "initial weights", config_text(config, "init"), ""
    chosen_by = {"test": ["test_limit"], "validation": ["validation"]}.get(key, ["validation", "train_limit"])
    is_first = config.get("sampling") == "sequential"
    choice = " ".join([*(config_text(config, name) for name in ("split_seed", *chosen_by)), str(is_first)])
    return f"{'training' if key == 'train' else key} data", config_text(config, "dataset"), choice
