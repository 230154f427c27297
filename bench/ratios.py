"""Measuring several things in turn, and programs that measure themselves on demand."""

import pathlib
import re
import signal
import statistics
import subprocess
import tempfile


class Died(RuntimeError):
    """A program ended before it answered. Says how."""


class Process:
    """A program that reads lines "WHAT COUNT" and answers each with seconds, and perhaps further numbers."""

    def __init__(self, command, folder=None, is_quiet=False):
        """Runs in the folder, if given. If is_quiet, what it says on stderr is kept for the case that it dies."""
        self.command = command
        self.errors = tempfile.TemporaryFile("w+", errors="replace") if is_quiet else None
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        cwd=folder, text=True)

    def numbers(self, what, count):
        try:
            self.process.stdin.write(f"{what} {count}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Died(self.death()) from None
        return [float(word) for word in self.line().split()]

    def seconds(self, what, count):
        return self.numbers(what, count)[0]

    def numbers_and_lines(self, what, count):
        """For an answer that goes on with further lines, up to one that says "end"."""
        return self.numbers(what, count), list(iter(self.line, "end"))

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise Died(self.death())
        return line.rstrip("\n")

    def death(self):
        status = self.process.wait()
        if not self.errors:
            return f"no answer from: {' '.join(map(str, self.command))}"
        self.errors.seek(0)
        return cause_of_death(status, self.errors.read())

    def peak_mebibytes(self):
        """The most memory that the process has held so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it is dead already
        self.process.wait()
        self.process.stdout.close()
        if self.errors:
            self.errors.close()


def cause_of_death(status, errors):
    """The signal; or the last line of stderr that names an error, since advice may follow that; or the last line."""
    if status < 0:
        return signal.strsignal(-status)
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Unsupported)\b", line)]
    return (named or lines or [f"ended with status {status}"])[-1]


def interleave(contestants, rounds):
    """What each of the named functions returned, round by round; every other round goes backwards."""
    results = []
    for i in range(rounds):
        names = reversed(contestants) if i % 2 else contestants
        results.append({name: contestants[name]() for name in names})
    return results


def ratios(first, second, rounds):
    """second's time over first's, and both medians, alternating which goes first."""
    first(), second()
    results = interleave({"first": first, "second": second}, rounds)
    quotients = [r["second"] / r["first"] for r in results]
    return quotients, *(statistics.median(r[name] for r in results) for name in ("first", "second"))


def warm_up(measure, least_steps, seconds=0.4):
    """The least_steps, doubled until measure(steps) takes so long: short steps are measured many at a time."""
    steps = least_steps
    while measure(steps) < seconds:
        steps *= 2
    return steps


def spread(values, digits=3):
    low, middle, high = (f"{f(values):.{digits}f}" for f in (min, statistics.median, max))
    return f"{middle} ({low} to {high}, n = {len(values)})"


def rounded(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"
