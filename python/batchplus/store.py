"""Reads run directories, which docs/run-directory.md describes, and verifies their checksums as the program does."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from batchplus.errors import Error

PathLike = Union[str, "os.PathLike[str]"]
PathLikes = Union[PathLike, Iterable[PathLike]]
Json = dict[str, Any]

FORMAT_VERSION = 2
_DAMAGED = "the file is damaged; restore it or remove the run"
_LOST = "restore it or remove the run"
_NAME_RUNS = "name run directories, or directories that hold some"
_STATES = ("running", "interrupted", "done", "diverged")
_SPACE_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|[ \t\r\n]+')
_LAST_CHECKSUM = re.compile(r',"checksum":"([0-9a-f]*)"}\Z')
# What says that a run has begun in a directory.
_SIGNS_OF_A_RUN = ("status.json", "checkpoint.pt", "checkpoint.previous.pt")


@dataclass(frozen=True)
class Run:
    """What a run directory holds. `status` has the result; `records_text` is metrics.jsonl as it was verified."""

    path: Path
    config: Json
    status: Json
    provenance: Json
    records_text: str

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def state(self) -> str:
        """"running", "interrupted", "done" or "diverged"."""
        return str(self.status["status"])

    @property
    def has_ended(self) -> bool:
        return has_ended(self.status)

    @functools.cached_property
    def records(self) -> list[Json]:
        """One for each line of metrics.jsonl. A last line that a killed process did not finish is left out."""
        whole = self.records_text[: self.records_text.rfind("\n") + 1]
        file = self.path / "metrics.jsonl"
        rows = []
        for number, line in enumerate(whole.split("\n"), start=1):
            if line:
                rows.append(_parse_object(line, f"{file}:{number}", "not a record of a run"))
        return rows


def has_ended(status: Json) -> bool:
    return status["status"] in ("done", "diverged")


def holds_run(directory: Path) -> bool:
    return any((directory / name).exists() for name in _SIGNS_OF_A_RUN)


def has_lost_status(directory: Path) -> bool:
    """Whether it holds what a run writes behind its first status, and none. A run that just begins is no such: its
    config.toml and provenance.json come before its status, and all else after it."""
    # In this order: what is here now has had its status before. Somebody's own config.toml may have the weights beside it
    # that it asks for, but no provenance.
    has_weights = all((directory / name).exists() for name in ("weights.pt", "provenance.json"))
    has_results = (directory / "metrics.jsonl").exists() or has_weights
    return has_results and (directory / "config.toml").exists() and not holds_run(directory)


def paths_of(paths: PathLikes) -> list[Path]:
    given: list[Any] = list(paths) if isinstance(paths, Iterable) and not isinstance(paths, (str, bytes)) else [paths]
    for path in given:
        if not isinstance(path, (str, os.PathLike)):
            raise Error("not a path", where="paths", value=repr(path), hint=_NAME_RUNS)
    return [Path(path) for path in given]


def find_runs(paths: PathLikes) -> list[Path]:
    """The run directories that these name or hold, each once, sorted, those that have lost their status.json among them.
    An Error where there is none. Links to runs are followed, links to folders of runs are not."""
    found: dict[str, Path] = {}
    given = paths_of(paths)
    if not given:
        raise Error("no path is given", where="paths", hint=_NAME_RUNS)
    for path in given:
        if not path.is_dir():
            raise Error("not a directory" if path.exists() else "there is no such directory", where=str(path), hint=_NAME_RUNS)
        here = [path] if _is_run(path) else []
        if not holds_run(path):  # one that has only lost its status may yet hold others
            here += [Path(folder) / name for folder, names, _ in os.walk(path) for name in names if _is_run(Path(folder) / name)]
        if not here:
            raise _no_run(path)
        # One directory may have several names; that of a link comes last.
        for run in sorted(here, key=lambda run: (run.is_symlink(), run.parts)):
            found.setdefault(os.path.realpath(run), run)
    return sorted(found.values(), key=lambda run: run.parts)


def _is_run(directory: Path) -> bool:
    return holds_run(directory) or has_lost_status(directory)


def _no_run(path: Path) -> Error:
    if (path / "metrics.jsonl").exists():
        return Error("it is missing", where=str(path / "status.json"), hint=_LOST)
    if (path / "config.toml").exists():
        return Error("the run has not begun", where=str(path), value="there is a config.toml and no status.json",
                     hint="train it first: batchplus.train(config=..., out=...)")
    return Error("there is no run here", where=str(path), hint="a run directory has a status.json")


def read_run(path: PathLike) -> Run:
    """Reads one run directory. An Error names the file that is missing, damaged, or not of this format."""
    directory = Path(path)
    if not _is_run(directory):
        find_runs(directory)  # says what is there instead
        raise Error("this is not a run directory", where=str(directory),
                    hint="it holds some: batchplus.find_runs() lists them")
    status = read_status(directory)
    return read_rest(directory, read_config(directory, status), status)


def read_rest(directory: Path, config: Json, status: Json) -> Run:
    """The run whose config and status are read."""
    return Run(directory, config, status, _read_provenance(directory, status), _read_records(directory, status))


def read_status(directory: Path) -> Json:
    """status.json without its checksum, verified."""
    file = directory / "status.json"
    text = read_text(file)
    status = _parse_object(text, str(file), "not the status of a run")
    version = status.get("format_version")
    if not isinstance(status.get("status"), str) or type(version) is not int:
        raise Error("not the status of a run", where=str(file), hint=_DAMAGED)
    if not 1 <= version <= FORMAT_VERSION:
        raise Error("the run has a format that this package does not know", where=str(file), value=str(version),
                    hint="use a newer batchplus")
    if status["status"] not in _STATES:
        raise Error("not a state of a run", where=str(file), value=repr(status["status"]), hint=_DAMAGED)
    # The first format had no checksums.
    if version > 1 or "config_sha256" in status:
        require_own_checksum(text, file)
    status.pop("checksum", None)
    return status


def read_config(directory: Path, status: Json) -> Json:
    file = directory / "config.toml"
    return _parse_toml(_read_vouched(file, status, "config_sha256"), file)


def require_own_checksum(text: str, file: Path, hint: str = _DAMAGED) -> None:
    """The checksum is of everything else in the file as compact JSON: the same tokens without the white space."""
    compact = _SPACE_OR_STRING.sub(lambda token: token[0] if token[0].startswith('"') else "", text)
    claimed = _LAST_CHECKSUM.search(compact)
    if claimed is None or claimed[1] != _sha256(compact[: claimed.start()] + "}"):
        raise Error("the file is not as it was written", where=str(file), value="its checksum is wrong", hint=hint)


def _read_vouched(file: Path, status: Json, key: str) -> str:
    """A file whose SHA-256 stands under `key` in status.json, if one does."""
    text = read_text(file)
    computed = _sha256(text)
    if status.get(key, computed) != computed:
        raise Error("the file is not as it was written", where=str(file), value=f"SHA-256 {computed}", hint=_DAMAGED)
    return text


def _read_records(directory: Path, status: Json) -> str:
    file = directory / "metrics.jsonl"
    if not file.exists():
        # A run that was cut short or diverged in its first epoch has no records.
        if status.get("metrics_sha256", _sha256("")) == _sha256(""):
            return ""
        raise Error("it is missing", where=str(file), hint=_LOST)
    return _read_vouched(file, status, "metrics_sha256")


def _read_provenance(directory: Path, status: Json) -> Json:
    file = directory / "provenance.json"
    provenance = _parse_object(read_text(file), str(file), "not the provenance of a run")
    _read_vouched(file, status, "provenance_sha256")
    return provenance


def read_text(file: Path) -> str:
    if file.exists() and not file.is_file():
        raise Error("not a regular file", where=str(file), hint=_DAMAGED)  # a pipe would be waited for
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        raise Error("it is missing", where=str(file), hint=_LOST) from None
    except UnicodeDecodeError as problem:
        raise Error("not text", where=str(file), value=f"byte {problem.start} is not UTF-8", hint=_DAMAGED) from None
    except OSError as problem:
        raise Error("the file cannot be read", where=str(file), value=problem.strerror or "") from None


def _parse_object(text: str, where: str, otherwise: str) -> Json:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as problem:  # the latter by brackets in brackets without end
        raise Error("not valid JSON", where=where, value=str(problem), hint=_DAMAGED) from None
    if not isinstance(parsed, dict):
        raise Error(otherwise, where=where, hint=_DAMAGED)
    return parsed


def _parse_toml(text: str, file: Path) -> Json:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        parsed: Json = tomllib.loads(text)
        return parsed
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise Error("not valid TOML", where=str(file), value=str(problem), hint=_DAMAGED) from None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
