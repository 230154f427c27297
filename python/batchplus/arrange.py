"""The grid of runs without a sweep: by the keys in which their configs differ."""

from __future__ import annotations

import functools
from pathlib import Path

from batchplus.config_values import TASK, result_config
from batchplus.errors import Error
from batchplus.found_runs import FoundRun, find_run
from batchplus.grid import Cell, Grid, Labels

# What reads best is tried first when several keys differ together.
_MOST_TELLING = ["dataset", "test_limit", "split_seed", "model", "lr", "inner_batch", "outer_batch"]
# Keys that decide what is tested. Between their values nothing is compared.
_TESTED = {"dataset", "test_limit", "split_seed"}
_LONGEST_LABEL = 24


def arrange(directories: list[Path]) -> Grid:
    grid = Grid([], [])
    runs = _read_each_once(directories, grid)
    configs = [{key: value for key, value in result_config(run.config).items() if key != "seed"} for run in runs]
    keys, following = _differing_keys(configs)
    if following:
        follow = "follows" if len(following) == 1 else "follow"
        grid.note(f"the runs also differ in {', '.join(following)}, which {follow} from what the tables show")
    columns = {key: _short_labels([config.get(key) or "unset" for config in configs]) for key in keys}
    grid.axes = [(key, sorted(set(columns[key]), key=functools.cmp_to_key(_compare_labels))) for key in keys]
    placed = [(tuple(columns[key][place] for key in keys), run) for place, run in enumerate(runs)]
    placed.sort(key=lambda each: [labels.index(label) for (_, labels), label in zip(grid.axes, each[0])])
    cells: dict[Labels, Cell] = {}
    for labels, run in placed:
        cell = cells.setdefault(labels, Cell(labels))
        cell.ids.append(run.path.name)
        cell.seeds.append(int(run.config["seed"]))
        cell.runs.append(run.run)
        if run.damage:
            grid.note_damage(run.damage)
    grid.cells = list(cells.values())
    return grid


def _read_each_once(directories: list[Path], grid: Grid) -> list[FoundRun]:
    runs: dict[tuple[tuple[str, str], ...], FoundRun] = {}
    for directory in directories:
        try:
            run = find_run(directory)
            int(run.config["seed"])
        except (KeyError, ValueError, TypeError):
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


def _join(first: FoundRun, other: FoundRun, grid: Grid) -> FoundRun:
    """Two runs with one config and seed are one: the first, unless the other is whole and it is not, or is further."""
    if first.damage or other.damage:
        stays, goes = (first, other) if other.damage else (other, first)
        if goes.damage:
            grid.note_damage(goes.damage)
        return stays
    result = ("status", "weights_sha256")
    is_same = all(first.status.get(key) == other.status.get(key) for key in result)
    if first.has_ended and other.has_ended and not is_same:
        raise Error("two runs have one config and one seed, and different results", where=str(first.path),
                    value=str(other.path), hint="leave one of them out; 'batchplus check' tells whether they are whole")
    if other.has_ended and not first.has_ended:
        first, other = other, first
    grid.note(f"{other.path} has the config and the seed of {first.path}, and counts once with it")
    return first


def _differing_keys(configs: list[dict[str, str]]) -> tuple[list[str], list[str]]:
    """The keys that make the axes, the method last, and those that differ and follow from them."""
    others = {key for config in configs for key in config} - set(_MOST_TELLING) - {"method"}
    candidates = [*_MOST_TELLING, *sorted(others)]
    # A task never follows from a method, or methods would be compared at different tasks.
    candidates.sort(key=lambda key: key not in TASK)
    has_methods = not _determine(configs, [], "method")
    axes: list[str] = []
    following: list[str] = []
    for key in candidates:
        if _determine(configs, [], key):
            continue
        known = [*axes, "method"] if has_methods and key not in TASK else axes
        (following if _determine(configs, known, key) else axes).append(key)
    if has_methods or not axes or axes[-1] in _TESTED:
        axes.append("method")
    return axes, following


def _determine(configs: list[dict[str, str]], keys: list[str], key: str) -> bool:
    """Whether runs with the same values of `keys` always have the same value of `key`."""
    values = {tuple(config.get(each) or "unset" for each in [*keys, key]) for config in configs}
    return len(values) == len({each[:-1] for each in values})


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
