"""The memory of real runs beside what a dry run estimates.

    python3 bench/run_memory.py PROGRAM [--dataset cifar10]

For each network and method the estimate of `sweep --dry-run`, and the peak of a short run with one thread. The dataset is
read whole, whatever part of it is trained on."""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

RUNS = (("mlp", "nag", 128), ("alexnet", "b-svrg", 500), ("resnet32", "bp-svrg", 128), ("vgg11", "nag", 128),
        ("vgg11", "bp-svrg", 128), ("densenet", "bp-svrg", 64))


def estimated_mebibytes(program, spec):
    plan = subprocess.run([program, "sweep", spec, "--dry-run", "--json", "--quiet"], check=True, capture_output=True)
    return json.loads(plan.stdout)["runs"][0]["estimated_bytes"] / 2**20


def peak_mebibytes(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--dataset", default="cifar10")
    options = parser.parse_args()
    for model, method, batch in RUNS:
        config = {"dataset": options.dataset, "model": model, "method": method, "inner_batch": batch, "lr": 0.01,
                  "train_limit": 2000, "test_limit": 1000, "epochs": 1}
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in config.items())
        with tempfile.TemporaryDirectory() as scratch:
            spec = pathlib.Path(scratch, "spec.toml")
            spec.write_text(f'title = "one run"\n[base]\n{lines}')
            estimate = estimated_mebibytes(options.program, spec)
            config_file = pathlib.Path(scratch, "config.toml")
            config_file.write_text(lines)
            used = peak_mebibytes([options.program, "train", "--config", config_file, "--threads", "1", "--quiet"])
        print(f"{model} ({method}, b = {batch}): {estimate:.0f} MiB estimated, {used:.0f} MiB used", flush=True)


main()
