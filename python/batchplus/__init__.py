"""BatchPlus from Python: its runs as DataFrames, its comparisons, its commands, and its optimiser for PyTorch.

Importing this needs nothing but the standard library. `runs`, `records` and `compare` need pandas, `optim` needs torch;
both are imported when they are first used.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from batchplus.comparison import Comparison, compare
from batchplus.errors import Error, ProgramError
from batchplus.frames import records, runs
from batchplus.program import find_program, measure, report, sweep, train
from batchplus.store import Run, find_runs, read_run

__version__ = "0.1.0"

__all__ = [
    "Comparison", "Error", "ProgramError", "Run", "compare", "find_program", "find_runs", "measure", "optim", "read_run",
    "records", "report", "runs", "sweep", "train",
]


def __getattr__(name: str) -> ModuleType:
    """`batchplus.optim` without an import of its own, and without torch for those who do not use it."""
    if name == "optim":
        return importlib.import_module("batchplus.optim")
    raise AttributeError(f"module 'batchplus' has no attribute {name!r}")
