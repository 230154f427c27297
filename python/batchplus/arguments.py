"""Keywords as options of the program's command line. Nothing that is given can take the place of something else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from batchplus.errors import Error

# Options without a value, which every command has, and which one has; all others take a value.
_FLAGS_OF_ALL = frozenset({"json", "quiet"})
FLAGS = {
    "train": _FLAGS_OF_ALL | {"resume", "tensorboard"},
    "sweep": _FLAGS_OF_ALL | {"dry_run", "no_calibration", "open", "requeue", "retry_failed", "slurm", "watch"},
    "measure": _FLAGS_OF_ALL | {"per_layer"},
    "report": _FLAGS_OF_ALL | {"no_figures"},
}


def arguments_of(command: str, options: Mapping[str, Any]) -> list[str]:
    """Flags and --json first, then each value in one piece with its option, so that no option can take the next one."""
    flags = {"json"}
    values: list[str] = []
    for key, value in options.items():
        name = key.strip("_")
        if value is None:
            continue
        if name in FLAGS[command]:
            if _require_flag(key, value):
                flags.add(name)
        elif isinstance(value, Mapping):
            if name != "set":
                raise Error("this option takes no dict", where=key, value=repr(value), hint='set={"epochs": 2} does')
            values += [f"--set={setting}={_text(one, setting)}" for setting, one in value.items()]
        else:
            values.append(f"{_option(name)}={_value(command, key, value)}")
    return [_option(name) for name in sorted(flags)] + values


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _require_flag(key: str, value: Any) -> bool:
    """Whether it is given."""
    if not _is_bool(value):
        raise Error("this option takes no value", where=key, value=repr(value), hint=f"{key}=True gives it, None or False does not")
    if key.strip("_") == "json" and not value:
        raise Error("the result is read as JSON", where=key, value=repr(value), hint="leave it out")
    return bool(value)


def _value(command: str, key: str, value: Any) -> str:
    if not _is_bool(value):
        return _text(value, key)
    if key == "help":
        raise Error("the help is no result", where=key, hint=f"batchplus {command} --help shows it in a shell")
    hint = "None leaves it out, and the program's default applies; 'none' or 0 switches off what can be switched off"
    raise Error("this option takes a value", where=key, value=repr(value),
                hint=hint if not value else "without a value are: " + ", ".join(sorted(FLAGS[command])))


def _text(value: Any, key: str) -> str:
    if getattr(value, "ndim", 0):
        value = value.tolist()  # an array
    if isinstance(value, (list, tuple)):
        return ",".join(_text(one, key) for one in value)
    if _is_bool(value):
        return str(value).lower()
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, str) or hasattr(value, "__float__"):
        return str(value)
    raise Error("not a value of an option", where=key, value=repr(value),
                hint="text, a number, a path, or a list of these, which is joined by commas")


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # numpy's own kind
