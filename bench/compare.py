"""Interleaved comparisons in one run: BatchPlus against the same loop in PyTorch, and the data pipeline.

    python3 bench/compare.py WORKER_BINARY [--threads 2] [--rounds 15]

The machine may be shared and noisy, so every number is a ratio of two measurements that alternate, given as the
median over the rounds with the smallest and largest."""

import argparse

import torch

from ratios import Process, ratios, spread
from torch_loops import sgd_seconds


class PyTorchMlp:
    """The same sgd loop in PyTorch. It takes its batches from tensors that are ready, or assembles them from bytes in
    random order as BatchPlus does."""

    def __init__(self, batch, is_assembling):
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 100), torch.nn.ReLU(),
                                         torch.nn.Linear(100, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.bytes, self.labels = torch.randint(0, 256, (10000, 3, 32, 32), dtype=torch.uint8), torch.randint(0, 10, (10000,))
        self.images = self.bytes.float().div(255).sub(0.5).div(0.25)
        self.order = torch.randperm(10000)
        self.batch, self.is_assembling = batch, is_assembling

    def next_batch(self, begin):
        if not self.is_assembling:
            return self.images[begin:begin + self.batch], self.labels[begin:begin + self.batch]
        chosen = self.order[begin:begin + self.batch]
        return self.bytes[chosen].float().div_(255).sub_(0.5).div_(0.25), self.labels[chosen]

    def seconds(self, steps):
        batches = len(self.labels) // self.batch
        return sgd_seconds(self.model, self.optimiser, lambda step: self.next_batch(step % batches * self.batch), steps)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    print("sgd steps per second on mlp, BatchPlus (which assembles its batches from bytes) over the same loop in PyTorch:")
    for batch, steps in ((10, 300), (128, 100)):
        for is_assembling in (True, False):
            worker = Process([options.worker, "mlp", str(batch), str(options.threads)])
            pytorch = PyTorchMlp(batch, is_assembling)
            quotients, ours, theirs = ratios(lambda: worker.seconds("sgd", steps), lambda: pytorch.seconds(steps),
                                             options.rounds)
            what = "assembling too" if is_assembling else "on ready tensors"
            print(f"  b = {batch:3d}, PyTorch {what:16s}  {spread(quotients)}, {steps / ours:.0f} and"
                  f" {steps / theirs:.0f} steps/s", flush=True)

    print("Data pipeline with augmentation, bp-svrg with b = 128: share of a step spent waiting for batches, in percent; and time of a step"
          " without the pipeline over time with it:")
    for model, steps in (("mlp", 100), ("smallcnn", 10), ("resnet32", 2)):
        worker = Process([options.worker, model, "128", str(options.threads)])
        shares = []

        def with_pipeline():
            seconds, waited = worker.numbers("augmented:bp-svrg", steps)
            shares.append(100 * waited / seconds)
            return seconds

        quotients, ours, _ = ratios(with_pipeline, lambda: worker.seconds("sync:augmented:bp-svrg", steps), min(options.rounds, 15))
        print(f"  {model:9s} waiting {spread(shares)} %; without over with {spread(quotients)}, {1e3 * ours / steps:.2f} ms"
              " a step", flush=True)


main()
