"""Runs of a comparison as a report finds them: what each one is, and whether the rest of it can be used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from batchplus.errors import Error
from batchplus.store import Json, Run, has_ended, read_config, read_rest, read_status


@dataclass(frozen=True)
class FoundRun:
    """`run` is None while it has not ended, and where `damage` says what is wrong with its files."""

    path: Path
    config: Json
    status: Json
    run: Optional[Run] = None
    damage: Optional[Error] = None

    @property
    def has_ended(self) -> bool:
        return has_ended(self.status)

    @property
    def provenance(self) -> Json:
        return self.run.provenance if self.run else {}


def find_run(directory: Path) -> FoundRun:
    """An Error when it cannot be said which run it is. Of one that was cut short, the records may be so too."""
    status = read_status(directory)
    config = read_config(directory, status)
    if not has_ended(status):
        return FoundRun(directory, config, status)
    try:
        run = read_rest(directory, config, status)
        run.records  # reads every line
        return FoundRun(directory, config, status, run)
    except Error as problem:
        return FoundRun(directory, config, status, damage=problem)
