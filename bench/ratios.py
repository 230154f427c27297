"""Measuring two things in turn, and programs that measure themselves on demand."""

import statistics
import subprocess
import time

from torch.nn import functional as F


class Process:
    """A program that reads lines "WHAT COUNT" and answers each with seconds, and perhaps further numbers."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def numbers(self, what, count):
        self.process.stdin.write(f"{what} {count}\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def seconds(self, what, count):
        return self.numbers(what, count)[0]


def ratios(first, second, rounds):
    """second's time over first's, and both medians, alternating which goes first."""
    first(), second()
    pairs = []
    for i in range(rounds):
        if i % 2:
            b = second()
            a = first()
        else:
            a = first()
            b = second()
        pairs.append((a, b))
    quotients = [b / a for a, b in pairs]
    return quotients, statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f}, n = {len(values)})"


def sgd_seconds(model, optimiser, next_batch, steps):
    """A plain training loop in PyTorch; next_batch(step) gives images and labels."""
    start = time.perf_counter()
    for step in range(steps):
        images, labels = next_batch(step)
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(model(images), labels).backward()
        optimiser.step()
    return time.perf_counter() - start
