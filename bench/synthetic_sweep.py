"""A sweep that nobody ran: directories as the program writes them, with made-up records."""

import hashlib
import json
import math
import pathlib
import random

METHODS = ("sgd", "nag", "b-svrg", "bp-svrg", "svrg")
SEEDS = 20


def config_of(method, rate, seed, records):
    return (f'dataset = "cifar10"\nmodel = "resnet32"\nmethod = "{method}"\nlr = {rate}\ninner_batch = 128\nouter_batch = 256\n'
            f"budget_epochs = {records}.0\nseed = {seed}\n")


def record_of(epoch, method, seed):
    """One line of metrics.jsonl, as long as those of a run that measures gaps and gradient norms."""
    noise = random.Random(f"{method} {seed} {epoch}").gauss(0, 0.02)
    loss = 2.2 * math.exp(-epoch / 60) + 0.05 + abs(noise)
    accuracy = 95 - 40 * math.exp(-epoch / 40) + 10 * noise
    return {"epoch": epoch, "outer_steps": 195 * epoch, "inner_steps": 390 * epoch, "gradient_evaluations": 585 * epoch,
            "sample_gradients": 50000 * epoch, "lr": 0.1, "running_loss": loss, "test_loss": loss + 0.3,
            "test_accuracy": accuracy, "seconds": 31.25 * epoch + noise, "metrics_seconds": 1.5 * epoch,
            "loss_gap": {"value": 0.3, "train_loss": loss}, "accuracy_gap": {"value": 5.0, "train_accuracy": accuracy + 5},
            "mean_squared_gradient_norm": {"value": 10 * loss, "standard_error": 0.1},
            "squared_full_gradient_norm": {"value": loss, "standard_error": 0.01},
            "gradient_variance": {"value": 9 * loss, "standard_error": 0.1}}


def line_of(*words):
    return json.dumps(record_of(*words), separators=(",", ":")) + "\n"


def checksum(text):
    return hashlib.sha256(text.encode()).hexdigest()


def write_run(directory, method, rate, seed, records, status="done"):
    directory.mkdir(parents=True)
    config = config_of(method, rate, seed, records)
    lines = "".join(line_of(epoch, method, seed) for epoch in range(1, records + 1))
    provenance = json.dumps({"commit": "synthetic", "threads": 1, "processor": "none"}) + "\n"
    last = record_of(records, method, seed)
    content = {"format_version": 2, "status": status, "updated": "2026-01-01T00:00:00Z",
               **{key: last[key] for key in ("gradient_evaluations", "seconds", "test_loss", "test_accuracy")},
               "train_loss": last["running_loss"], "train_accuracy": last["test_accuracy"] + 5,
               "config_sha256": checksum(config)}
    if status == "done":
        content["metrics_sha256"] = checksum(lines)
        content["provenance_sha256"] = checksum(provenance)
    content["checksum"] = checksum(json.dumps(content, separators=(",", ":")))
    for name, text in (("config.toml", config), ("metrics.jsonl", lines), ("provenance.json", provenance),
                       ("status.json", json.dumps(content, indent=2) + "\n")):
        pathlib.Path(directory, name).write_text(text)


def write_sweep(root, runs, records):
    """So many finished runs, in cells of up to 20 seeds. Returns their directories."""
    rates = [0.01 * (1 + i) for i in range(max(1, runs // SEEDS // len(METHODS)))]
    axes = [{"name": "learning rate", "labels": [f"{rate:.2f}" for rate in rates]}, {"name": "method", "labels": METHODS}]
    rows = []
    for i in range(runs):
        cell, seed = divmod(i, SEEDS)
        rate, method = rates[cell // len(METHODS) % len(rates)], METHODS[cell % len(METHODS)]
        name = f"{i:016x}"
        write_run(pathlib.Path(root, "runs", name), method, f"{rate:.2f}", seed + 1, records)
        rows.append({"id": name, "seed": seed + 1, "cell": {"learning rate": f"{rate:.2f}", "method": method}})
    description = {"format_version": 1, "name": "synthetic", "title": f"{runs} synthetic runs", "scale": "paper", "note": "",
                   "set": [], "report": {"tables": ["test_accuracy"], "curves": ["test_accuracy", "test_loss"],
                                         "x": "epochs", "smooth": 1, "at_loss": []},
                   "axes": axes, "runs": rows, "published": []}
    pathlib.Path(root, "sweep.json").write_text(json.dumps(description))
    return [pathlib.Path(root, "runs", row["id"]) for row in rows]
