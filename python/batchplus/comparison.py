"""Compares runs over seeds as `report` does, with the same numbers: docs/reports.md says what each means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from batchplus.arrange import arrange
from batchplus.choices import settle_choices
from batchplus.errors import Error
from batchplus.frames import _pandas
from batchplus.grid import Cell, Grid, Labels
from batchplus.mixed_inputs import leave_out_mixed_inputs, note_mixed_inputs
from batchplus.quantities import best_value, final_value, find_at_loss, require_levels
from batchplus.statistics import compare_paired, correct_holm, summarize
from batchplus.store import Json, PathLikes, Run, find_runs, paths_of
from batchplus.sweep_grid import read_sweep

if TYPE_CHECKING:
    import pandas

# Up to so many columns are compared each with each, more with the first one.
_MOST_PAIRED = 4
Value = Callable[[Run], Optional[float]]


@dataclass(frozen=True)
class Comparison:
    """`cells`: a row for each cell of the grid; `paired`: a row for each pair of columns; `notes`: what a reader must
    know of the runs."""

    quantity: str
    cells: pandas.DataFrame
    paired: pandas.DataFrame
    notes: tuple[str, ...]

    def __str__(self) -> str:
        shown = self.cells.drop(columns=["runs"])
        parts = [f"{self.quantity} over seeds", shown.to_string(index=False), "", "Paired differences",
                 self.paired.to_string(index=False), *(f"Note: {note}" for note in self.notes)]
        return "\n".join(parts)


def compare(paths: PathLikes, quantity: str = "test_accuracy", *,
            at_loss: Union[float, Iterable[float], None] = None) -> Comparison:
    """Mean and spread over seeds, and paired differences, equal to those of `batchplus report`.

    `paths` is the directory of a sweep (with its sweep.json), or run directories, or directories that hold some; runs
    without a sweep are arranged by the keys in which their configs differ. `quantity` is a number of the results, like
    "test_accuracy", "loss_gap" or a metric. `at_loss` takes it where the evaluated training loss falls to these levels
    instead of at the end; notes name the runs that have no value there. Runs that are damaged are left out, with a note.

    Columns of `cells`: the axes, `n`, `diverged`, `missing`, `mean`, `std` (n - 1), `interval_low` and `interval_high`
    (95 %, Student's t), `best_mean` and `best_std` (of each run's best epoch), `published_mean`, `published_std`, `runs`.
    Of `paired`: the axes but the last, `a`, `b`, `difference` (mean of a - b), `std`, its interval, `pairs`, `p`
    (two-sided) and `p_holm` (corrected for the number of rows).
    """
    if not isinstance(quantity, str):
        raise Error("not the name of a quantity", where="quantity", value=repr(quantity),
                    hint='one at a time, like compare(PATH, "loss_gap")')
    levels: list[Optional[float]] = [None] if at_loss is None else [*require_levels(at_loss)]
    pandas = _pandas()
    grid = _grid_of(paths)
    _require_values(grid, quantity, is_at_loss=at_loss is not None)
    cells: list[Json] = []
    paired: list[Json] = []
    for level in levels:
        cells += [_cell_row(grid, cell, quantity, level) for cell in grid.cells]
        if level is not None:
            _note_missing(grid, quantity, level)
    for row in grid.rows():
        for level in levels:
            paired += _paired_rows(grid, row, quantity, level)
    for line, corrected in zip(paired, correct_holm([line["p"] for line in paired])):
        line["p_holm"] = corrected
    heading = [*grid.names[:-1], *_beside(levels[0]), "a", "b", "difference", "std", "interval_low",
               "interval_high", "pairs", "p", "p_holm"]
    return Comparison(quantity, _numeric(pandas.DataFrame(cells)), _numeric(pandas.DataFrame(paired, columns=heading)),
                      tuple(grid.notes))


def _grid_of(paths: PathLikes) -> Grid:
    given = paths_of(paths)
    is_sweep = len(given) == 1 and (given[0] / "sweep.json").exists()
    grid = read_sweep(given[0]) if is_sweep else arrange(find_runs(given))
    leave_out_mixed_inputs(grid)
    note_mixed_inputs(grid)
    settle_choices(grid)
    return grid


def _beside(level: Optional[float]) -> Json:
    return {} if level is None else {"training_loss": level}


def _value(quantity: str, level: Optional[float]) -> Value:
    def value(run: Run) -> Optional[float]:
        return final_value(run, quantity) if level is None else find_at_loss(run.records, quantity, level).value

    return value


def _cell_row(grid: Grid, cell: Cell, quantity: str, level: Optional[float]) -> Json:
    summary = summarize(list(cell.values(_value(quantity, level)).values()))
    row: Json = dict(zip(grid.names, cell.labels))
    row.update({grid.choice_key: cell.choice} if grid.choice_key else {})
    missing = len(cell.runs) - cell.count("done") - cell.count("diverged")
    row.update(_beside(level), n=summary.n, diverged=cell.count("diverged"), missing=missing, mean=summary.mean,
               std=summary.std, interval_low=summary.interval[0], interval_high=summary.interval[1])
    if level is None:
        best = summarize(list(cell.values(lambda run: best_value(run.records, quantity)).values()))
        row.update(best_mean=best.mean, best_std=best.std, **_published(grid, cell, quantity))
    row["runs"] = cell.ids
    return row


def _note_missing(grid: Grid, quantity: str, level: float) -> None:
    """Which runs have no value at a level, and why."""
    without: dict[str, list[str]] = {"never": [], "below_from_the_start": [], "not_recorded": []}
    for cell in grid.cells:
        for name, run in zip(cell.ids, cell.runs):
            if run is not None and run.state == "done":
                missing = find_at_loss(run.records, quantity, level).missing
                if missing:
                    without[missing].append(name)
    for reason, names in without.items():
        if names:
            grid.note(f"without a value at the training loss {level:g} ({reason}): {', '.join(names)}")


def _published(grid: Grid, cell: Cell, quantity: str) -> Json:
    """A paper's number for the cell, if the spec has one."""
    for one in grid.published:
        if one["quantity"] == quantity and tuple(one["cell"][name] for name in grid.names) == cell.labels:
            return {"published_mean": one["mean"], "published_std": one.get("std")}
    return {"published_mean": None, "published_std": None}


