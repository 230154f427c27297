"""Runs and their records as pandas DataFrames."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from batchplus.config_values import OPTIONAL
from batchplus.errors import Error
from batchplus.quantities import recorded_value
from batchplus.store import Json, PathLikes, Run, find_runs, read_run

if TYPE_CHECKING:
    import pandas

# The config has these too: what was asked for. Of the result they are called final_lr and final_epochs.
_ALSO_IN_CONFIG = ("lr", "epochs")
_NO_RESULT = ("format_version", "status", "config_sha256", "metrics_sha256", "provenance_sha256",
              "weights_file_sha256")
_PROVENANCE = ("batchplus", "commit", "libtorch", "processor", "instruction_set", "device", "started")
# Numbers that are text in config.toml, because they may also be words: "linear:-0.5", "all".
_NUMBERS_AS_TEXT = ("coefficient", "outer_batch")


def runs(paths: PathLikes, *, damaged: str = "raise") -> pandas.DataFrame:
    """One row a run: `run` (its directory), `id`, `status`, its config, its result, and where it was computed.

    `paths` names run directories, or directories that hold some, at any depth. All checksums are verified; a file that
    is damaged raises an Error that names it, or with damaged="warn" its run is left out with a warning. Measured
    quantities are two columns, `name` and `name_se` (standard error, where there is one). `lr` and `epochs` are the
    config's; those of the result are `final_lr` and `final_epochs`.
    """
    pandas = _pandas()
    table = pandas.DataFrame([_row_of(run) for run in read_all(paths, damaged)])
    for name in _NUMBERS_AS_TEXT:
        if name in table:
            table[name] = _numbers_if_all_are(table[name])
    return table


def records(paths: PathLikes, *, config: Sequence[str] = (), details: bool = False,
            damaged: str = "raise") -> pandas.DataFrame:
    """One row a record of metrics.jsonl: `run`, `id`, then `epoch`, counters, losses and metrics.

    A metric is two columns, `name` and `name_se` (standard error, where there is one); `train_loss` and
    `train_accuracy` in evaluation mode, which stand beside the gaps, get columns too. `config` names keys of the config
    to put beside each record, as in config=["method", "seed"]; one that records have too is called config_NAME.
    details=True adds whatever else a metric says of itself, as `name_detail`.
    """
    pandas = _pandas()
    config = [config] if isinstance(config, str) else list(config)
    rows: list[Json] = []
    keys: set[str] = set(OPTIONAL)
    for run in read_all(paths, damaged):
        keys |= run.config.keys()
        about = {"run": str(run.path), "id": run.id}
        for record in run.records:
            rows.append({**about, **_config_beside(record, run, config), **flatten(record, details), **_beside_gaps(record)})
    _require_keys(config, keys)
    table = pandas.DataFrame(rows) if rows else pandas.DataFrame(columns=["run", "id", *config])
    for name in _NUMBERS_AS_TEXT:
        if name in config and name in table:
            table[name] = _numbers_if_all_are(table[name])
    return table


def read_all(paths: PathLikes, damaged: str = "raise") -> Iterable[Run]:
    if damaged not in ("raise", "warn"):
        raise Error("not one of the choices", where="damaged", value=repr(damaged), hint="raise or warn")
    for path in find_runs(paths):
        try:
            run = read_run(path)
            if "metrics_sha256" not in run.status:
                run.records  # no checksum vouches for them: reads every line
        except Error as problem:
            if damaged == "raise":
                raise
            warnings.warn(f"left out, because it is damaged: {problem.where} ({problem.what})", stacklevel=3)
            continue
        yield run


def flatten(record: Json, details: bool = False) -> Json:
    """Plain values as they are; an object with a value as `name` and `name_se`."""
    flat: Json = {}
    for name, value in record.items():
        if not isinstance(value, dict):
            flat[name] = value
            continue
        flat[name] = value.get("value")
        if "standard_error" in value:
            flat[f"{name}_se"] = value["standard_error"]
        if details:
            others = value.keys() - {"value", "standard_error"}
            flat.update({f"{name}_{key}": value[key] for key in value if key in others})
    return flat


def _row_of(run: Run) -> Json:
    result = flatten({key: value for key, value in run.status.items() if key not in _NO_RESULT})
    for key in _ALSO_IN_CONFIG:
        result[f"final_{key}"] = result.pop(key, None)
    where = {key: run.provenance.get(key) for key in _PROVENANCE}
    return {"run": str(run.path), "id": run.id, "status": run.state, **run.config, **result, **where}


def _require_keys(asked: Sequence[str], keys: set[str]) -> None:
    for key in asked:
        if key not in keys:
            near = difflib.get_close_matches(key, sorted(keys), n=1)
            raise Error("no run has this key", where="config", value=str(key),
                        hint=f"did you mean '{near[0]}'?" if near else "one of: " + ", ".join(sorted(keys)))


def _config_beside(record: Json, run: Run, keys: Sequence[str]) -> Json:
    return {f"config_{key}" if key in record else key: run.config.get(key) for key in keys}


def _beside_gaps(record: Json) -> Json:
    found = {name: recorded_value(record, name) for name in ("train_loss", "train_accuracy")}
    return {name: value for name, value in found.items() if value is not None}


def _numbers_if_all_are(column: Any) -> Any:
    numbers = _pandas().to_numeric(column.replace("", None), errors="coerce")
    is_word = numbers.isna() & column.notna() & (column != "")
    return column if is_word.any() else numbers


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise Error("tables need pandas, which is not here", hint="install it: python3-pandas, or pip install pandas") from None
    return pandas
