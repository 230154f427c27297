"""The grid of runs without a sweep: by the keys in which their configs differ."""

from __future__ import annotations

import functools
from pathlib import Path

from batchplus.config_values import result_config
from batchplus.errors import Error
from batchplus.grid import Cell, Grid, Labels
from batchplus.store import Run, read_run

# What reads best first is tried first when several keys differ together.
_MOST_TELLING = ["method", "model", "dataset", "lr", "inner_batch", "outer_batch"]
_LONGEST_LABEL = 24


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
            grid.note_damage(problem)
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
