"""SignedSVRG beside the program: from the same weights, over the same batches of Fashion-MNIST, the same trajectory.

The yardstick is SignedSVRG in float64. In float32 both it and the program must end near that, and the program at most 4
times as far as the farthest float32 run of PyTorch on the same network: a ReLU whose input is nearly zero may open in one
run and not in another, after which both are as good (tests/fixtures/replay_live.py has the same rule).
"""

import copy
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from conftest import lacking  # noqa: E402
from networks import FASHION, Mlp, SmallCnn, fashion, largest_difference  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import batchplus  # noqa: E402
from batchplus.optim import OuterBatches, SignedSVRG  # noqa: E402

SAMPLES, INNER, LR, DECAY, EPOCHS = 400, 32, 0.05, 5e-4, 2
# name: options of the program, settings of SignedSVRG, K. 400 = 12 * 32 + 16: the pass does not divide.
CASES = {
    "sgd": ({"method": "sgd"}, {}, 1),
    "nag": ({"method": "nag"}, {"momentum": 0.9, "nesterov": True}, 1),
    "b-svrg": ({"method": "b-svrg", "outer_batch": 64}, {"coefficient": -1.0}, 2),
    "bp-svrg": ({"method": "bp-svrg", "outer_batch": 64}, {"coefficient": 1.0}, 2),
    "c = 2": ({"method": "bp-svrg", "outer_batch": 64, "coefficient": 2}, {"coefficient": 2.0}, 2),
    # 12 inner batches in outer ones of 5: the last one is of 2 and the 16 samples that remain.
    "K = 5": ({"method": "bp-svrg", "outer_batch": 160}, {"coefficient": 1.0}, 5),
    "nesterov": ({"method": "bp-svrg", "outer_batch": 64, "update_rule": "nesterov", "momentum": 0.8},
                 {"coefficient": 1.0, "momentum": 0.8, "nesterov": True}, 2),
}


@pytest.fixture(scope="module")
def data():
    if not FASHION.exists():
        lacking("fashion-mnist", "install dataset-fashion-mnist")
    return fashion(SAMPLES)


def network(name):
    torch.manual_seed(1)
    return Mlp(784, 100, 10) if name == "mlp" else SmallCnn(1, 28, 10, 32, 128)


def ours(start, case, data, dtype):
    _, settings, K = CASES[case]
    model = copy.deepcopy(start).to(dtype)
    optimizer = SignedSVRG(model.parameters(), LR, weight_decay=DECAY, **settings)

    def compute(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data[0].to(dtype), data[1]), batch_size=INNER)
    for _ in range(EPOCHS):
        for batches in OuterBatches(loader, K):
            optimizer.step(batches.closures(compute))
    return model.state_dict(), optimizer


def programs(start, name, case, folder):
    options, _, _ = CASES[case]
    torch.save(start.state_dict(), folder / "init.pt")
    dropout = {"dropout": 0} if name == "smallcnn" else {}
    result = batchplus.train(
        dataset="fashion-mnist", train_limit=SAMPLES, test_limit=100, sampling="sequential", augment="none", model=name,
        lr=LR, weight_decay=DECAY, inner_batch=INNER, epochs=EPOCHS, init=folder / "init.pt",
        save_weights=folder / "saved.pt", quiet=True, threads=1, **options, **dropout)
    return torch.load(folder / "saved.pt"), result


@pytest.mark.parametrize("name", ["mlp", "smallcnn"])
def test_trajectories_equal_the_programs(program, data, name, tmp_path):
    start = network(name)
    exact, theirs, rounding = {}, {}, 0.0
    for case in CASES:
        exact[case], optimizer = ours(start, case, data, torch.float64)
        rounded, _ = ours(start, case, data, torch.float32)
        theirs[case], result = programs(start, name, case, tmp_path)
        assert list(theirs[case]) == list(exact[case])
        for count in ("gradient_evaluations", "outer_steps", "inner_steps"):
            assert getattr(optimizer, count) == result[count], (case, count)
        rounding = max(rounding, largest_difference(rounded, exact[case]))
    distances = {case: largest_difference(theirs[case], exact[case]) for case in CASES}
    moved = {case: largest_difference(theirs[case], start.state_dict()) for case in CASES}
    print(name, "float32 of PyTorch:", rounding, "the program:", distances)
    for case in CASES:
        assert distances[case] <= 4 * rounding, (case, distances[case], rounding)
        assert moved[case] > 1000 * rounding
        for other in CASES:
            # Were they not told apart, the comparison would show nothing.
            assert other == case or largest_difference(exact[case], exact[other]) > 100 * rounding, (case, other)
