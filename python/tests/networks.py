"""Networks and data of the tests of the optimiser. The networks and the slow reference are those of tests/fixtures."""

import gzip
import pathlib
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/fixtures"))

from reference import Mlp, Run, SmallCnn, outer_batches  # noqa: E402, F401

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


def fashion(count):
    """The first training samples of Fashion-MNIST as the program sees them: normalised images and labels."""
    pixels = gzip.decompress((FASHION / "train-images-idx3-ubyte.gz").read_bytes())[16:16 + 784 * count]
    labels = gzip.decompress((FASHION / "train-labels-idx1-ubyte.gz").read_bytes())[8:8 + count]
    images = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(count, 1, 28, 28).float() / 255
    return (images - 0.2860) / 0.3530, torch.tensor(list(labels))


def made_up(count, channels=1, side=8, classes=4, seed=7):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(count, channels, side, side, generator=generator, dtype=torch.float64)
    return images, torch.randint(classes, (count,), generator=generator)


def small_cnn(dropout=0.0, seed=3):
    torch.manual_seed(seed)
    return SmallCnn(1, 8, 4, 4, 8, dropout).double()


def state_of(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def largest_difference(a, b):
    assert a.keys() == b.keys()
    return max((a[name].double() - b[name].double()).abs().max().item() for name in a)


def closures_of(model, images, labels, b):
    def closure_of(x, y):
        def closure():
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        return closure

    return [closure_of(images[i:i + b], labels[i:i + b]) for i in range(0, len(labels), b)]


def sizes_of(count, b):
    return [min(b, count - i) for i in range(0, count, b)]


def train(model, optimizer, images, labels, B, b, epochs=1):
    for _ in range(epochs):
        for x, y in outer_batches(images, labels, B, b):
            optimizer.step(closures_of(model, x, y, b), sizes=sizes_of(len(y), b))
