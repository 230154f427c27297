"""Runs in the cells of a grid, which reports and comparisons are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Optional

from batchplus.errors import Error
from batchplus.store import Json, Run

Labels = tuple[str, ...]


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

    def note_damage(self, problem: Error) -> None:
        self.note(f"left out, because it is damaged: {problem.where} ({problem.what})")

    def rows(self) -> list[Labels]:
        return list(dict.fromkeys(cell.labels[:-1] for cell in self.cells))

    def find(self, labels: Labels) -> Optional[Cell]:
        return next((cell for cell in self.cells if cell.labels == labels), None)
