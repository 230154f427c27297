"""The grid of a sweep, from its sweep.json and the runs beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

from batchplus.config_values import config_text
from batchplus.errors import Error
from batchplus.found_runs import find_run
from batchplus.grid import Cell, Grid, Labels
from batchplus.store import Json, Run, has_lost_status, holds_run, read_text, require_own_checksum

_FORMAT = 1


def read_sweep(root: Path) -> Grid:
    file = root / "sweep.json"
    hint = "'batchplus sweep SPEC' writes it anew; finished runs are not run again"
    try:
        text = read_text(file)
        sweep: Any = json.loads(text)
        if "checksum" in sweep:  # sweeps from before have none
            require_own_checksum(text, file, hint)
        if sweep["format_version"] != _FORMAT:
            raise Error("the sweep has a format that this package does not know", where=str(file),
                        value=str(sweep["format_version"]), hint="use a newer batchplus")
        return _grid_of_sweep(root, sweep)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
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
    if not holds_run(directory) and not has_lost_status(directory):
        return None
    try:
        found = find_run(directory)
    except Error as problem:
        grid.note_damage(problem)
        return None
    values = {key: config_text(found.config, key) for key in expected}
    differences = [f"{key} is {values[key] or 'not set'}, not {wanted or 'not set'}"
                   for key, wanted in expected.items() if values[key] != wanted]
    if differences:
        grid.note(f"left out, because it is another run than the sweep's: {directory} ({'; '.join(differences)})")
        return None
    if found.damage:
        grid.note_damage(found.damage)
    return found.run
