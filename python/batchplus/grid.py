"""Puts runs into the cells of a grid as a report does: by a sweep's sweep.json, or by the keys in which configs differ."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

from batchplus.errors import Error
from batchplus.quantities import final_value
from batchplus.statistics import Summary, summarize
from batchplus.store import Json, Run, find_runs, holds_run, read_run, read_text

Labels = tuple[str, ...]

# Keys that do not decide a run's result.
_INCIDENTAL = frozenset({"data_dir", "checkpoint_every", "out", "save_weights"})
# Keys that older runs do not have, with the value that all runs had before.
_YOUNGER = {"kernels": "aten", "kernels_revision": "1", "normalization": "batch", "cutout": "0", "mixup": "0",
            "label_smoothing": "0", "average": "0"}
# What reads best first is tried first when several keys differ together.
_MOST_TELLING = ["method", "model", "dataset", "lr", "inner_batch", "outer_batch"]
_LONGEST_LABEL = 24
_SWEEP_FORMAT = 1


@dataclass
class Cell:
    """The runs of one place in the grid, which differ by their seeds. A run that has not ended is None."""

    labels: Labels
    ids: list[str] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    runs: list[Optional[Run]] = field(default_factory=list)
    choice: str = ""
    decided_by: Labels = ()

    def count(self, state: str) -> int:
        return sum(run is not None and run.state == state for run in self.runs)

    def values(self, value_of_run: Callable[[Run], Optional[float]]) -> dict[int, float]:
        """Of the runs that are done, by their seeds."""
        found = {}
        for seed, run in zip(self.seeds, self.runs):
            if run is not None and run.state == "done":
                value = value_of_run(run)
                if value is not None:
                    found[seed] = value
        return found


@dataclass
class Grid:
    """`axes`: name and labels of each; the last one holds what is compared."""

    axes: list[tuple[str, list[str]]]
    cells: list[Cell]
    choice_key: str = ""
    choice_by: str = ""
    published: list[Json] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.axes]

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def rows(self) -> list[Labels]:
        return list(dict.fromkeys(cell.labels[:-1] for cell in self.cells))

    def find(self, labels: Labels) -> Optional[Cell]:
        return next((cell for cell in self.cells if cell.labels == labels), None)


def make_grid(paths: list[Path]) -> Grid:
    if len(paths) == 1 and (paths[0] / "sweep.json").exists():
        return settle_choices(read_sweep(paths[0]))
    return arrange(find_runs(paths))


# --- a sweep -----------------------------------------------------------------------------------------------------------


def read_sweep(root: Path) -> Grid:
    file = root / "sweep.json"
    hint = "'batchplus sweep SPEC' writes it anew; finished runs are not run again"
    try:
        sweep: Any = json.loads(read_text(file))
        if sweep["format_version"] != _SWEEP_FORMAT:
            raise Error("the sweep has a format that this package does not know", where=str(file),
                        value=str(sweep["format_version"]), hint="use a newer batchplus")
        return _grid_of_sweep(root, sweep)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise Error("not the description of a sweep", where=str(file), value=repr(problem), hint=hint) from None


def _grid_of_sweep(root: Path, sweep: Json) -> Grid:
    choice = sweep.get("choice", {"key": "", "by": ""})
    axes = [(axis["name"], list(axis["labels"])) for axis in sweep["axes"]]
    grid = Grid(axes, [], choice["key"], choice["by"], sweep["published"])

    def labels_in(cell: Json) -> Labels:
        return tuple(cell[name] for name in grid.names)

    cells: dict[tuple[Labels, str], Cell] = {}
    for row in sweep["runs"]:
        place = (labels_in(row["cell"]), row.get("choice", ""))
        if place not in cells:
            decided_by = labels_in(row["decided_by"]) if "decided_by" in row else ()
            cells[place] = Cell(*place[:1], choice=place[1], decided_by=decided_by)
        cell = cells[place]
        cell.ids.append(row["id"])
        cell.seeds.append(row["seed"])
        expected = {**sweep.get("config", {}), **row.get("config", {})}
        cell.runs.append(_read_of_sweep(root / "runs" / row["id"], expected, grid))
    grid.cells = list(cells.values())
    return grid


def _read_of_sweep(directory: Path, expected: dict[str, str], grid: Grid) -> Optional[Run]:
    """The run if it has ended; None with a note when it is damaged, or another one than the sweep has there."""
    if not holds_run(directory):
        return None
    try:
        run = read_run(directory)
        run.records  # reads every line
    except Error as problem:
        grid.note(_damage(problem))
        return None
    found = {key: config_text(run.config, key) for key in expected}
    differences = [f"{key} is {found[key] or 'not set'}, not {wanted or 'not set'}"
                   for key, wanted in expected.items() if found[key] != wanted]
    if differences:
        grid.note(f"left out, because it is another run than the sweep's: {directory} ({'; '.join(differences)})")
        return None
    return run if run.has_ended else None


def settle_choices(grid: Grid) -> Grid:
    """Leaves in each cell the runs of the value that did best: with the fewest diverged runs, and of those the highest
    mean. Cells that another one decides for take its value."""
    best: dict[Labels, tuple[str, Summary, int]] = {}
    for cell in grid.cells:
        if not cell.choice or cell.decided_by != cell.labels:
            continue
        score = summarize(list(cell.values(lambda run: final_value(run, grid.choice_by)).values()))
        candidate = (cell.choice, score, cell.count("diverged"))
        if cell.labels not in best or _is_better(candidate, best[cell.labels]):
            best[cell.labels] = candidate
    cells = [cell for cell in grid.cells if not cell.choice or best[cell.decided_by][0] == cell.choice]
    return replace(grid, cells=cells)


def _is_better(a: tuple[str, Summary, int], b: tuple[str, Summary, int]) -> bool:
    if a[1].mean is None or b[1].mean is None:
        return a[1].n > b[1].n
    return a[2] < b[2] if a[2] != b[2] else a[1].mean > b[1].mean


# --- runs without a sweep ------------------------------------------------------------------------------------------------


def arrange(directories: list[Path]) -> Grid:
    grid = Grid([], [])
    runs = _read_each_once(directories, grid)
    configs = [{key: value for key, value in result_config(run.config).items() if key != "seed"} for run in runs]
    keys = _differing_keys(configs)
    columns = {key: _short_labels([config.get(key) or "unset" for config in configs]) for key in keys}
    grid.axes = [(key, sorted(set(columns[key]), key=functools.cmp_to_key(_compare_labels))) for key in keys]
    cells: dict[Labels, Cell] = {}
    for place, run in enumerate(runs):
        labels = tuple(columns[key][place] for key in keys)
        cell = cells.setdefault(labels, Cell(labels))
        cell.ids.append(run.id)
        cell.seeds.append(int(run.config["seed"]))
        cell.runs.append(run if run.has_ended else None)
    grid.cells = sorted(cells.values(), key=lambda cell: [
        labels.index(label) for (_, labels), label in zip(grid.axes, cell.labels)])
    return grid


def config_text(config: Json, key: str) -> str:
    """A value of a config as text; empty when it is not set."""
    if key == "kernels_revision" and config.get("kernels", "aten") == "aten":
        return _YOUNGER[key]  # libtorch's kernels have no revisions
    if key not in config:
        return _YOUNGER.get(key, "")
    value = config[key]
    if isinstance(value, float):
        text = repr(value)
        return text[:-2] if text.endswith(".0") else text
    return str(value)


def result_config(config: Json) -> dict[str, str]:
    """All that decides the result, as text."""
    keys = (config.keys() | _YOUNGER.keys()) - _INCIDENTAL
    return {key: config_text(config, key) for key in sorted(keys)}


def _read_each_once(directories: list[Path], grid: Grid) -> list[Run]:
    runs: dict[tuple[tuple[str, str], ...], Run] = {}
    for directory in directories:
        try:
            run = read_run(directory)
            run.records  # reads every line
            int(run.config["seed"])
        except KeyError:
            grid.note(f"left out, because it is damaged: {directory / 'config.toml'} (it has no seed)")
            continue
        except Error as problem:
            grid.note(_damage(problem))
            continue
        identity = tuple((key, value) for key, value in result_config(run.config).items() if value)
        runs[identity] = _join(runs[identity], run, grid) if identity in runs else run
    if not runs:
        raise Error("no run can be read", value="; ".join(grid.notes),
                    hint="'batchplus check' says what is wrong with each")
    return list(runs.values())


def _join(first: Run, other: Run, grid: Grid) -> Run:
    """Two runs with one config and seed are one: the first, unless the other is further."""
    result = ("status", "weights_sha256")
    is_same = all(first.status.get(key) == other.status.get(key) for key in result)
    if first.has_ended and other.has_ended and not is_same:
        raise Error("two runs have one config and one seed, and different results", where=str(first.path),
                    value=str(other.path), hint="leave one of them out; 'batchplus check' tells whether they are whole")
    if other.has_ended and not first.has_ended:
        first, other = other, first
    grid.note(f"{other.path} has the config and the seed of {first.path}, and counts once with it")
    return first


def _differing_keys(configs: list[dict[str, str]]) -> list[str]:
    """Keys in which configs differ, without those that follow from another one; the method last, in the columns."""
    others = {key for config in configs for key in config} - set(_MOST_TELLING)
    keys: list[str] = []
    for key in [*_MOST_TELLING, *sorted(others)]:
        values = [config.get(key) or "unset" for config in configs]
        if len(set(values)) > 1 and not any(_determines(configs, other, key) for other in keys):
            keys.append(key)
    keys = keys or ["method"]
    return [key for key in keys if key != "method"] + [key for key in keys if key == "method"]


def _determines(configs: list[dict[str, str]], a: str, b: str) -> bool:
    """Whether runs with the same value of `a` always have the same value of `b`."""
    pairs = {(config.get(a) or "unset", config.get(b) or "unset") for config in configs}
    return len(pairs) == len({first for first, _ in pairs})


def _short_labels(values: list[str]) -> list[str]:
    """Long values are cut short, and numbered where that makes them the same."""
    labels: dict[str, str] = {}
    for value in values:
        if len(value) <= _LONGEST_LABEL or value in labels:
            continue
        short = label = value[: _LONGEST_LABEL - 3] + "..."
        number = 2
        while label in labels.values():
            label = f"{short} ({number})"
            number += 1
        labels[value] = label
    return [labels.get(value, value) for value in values]


def _compare_labels(a: str, b: str) -> int:
    """Numbers by size, words by the alphabet."""
    try:
        x, y = float(a), float(b)
        return (x > y) - (x < y)
    except ValueError:
        return (a > b) - (a < b)


def _damage(problem: Error) -> str:
    return f"left out, because it is damaged: {problem.where} ({problem.what})"
