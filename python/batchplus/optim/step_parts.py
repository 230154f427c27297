"""What a step of SignedSVRG is made of: which closures make steps, and the mean of their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Optional

import torch

# One for each parameter; None where a closure does not use it.
Gradients = list[Optional[torch.Tensor]]


class StepPlan:
    """Closures with their share of mu (`weights`), their exact cost in evaluations (`shares`), and how many make steps."""

    def __init__(self, closures: Any, sizes: Optional[Sequence[int]]) -> None:
        if callable(closures) or not isinstance(closures, Iterable):
            raise TypeError("SignedSVRG.step takes a list of closures, one for each inner batch: optimizer.step([closure_1, "
                            "closure_2]); OuterBatches groups the batches of a DataLoader")
        self.closures: list[Callable[[], Any]] = list(closures)
        if not self.closures or not all(callable(closure) for closure in self.closures):
            raise TypeError(f"SignedSVRG.step got {len(self.closures)} closures, of which "
                            f"{sum(callable(one) for one in self.closures)} can be called: it needs at least one, and all must")
        if not (sizes is None or isinstance(sizes, Iterable)):
            raise ValueError(f"sizes are {sizes!r}: give a list with the samples of each batch")
        counts = _known_sizes(self.closures) if sizes is None else list(sizes)
        if len(counts) != len(self.closures) or not all(_is_whole(n) for n in counts) or min(counts) < 1 or \
                any(n != counts[0] for n in counts[:-1]) or counts[-1] > counts[0]:
            raise ValueError(f"sizes are {counts} for {len(self.closures)} closures: every batch needs the same number of "
                             "samples, but for the last one, which may have fewer")
        self.weights = [n / sum(counts) for n in counts]
        self.shares = [Fraction(int(n), int(counts[0])) for n in counts]
        self.steps = sum(n == counts[0] for n in counts)


def _is_whole(count: Any) -> bool:
    try:
        return not isinstance(count, str) and bool(int(count) == count)
    except (TypeError, ValueError, OverflowError):
        return False


def _known_sizes(closures: list[Callable[[], Any]]) -> list[int]:
    """What the closures of OuterBatches know of their samples. Where none does, all are taken to be equal."""
    known = [samples for closure in closures if (samples := getattr(closure, "samples", None)) is not None]
    if known and len(known) < len(closures):
        raise ValueError(f"{len(known)} of {len(closures)} closures know how many samples they are of: say it of all, as in "
                         "step(closures, sizes=batches.sizes)")
    return known or [1] * len(closures)


class WeightedMean:
    """A mean of gradients, summed in double. What no closure has a gradient of stays None."""

    def __init__(self, count: int) -> None:
        self._sums: Gradients = [None] * count

    def add(self, weight: float, gradients: Gradients) -> None:
        for place, gradient in enumerate(gradients):
            if gradient is None:
                continue
            wide = gradient.to(_wide(gradient)) * weight
            total = self._sums[place]
            self._sums[place] = wide if total is None else total.add_(wide)

    def take(self, like: list[torch.Tensor]) -> Gradients:
        return [None if total is None else total.to(p.dtype) for total, p in zip(self._sums, like)]


def _wide(tensor: torch.Tensor) -> torch.dtype:
    if tensor.is_complex():
        return torch.complex128
    return torch.float32 if tensor.device.type == "mps" else torch.float64  # Apple's GPUs have no double
