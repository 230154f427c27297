"""Where a sweep tries several values of a key, the one that counts."""

from __future__ import annotations

from batchplus.grid import Cell, Grid, Labels
from batchplus.quantities import final_value
from batchplus.statistics import Summary, summarize


class _Candidate:
    """A value that was tried in a cell, and what came of it."""

    def __init__(self, cell: Cell, by: str) -> None:
        self.value = cell.choice
        self.score: Summary = summarize(list(cell.values(lambda run: final_value(run, by)).values()))
        self.diverged = cell.count("diverged")

    def is_better_than(self, other: _Candidate) -> bool:
        if self.score.mean is None or other.score.mean is None:
            return self.score.n > other.score.n
        if self.diverged != other.diverged:
            return self.diverged < other.diverged
        return self.score.mean > other.score.mean


def settle_choices(grid: Grid) -> None:
    """Leaves in each cell the runs of the value that did best: with the fewest diverged runs, and of those the highest
    mean. Cells that another one decides for take its value."""
    tried: dict[Labels, list[_Candidate]] = {}
    for cell in grid.cells:
        if cell.choice and cell.decided_by == cell.labels:
            tried.setdefault(cell.labels, []).append(_Candidate(cell, grid.choice_by))
    chosen = {labels: _best(candidates, labels, grid) for labels, candidates in tried.items()}
    grid.cells = [cell for cell in grid.cells if not cell.choice or chosen[cell.decided_by] == cell.choice]


def _best(candidates: list[_Candidate], labels: Labels, grid: Grid) -> str:
    best = candidates[0]
    for candidate in candidates[1:]:
        best = candidate if candidate.is_better_than(best) else best
    for candidate in candidates:
        if candidate is not best and candidate.score.n > 0 and not best.is_better_than(candidate):
            grid.note(f"{', '.join(labels)}: {grid.choice_key} {best.value} and {candidate.value} did equally well, and the "
                      "first counts")
    ended = [candidate.score.n + candidate.diverged for candidate in candidates]
    if len(set(ended)) > 1:
        counts = ", ".join(f"{count} of {candidate.value}" for count, candidate in zip(ended, candidates))
        grid.note(f"{', '.join(labels)}: {grid.choice_key} was chosen among unequal numbers of finished runs ({counts})")
    return best.value
