"""The grid of runs without a sweep: by the keys in which their configs differ."""

from __future__ import annotations

import functools
import os
from collections import Counter
from pathlib import Path

from batchplus.config_values import TASK, result_config
from batchplus.errors import Error
from batchplus.found_runs import FoundRun, find_run
from batchplus.grid import Cell, Grid, Labels
from batchplus.mixed_inputs import describe_input, find_mixed_inputs, inputs_of

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
    # What was given under one name is in rows of its own, so that nothing is compared between them.
    for key in find_mixed_inputs(runs):
        columns[describe_input(key)] = [str(inputs_of(run.provenance).get(key, "unknown"))[:8] for run in runs]
        keys.insert(-1, describe_input(key))
    names = dict(zip((run.path for run in runs), _distinct_names(runs)))
    grid.axes = [(key, sorted(set(columns[key]), key=functools.cmp_to_key(_compare_labels))) for key in keys]
    placed = [(tuple(columns[key][place] for key in keys), run) for place, run in enumerate(runs)]
    placed.sort(key=lambda each: [labels.index(label) for (_, labels), label in zip(grid.axes, each[0])])
    cells: dict[Labels, Cell] = {}
    for labels, run in placed:
        cell = cells.setdefault(labels, Cell(labels))
        cell.ids.append(names[run.path])
        cell.seeds.append(int(run.config["seed"]))
        cell.runs.append(run.run)
        if run.damage:
            grid.note_damage(run.damage)
    grid.cells = list(cells.values())
    return grid


def _read_each_once(directories: list[Path], grid: Grid) -> list[FoundRun]:
    runs: list[FoundRun] = []
    places: dict[tuple[tuple[str, str], ...], list[int]] = {}
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
        alike = [place for place in places.get(identity, []) if _has_inputs_of(runs[place], run)]
        if alike:
            runs[alike[0]] = _join(runs[alike[0]], run, grid)
        else:
            places.setdefault(identity, []).append(len(runs))
            runs.append(run)
    if not runs:
        raise Error("no run can be read", value="; ".join(grid.notes),
                    hint="'batchplus check' says what is wrong with each")
    return runs


def _has_inputs_of(first: FoundRun, other: FoundRun) -> bool:
    """Whether both were given the same, as far as both say."""
    ours, theirs = (inputs_of(run.provenance) for run in (first, other))
    return all(theirs.get(key, digest) == digest for key, digest in ours.items())


def _join(first: FoundRun, other: FoundRun, grid: Grid) -> FoundRun:
    """Two runs with one config, seed and inputs are one: the first, unless only the other is whole, or it is further."""
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
    """Long values are cut short to where they differ from each other. What would be the same then stays whole."""
    long_values = sorted({value for value in values if len(value) > _LONGEST_LABEL})
    begin = 0
    if len(long_values) > 1:
        common = os.path.commonprefix([long_values[0], long_values[-1]])
        begin = max(common.rfind("/"), common.rfind(","), 0)
    labels = {}
    for value in long_values:
        label = "..." + value[begin:] if begin > 0 else value
        labels[value] = label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 3] + "..."
    uses = Counter([*labels.values(), *set(values)])
    return [labels[value] if value in labels and uses[labels[value]] == 1 else value for value in values]


def _distinct_names(runs: list[FoundRun]) -> list[str]:
    """The names of directories, with as many of the folders above them as tell them apart."""
    parts = [[part for part in run.path.parts if part != run.path.anchor] for run in runs]
    names: list[str] = [""] * len(runs)
    length = 1
    while not all(names):
        ends = ["/".join(each[-length:]) for each in parts]
        uses = Counter(ends)
        for place, end in enumerate(ends):
            if not names[place] and (uses[end] == 1 or length >= len(parts[place])):
                names[place] = end or str(runs[place].path)
        length += 1
    return names


def _compare_labels(a: str, b: str) -> int:
    """Numbers by size, words by the alphabet."""
    try:
        x, y = float(a), float(b)
        return (x > y) - (x < y)
    except ValueError:
        return (a > b) - (a < b)
