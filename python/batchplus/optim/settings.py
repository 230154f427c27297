"""What SignedSVRG may be given: settings of its groups, and saved states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

COUNTERS = ("outer_steps", "inner_steps")


def require_valid(group: Mapping[str, Any]) -> None:
    for name in ("lr", "momentum", "weight_decay"):
        if not (_is_finite(group[name]) and group[name] >= 0):
            raise ValueError(f"{name} is {group[name]!r}: it must be a finite number, zero or more")
    if not _is_finite(group["coefficient"]):
        raise ValueError(f"coefficient is {group['coefficient']!r}: it must be a finite number")
    if not isinstance(group["nesterov"], bool):
        raise ValueError(f"nesterov is {group['nesterov']!r}: it must be True or False")
    if group["nesterov"] and group["momentum"] == 0:
        raise ValueError("nesterov needs a momentum: momentum=0.9 is usual")
    for name in ("dampening", "maximize"):
        if group.get(name):
            raise ValueError(f"{name} is {group[name]!r}: SignedSVRG has no such thing; it must be 0 or False")


def require_state(state: Any) -> None:
    """A ValueError for what neither SignedSVRG nor torch.optim.SGD returns as its state_dict."""
    if not isinstance(state, Mapping):
        raise ValueError(f"a {type(state).__name__} is not a state of SignedSVRG or torch.optim.SGD: give what state_dict() "
                         "returned")
    groups = state.get("param_groups")
    if not isinstance(groups, list) or not all(isinstance(group, Mapping) for group in groups) or "state" not in state:
        raise ValueError("not a state of SignedSVRG or torch.optim.SGD: it lacks state or param_groups")
    if not all(name in group for group in groups for name in ("lr", "momentum", "nesterov", "weight_decay")):
        raise ValueError("not a state of SignedSVRG or torch.optim.SGD: a group lacks lr, momentum, nesterov or "
                         "weight_decay")


def saved_counters(state: Mapping[str, Any]) -> tuple[Fraction, dict[str, int]]:
    """Gradient evaluations and the other counters; zero in a state of SGD, which has none."""
    counters = state.get("batchplus", {})
    if not isinstance(counters, Mapping):
        raise ValueError(f"batchplus is {counters!r} in the state: it must be a dict of counters")
    steps = {name: counters.get(name, 0) for name in COUNTERS}
    for name, value in steps.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"{name} is {value!r} in the state: it must be a whole number, zero or more")
    return _fraction(counters.get("gradient_evaluations", 0)), steps


def _fraction(saved: Any) -> Fraction:
    """Numerator and denominator, or a plain number."""
    parts = saved if isinstance(saved, (list, tuple)) else [saved]
    try:
        if any(isinstance(part, (str, bool)) for part in parts):
            raise TypeError
        value = Fraction(*parts)
        if value < 0:
            raise ValueError
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(f"gradient_evaluations is {saved!r} in the state: it must be a number, zero or more") from None
    return value


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except (TypeError, ValueError, RuntimeError):
        return False  # no number at all, or a tensor of several
