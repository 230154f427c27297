"""Numbers of a run as a report takes them: at the end, at its best epoch, at a level of the training loss."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional

from batchplus.errors import Error
from batchplus.store import Json, Run

# Of these more is better; of all others less.
HIGHER_IS_BETTER = frozenset({"test_accuracy", "validation_accuracy", "train_accuracy"})

# These grow with every epoch, or are neither good nor bad: no epoch is the best one by them.
WITHOUT_BEST = frozenset({"control_variate_correlation", "control_variate_optimal_coefficient", "snapshot_distance", "lr",
                          "gradient_evaluations", "sample_gradients", "seconds"})


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
    """The best of all epochs; None where a quantity has none."""
    values = [value for record in records if (value := value_of(record, name)) is not None]
    if not values or name in WITHOUT_BEST:
        return None
    return max(values) if name in HIGHER_IS_BETTER else min(values)


@dataclass(frozen=True)
class AtLoss:
    """A value, or why there is none, in the words of the report: "never", "below_from_the_start", "not_recorded"."""

    value: Optional[float] = None
    missing: str = ""


def find_at_loss(records: list[Json], name: str, level: float) -> AtLoss:
    """Where the evaluated training loss (metrics gaps) falls to the level, linear between two records. No value for a run
    that is above the level to its end, or below it in its first record."""
    before: Optional[tuple[float, float]] = None
    for record in records:
        gap = record.get("loss_gap")
        loss = value_of(gap, "train_loss") if isinstance(gap, dict) else None
        value = recorded_value(record, name)
        if loss is None or value is None:
            continue
        if loss == level:
            return AtLoss(value)
        if loss < level:
            if before is None:
                return AtLoss(missing="below_from_the_start")
            part = (before[0] - level) / (before[0] - loss)
            return AtLoss(before[1] + part * (value - before[1]))
        before = (loss, value)
    return AtLoss(missing="never" if before else "not_recorded")


def require_levels(given: Any) -> list[float]:
    is_one = isinstance(given, str) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0
    levels = [_level(level) for level in ([given] if is_one else given)]
    if not levels:
        raise Error("no level of the training loss is given", where="at_loss", hint="like at_loss=[0.8, 0.4]")
    if len(set(levels)) < len(levels):
        raise Error("a training loss is given twice", where="at_loss", value=repr(levels), hint="give each level once")
    return levels


def _level(given: Any) -> float:
    try:
        level = math.nan if isinstance(given, (bool, str)) else float(given)  # numpy's numbers too
    except (TypeError, ValueError, OverflowError):
        level = math.nan
    if not (math.isfinite(level) and level > 0):
        raise Error("not a level of the training loss", where="at_loss", value=repr(given),
                    hint="numbers greater than zero, like at_loss=[0.8, 0.4]")
    return level
