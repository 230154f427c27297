"""Numbers of a run as a report takes them: at the end, at its best epoch, at a level of the training loss."""

from __future__ import annotations

import math
from typing import Any, Optional

from batchplus.errors import Error
from batchplus.store import Json, Run

# Of these more is better; of all others less.
HIGHER_IS_BETTER = frozenset({"test_accuracy", "validation_accuracy", "train_accuracy"})


def value_of(record: Json, name: str) -> Optional[float]:
    """A plain number or an object with a value; None when it is absent or not finite."""
    found: Any = record.get(name)
    if isinstance(found, dict):
        found = found.get("value")
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        return None
    return float(found)


def recorded_value(record: Json, name: str) -> Optional[float]:
    """A quantity of a record, also where it stands beside a gap: train_loss, train_accuracy."""
    value = value_of(record, name)
    beside = {"train_loss": "loss_gap", "train_accuracy": "accuracy_gap"}.get(name, "")
    gap = record.get(beside)
    return value_of(gap, name) if value is None and isinstance(gap, dict) else value


def final_value(run: Run, name: str) -> Optional[float]:
    """At the end of training. The gaps are over all samples, whether they were measured or not."""
    pair = {"loss_gap": ("test_loss", "train_loss"), "accuracy_gap": ("train_accuracy", "test_accuracy")}.get(name)
    if pair:
        first, second = value_of(run.status, pair[0]), value_of(run.status, pair[1])
        if first is not None and second is not None:
            return first - second
    return value_of(run.status, name)


def best_value(records: list[Json], name: str) -> Optional[float]:
    """The best of all epochs."""
    values = [value for record in records if (value := value_of(record, name)) is not None]
    if not values:
        return None
    return max(values) if name in HIGHER_IS_BETTER else min(values)


def value_at_loss(records: list[Json], name: str, level: float) -> Optional[float]:
    """Where the evaluated training loss (metrics gaps) falls to the level, linear between two records. None for a run
    that is above the level to its end, or below it in its first record."""
    before: Optional[tuple[float, float]] = None
    for record in records:
        gap = record.get("loss_gap")
        loss = value_of(gap, "train_loss") if isinstance(gap, dict) else None
        value = recorded_value(record, name)
        if loss is None or value is None:
            continue
        if loss == level:
            return value
        if loss < level:
            if before is None:
                return None
            part = (before[0] - level) / (before[0] - loss)
            return before[1] + part * (value - before[1])
        before = (loss, value)
    return None


def require_levels(at_loss: Any) -> list[float]:
    levels = [at_loss] if isinstance(at_loss, (int, float)) else list(at_loss)
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not (math.isfinite(level) and level > 0):
            raise Error("not a level of the training loss", where="at_loss", value=repr(level),
                        hint="numbers greater than zero, like at_loss=[0.8, 0.4]")
    if not levels:
        raise Error("no level of the training loss is given", where="at_loss", hint="like at_loss=[0.8, 0.4]")
    if len(set(levels)) < len(levels):
        raise Error("a training loss is given twice", where="at_loss", value=repr(levels), hint="give each level once")
    return [float(level) for level in levels]
