"""A program that is started from here ends when this process does, whatever ended it, and saves its run."""

from __future__ import annotations

import contextlib
import os
import subprocess
import weakref

# Reads a line that comes when all is over; the end of the pipe without one is the end of who would have written it.
_WATCH = 'read line || kill -TERM "$0"'


class Watcher:
    """A shell that sends the program one SIGTERM if this process ends first. Linux's PR_SET_PDEATHSIG would send one for
    each thread that ends, and the second one ends the program before its run is saved."""

    def __init__(self, program: int) -> None:
        self._shell = subprocess.Popen(["/bin/sh", "-c", _WATCH, str(program)], stdin=subprocess.PIPE, bufsize=0,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        _watchers.add(self)

    def dismiss(self) -> None:
        """The program has ended."""
        with contextlib.suppress(OSError):
            self._shell.communicate(b"\n")

    def let_go(self) -> None:
        """In a copy of this process, as a DataLoader's worker is one: its pipe would outlive ours."""
        assert self._shell.stdin is not None
        with contextlib.suppress(OSError):
            self._shell.stdin.close()


_watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()


def _let_all_go() -> None:
    for watcher in list(_watchers):
        watcher.let_go()


os.register_at_fork(after_in_child=_let_all_go)
