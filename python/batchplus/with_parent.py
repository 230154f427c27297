"""A program that is started from here ends when this process does, whatever ended it, and saves its run."""

from __future__ import annotations

import contextlib
import subprocess

# Reads a line that comes when all is over; the end of the pipe without one is the end of who would have written it.
_WATCH = 'read line || kill -TERM "$0"'


class Watcher:
    """A shell that sends the program one SIGTERM if this process ends first. Linux's PR_SET_PDEATHSIG would send one for
    each thread that ends, and the second one ends the program before its run is saved."""

    def __init__(self, program: int) -> None:
        self._shell = subprocess.Popen(["/bin/sh", "-c", _WATCH, str(program)], stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def dismiss(self) -> None:
        """The program has ended."""
        with contextlib.suppress(OSError):
            self._shell.communicate(b"\n")
