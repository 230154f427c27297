"""A plain PyTorch loop, and the same loop with BP-SVRG.

    PYTHONPATH=python python3 examples/python/bp_svrg_loop.py [--epochs N] [--coefficient C]

Both train one small network with BatchNorm and dropout on made-up pictures, from the same weights, and spend the same
number of gradient evaluations: BP-SVRG takes 3 for 2 steps, so the plain loop gets 1.5 times the epochs. It prints what
came of both; expect both near 85 %. This is a demonstration of the loop and says nothing about which one is better.
"""

import argparse
import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from batchplus.optim import OuterBatches, SignedSVRG


def train_plain(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    return epochs * len(loader)


def train_bp_svrg(model, loader, epochs, lr, coefficient):
    optimizer = SignedSVRG(model.parameters(), lr=lr, coefficient=coefficient)  # changed

    def compute(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    for _ in range(epochs):
        for batches in OuterBatches(loader, inner_batches=2):  # changed
            optimizer.step(batches.closures(compute))  # changed
    return optimizer.gradient_evaluations


def make_pictures(count, seed):
    """Each class is a pattern of its own under noise."""
    patterns = torch.randn(10, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=random)
    return patterns[labels] + 3 * torch.randn(count, 1, 12, 12, generator=random), labels


def make_network():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Dropout(0.2), nn.Linear(16 * 36, 10))


@torch.no_grad()
def test_accuracy(model, images, labels):
    return 100 * (model.eval()(images).argmax(1) == labels).float().mean().item()


def main():
    arguments = argparse.ArgumentParser(description="a plain loop beside one with BP-SVRG")
    arguments.add_argument("--epochs", type=int, default=10, help="of BP-SVRG; even")
    arguments.add_argument("--coefficient", type=float, default=1.0, help="c: 1 is BP-SVRG, -1 is B-SVRG")
    options = arguments.parse_args()
    torch.manual_seed(1)
    loader = DataLoader(TensorDataset(*make_pictures(2048, seed=1)), batch_size=32, shuffle=True)
    test = make_pictures(2000, seed=2)
    start = make_network()
    for name, train in (("plain", lambda model: train_plain(model, loader, options.epochs * 3 // 2, 0.05)),
                        (f"c = {options.coefficient:g}",
                         lambda model: train_bp_svrg(model, loader, options.epochs, 0.05, options.coefficient))):
        model = copy.deepcopy(start).train()
        evaluations = train(model)
        print(f"{name:8s} {evaluations:5g} gradient evaluations  test accuracy {test_accuracy(model, *test):.1f} %")


if __name__ == "__main__":
    main()
