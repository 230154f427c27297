"""Values of a config as text, which is how runs are told apart."""

from __future__ import annotations

from batchplus.store import Json

# Keys of data and network: what a method is given to do.
TASK = frozenset({"dataset", "train_limit", "test_limit", "validation", "split_seed", "augment", "cutout", "mixup",
                  "normalize", "sampling", "model", "dropout", "normalization", "init", "kernels", "kernels_revision"})
# Keys that do not decide a run's result.
INCIDENTAL = frozenset({"data_dir", "checkpoint_every", "out", "save_weights"})
# Keys that a run's config has only where they are set.
OPTIONAL = frozenset({"data_dir", "dropout", "init", "coefficient", "update_rule", "beta1", "beta2", "epsilon", "outer_batch",
                      "epochs", "budget_epochs", "warmup_lr", "metrics", "metrics_samples", "sharpness_eta", "pl_constant",
                      "out", "save_weights"})
# Keys that older runs do not have, with the value that all runs had before.
YOUNGER = {"kernels": "aten", "kernels_revision": "1", "normalization": "batch", "cutout": "0", "mixup": "0",
            "label_smoothing": "0", "average": "0", "local_batch_norm": "0"}


def config_text(config: Json, key: str) -> str:
    """A value of a config as text; empty when it is not set."""
    if key == "kernels_revision" and config.get("kernels", "aten") == "aten":
        return YOUNGER[key]  # libtorch's kernels have no revisions
    if key not in config:
        return YOUNGER.get(key, "")
    value = config[key]
    if isinstance(value, float):
        text = repr(value)
        return text[:-2] if text.endswith(".0") else text
    return str(value)


def result_config(config: Json) -> dict[str, str]:
    """All that decides the result, as text."""
    keys = (config.keys() | YOUNGER.keys()) - INCIDENTAL
    return {key: config_text(config, key) for key in sorted(keys)}
