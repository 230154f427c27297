"""Calls the program: its progress goes to stderr as it comes, its result is returned, its errors are raised."""

from __future__ import annotations

import json
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Optional

from batchplus.arguments import arguments_of
from batchplus.errors import Error, ProgramError
from batchplus.store import Json, PathLike, PathLikes, paths_of
from batchplus.with_parent import Watcher

_DIVERGED = 3


def find_program() -> Path:
    """The program: $BATCHPLUS_PROGRAM, else `batchplus` on the PATH, else build/batchplus of the tree this file is in."""
    named = os.environ.get("BATCHPLUS_PROGRAM")
    if named:
        if not os.access(named, os.X_OK) or not Path(named).is_file():
            raise Error("there is no program", where="$BATCHPLUS_PROGRAM", value=named, hint="name the file build/batchplus")
        return Path(named)
    on_path = shutil.which("batchplus")
    if on_path:
        return Path(on_path)
    built = Path(__file__).resolve().parents[2] / "build" / "batchplus"
    if os.access(built, os.X_OK):
        return built
    raise Error("the program is not here", value="neither on the PATH nor built",
                hint="build it with script/build, and name it in $BATCHPLUS_PROGRAM or put it on the PATH")


def train(**config: Any) -> Json:
    """One run. Takes the options of `batchplus train` as keywords: train(dataset="cifar10", lr=0.1, out="runs/first").

    True gives an option that has no value (resume=True) and False does not; None leaves any option out, a list is joined
    by commas. Returns the result (docs/run-directory.md); a run that diverged is a result too, with status "diverged".
    """
    return _object(_call("train", [], config, also_good=(_DIVERGED,)))


def sweep(spec: PathLike, **options: Any) -> Json:
    """All runs of a spec: sweep("specs/demo.toml", scale="laptop", set={"epochs": 2}, dry_run=True)."""
    return _object(_call("sweep", [os.fspath(spec)], options))


def measure(run: Optional[PathLike] = None, **options: Any) -> Json:
    """Quantities of a run's final weights, or of `weights=` with the options that say what they are of."""
    return _object(_call("measure", [] if run is None else [os.fspath(run)], options))


def report(*targets: PathLikes, **options: Any) -> Json:
    """Tables, figures and a page: of a spec, of a sweep's directory, or of runs, one by one or in a list."""
    paths = [str(path) for target in targets for path in paths_of(target)]
    if not paths:
        raise Error("nothing to report", where="targets", hint="name a spec, a sweep's directory, or runs")
    return _object(_call("report", paths, options))


def _call(command: str, targets: list[str], options: Mapping[str, Any], also_good: tuple[int, ...] = ()) -> str:
    given = arguments_of(command, options)
    arguments = [str(find_program()), command, *given, *(["--", *targets] if targets else [])]
    # In a session of its own it gets one SIGINT, from here, whoever else gets the user's: a second one would end it at once.
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                               errors="replace", start_new_session=True,
                               restore_signals=False)  # SIGPIPE stays ignored: when nobody reads, it saves its run
    assert process.stdout is not None and process.stderr is not None
    said: list[str] = []
    listener = threading.Thread(target=_pass_on, args=(process.stderr, said), daemon=True)
    watcher = None
    try:
        watcher = Watcher(process.pid)
        listener.start()
        printed = process.stdout.read()
        code = process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()  # it saves its run first
        raise
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        if watcher is not None:
            watcher.dismiss()
        if listener.ident is not None:  # it was started
            listener.join()
        process.stdout.close()
        process.stderr.close()
    if code == 0 or code in also_good:
        return printed
    raise ProgramError(_message(said) or f"batchplus {command} ended with code {code}", code if code >= 0 else 128 - code)


def _pass_on(stream: IO[str], said: list[str]) -> None:
    for line in stream:
        said.append(line)
        with contextlib.suppress(OSError, ValueError, AttributeError):  # nobody to tell: the program must not wait for that
            sys.stderr.write(line)
            sys.stderr.flush()


def _message(said: list[str]) -> str:
    """The program's own last message: "batchplus: what", then indented lines."""
    starts = [place for place, line in enumerate(said) if line.startswith("batchplus: ")]
    lines = said[starts[-1]:] if starts else said[-10:]
    return "".join(lines).removeprefix("batchplus: ").rstrip()


def _object(printed: str) -> Json:
    try:
        parsed = json.loads(printed)
    except ValueError:
        raise Error("the program's output is not JSON", value=printed[:200], hint="is it batchplus?") from None
    return parsed if isinstance(parsed, dict) else {"result": parsed}