def _paired_rows(grid: Grid, row: Labels, quantity: str, level: Optional[float]) -> list[Json]:
    columns = grid.axes[-1][1]
    firsts = columns if len(columns) <= _MOST_PAIRED else columns[:1]
    lines = []
    for i, first in enumerate(firsts):
        for second in columns[i + 1:]:
            a, b = grid.find((*row, first)), grid.find((*row, second))
            if a is None or b is None:
                continue
            left, right = a.values(_value(quantity, level)), b.values(_value(quantity, level))
            shared = [seed for seed in left if seed in right]
            if not shared:
                continue
            difference, p = compare_paired([left[seed] for seed in shared], [right[seed] for seed in shared])
            lines.append({**dict(zip(grid.names, row)), **_beside(level), "a": first, "b": second,
                          "difference": difference.mean, "std": difference.std, "interval_low": difference.interval[0],
                          "interval_high": difference.interval[1], "pairs": difference.n, "p": p})
    return lines


def _require_values(grid: Grid, quantity: str, *, is_at_loss: bool) -> None:
    ended = [run for cell in grid.cells for run in cell.runs if run is not None]
    if not ended:
        raise Error("no run has finished", value="; ".join(grid.notes), hint="run the sweep first, or go on with its runs")
    done = [run for run in ended if run.state == "done"]
    if done and all(final_value(run, quantity) is None for run in done):
        known = {key for run in done for key in run.status if final_value(run, key) is not None}
        raise Error("no run has this quantity", where="quantity", value=quantity,
                    hint="one of: " + ", ".join(sorted(known - {"format_version"} | {"loss_gap", "accuracy_gap"})))
    if is_at_loss and not any(isinstance(record.get("loss_gap"), dict) for run in done for record in run.records):
        raise Error("no run has recorded its training loss in evaluation mode", where="at_loss",
                    hint='train with the metric group gaps (metrics="gaps"), which evaluates it')


def _numeric(table: Any) -> Any:
    """Numbers that are missing in every row are NaN, not None."""
    names = ("mean", "std", "interval_low", "interval_high", "best_mean", "best_std", "published_mean", "published_std",
             "difference", "p", "p_holm")
    return table.astype({name: float for name in names if name in table})
