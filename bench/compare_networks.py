"""Training steps of sgd against PyTorch's, each in both memory formats, all four interleaved in one run.

    python3 bench/compare_networks.py WORKER_BINARY [--threads 2] [--rounds 7] [--networks vgg11,resnet32,densenet]

BatchPlus assembles its batches from bytes; PyTorch is handed ready tensors. Its networks are those of
tests/fixtures/networks.py."""

import argparse
import pathlib
import statistics
import sys

import torch

from ratios import Process, sgd_seconds, spread

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/fixtures"))
import networks

BATCHES = {"densenet": 64, "densenet-bc": 64}
FORMATS = {"planar": torch.contiguous_format, "channels-last": torch.channels_last}


class PyTorch:
    """sgd on ready batches."""

    def __init__(self, name, batch, memory_format):
        self.model = networks.build(name, 10, seed=1).to(memory_format=memory_format).train()
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.images = torch.randn(batch, 3, 32, 32).contiguous(memory_format=memory_format)
        self.labels = torch.randint(0, 10, (batch,))

    def seconds(self, steps):
        return sgd_seconds(self.model, self.optimiser, lambda _: (self.images, self.labels), steps)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--networks", default="vgg11,resnet32,densenet")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("Seconds of an sgd step (median), BatchPlus and PyTorch in both memory formats; PyTorch's better format over"
          " BatchPlus's better one, round by round:")
    for name in options.networks.split(","):
        batch = BATCHES.get(name, 128)
        contestants = {}
        for format_name, memory_format in FORMATS.items():
            worker = Process([options.worker, name, str(batch), str(options.threads), format_name])
            contestants["ours", format_name] = lambda worker=worker: worker.seconds("sgd", 1)
            contestants["theirs", format_name] = lambda model=PyTorch(name, batch, memory_format): model.seconds(1)
        for measure in contestants.values():
            measure()
        rounds = [{key: measure() for key, measure in contestants.items()} for _ in range(options.rounds)]
        medians = {key: statistics.median(r[key] for r in rounds) for key in contestants}
        best = {who: min(FORMATS, key=lambda f: medians[who, f]) for who in ("ours", "theirs")}
        quotients = [r["theirs", best["theirs"]] / r["ours", best["ours"]] for r in rounds]
        times = ", ".join(f"{who} {f} {medians[who, f]:.3f}" for who, f in contestants)
        print(f"  {name:12s} b = {batch:3d}  {times};  {spread(quotients)}", flush=True)


main()
