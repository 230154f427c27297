"""Preparing training samples on one core: against torchvision's transforms, and against the memory's limit.

    python3 bench/compare_data.py WORKER_BINARY [--rounds 15]

Every number is a ratio of two measurements that alternate, given as the median with the smallest and largest."""

import argparse
import time

import numpy as np
import torch
from PIL import Image
from torchvision import transforms

from ratios import Process, ratios, spread


class Torchvision:
    """RandomCrop, RandomHorizontalFlip, ToTensor, Normalize on each image, as its CIFAR-10 dataset does."""

    def __init__(self):
        torch.manual_seed(1)
        self.images = np.random.default_rng(1).integers(0, 256, (2000, 32, 32, 3), dtype=np.uint8)
        self.transform = transforms.Compose([
            transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))])

    def seconds(self, samples):
        start = time.perf_counter()
        for begin in range(0, samples, 256):
            torch.stack([self.transform(Image.fromarray(image)) for image in self.images[begin:begin + 256]])
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    worker = Process([options.worker])
    ours, theirs = 51200, 1024

    print("Augmented, normalised samples per second on one core:")
    torchvision = Torchvision()
    for what in ("augmented", "channels-last"):
        quotients, a, b = ratios(lambda: worker.seconds(what, ours) / ours, lambda: torchvision.seconds(theirs) / theirs,
                                 options.rounds)
        print(f"  {what:14s} {1 / a:9.0f}/s, torchvision {1 / b:6.0f}/s: {spread(quotients)} times as many", flush=True)

    print("The same against moving the bytes alone (3 KiB read, 12 KiB written a sample), in percent of that rate:")
    for what in ("augmented", "channels-last", "plain"):
        quotients, a, b = ratios(lambda: worker.seconds(what, ours), lambda: worker.seconds("limit", ours), options.rounds)
        print(f"  {what:14s} {spread([100 * q for q in quotients])} %, limit {ours / b * 15360 / 1e9:.1f} GB/s", flush=True)


main()
