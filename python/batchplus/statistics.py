"""Means with intervals, paired t tests and Holm's correction, as a report has them. Student's t is computed here, so
that comparing needs no SciPy; tests compare it with SciPy's values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

CONFIDENCE = 0.95
# Equal differences of rounded values differ by rounding: 93.41 - 93.40 is not 92.51 - 92.50.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Summary:
    """A mean over seeds. Of a single value there is no standard deviation and no interval."""

    n: int
    mean: Optional[float] = None
    std: Optional[float] = None
    half_width: Optional[float] = None

    @property
    def interval(self) -> tuple[Optional[float], Optional[float]]:
        """The 95 % confidence interval of the mean (Student's t)."""
        if self.mean is None or self.half_width is None:
            return None, None
        return self.mean - self.half_width, self.mean + self.half_width


def summarize(values: Sequence[float]) -> Summary:
    n = len(values)
    if n == 0:
        return Summary(0)
    mean = _sum(values) / n
    if n == 1:
        return Summary(1, mean)
    std = math.sqrt(_sum([(value - mean) ** 2 for value in values]) / (n - 1))
    return Summary(n, mean, std, t_quantile((1 + CONFIDENCE) / 2, n - 1) * std / math.sqrt(n))


def compare_paired(a: Sequence[float], b: Sequence[float]) -> tuple[Summary, Optional[float]]:
    """The differences a[i] - b[i], and the two-sided p of Student's t test that their mean is zero. Where all pairs
    differ by the same there is no interval and no p, and p is 1 when they do not differ at all."""
    difference = summarize([x - y for x, y in zip(a, b)])
    if difference.mean is None or difference.std is None:
        return difference, None
    largest = max(abs(value) for value in (*a, *b))
    if difference.std <= _ROUNDING * largest:
        is_zero = abs(difference.mean) <= _ROUNDING * largest
        return Summary(difference.n, difference.mean, 0.0), 1.0 if is_zero else None
    t = abs(difference.mean) / (difference.std / math.sqrt(difference.n))
    return difference, 2 * t_tail(t, difference.n - 1)


def correct_holm(p: Sequence[Optional[float]]) -> list[Optional[float]]:
    """Holm's correction for the number of tests. What has no p is no test."""
    tests = sorted((value, place) for place, value in enumerate(p) if value is not None)
    corrected: list[Optional[float]] = [None] * len(p)
    largest = 0.0
    for rank, (value, place) in enumerate(tests):
        largest = max(largest, min(1.0, (len(tests) - rank) * value))
        corrected[place] = largest
    return corrected


def t_tail(t: float, degrees: int) -> float:
    """P(T > t) for t >= 0."""
    return _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2


def t_quantile(probability: float, degrees: int) -> float:
    """The t with P(T <= t) = probability >= 1/2, by halving; the interval closes to neighbouring floats."""
    tail = 1 - probability
    low, high = 0.0, 1.0
    while t_tail(high, degrees) > tail:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if t_tail(middle, degrees) > tail else (low, middle)
    return middle


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly
        return 1 - _incomplete_beta(b, a, 1 - x)
    log_scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_scale) / a * _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Its continued fraction (DLMF 8.17.22), by Lentz's method: 1/(1 + d_1/(1 + d_2/(1 + ...)))."""

    def term(k: int) -> float:
        m = k // 2
        if k % 2 == 0:
            return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))

    c, d = 1.0, 1 / (1 + term(1))
    value = d
    for k in range(2, 10_000):
        d = 1 / (1 + term(k) * d)
        c = 1 + term(k) / c
        value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def _sum(values: Sequence[float]) -> float:
    """From left to right, as the program adds."""
    total = 0.0
    for value in values:
        total += value
    return total
