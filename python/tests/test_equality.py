"""SignedSVRG beside the program: from the same weights, over the same batches of Fashion-MNIST, the same trajectory.

SignedSVRG runs in float64, the program in float32. The program has the same bits on every machine (docs/bits.md), and
float64 differs between machines in digits that do not matter here, so the distance is the same everywhere: at most 3.3e-7,
where steps moved weights by more than 0.01. A ReLU whose input is nearly zero may open in one precision and not in the other, after
which both runs are as good and 1e-4 apart. The seed of the weights is one with which that does not happen; should kernels
of another revision make it happen, another seed is as good.
"""

import copy

import pytest

torch = pytest.importorskip("torch")

from conftest import lacking  # noqa: E402
from networks import FASHION, Mlp, SmallCnn, fashion, largest_difference  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import batchplus  # noqa: E402
from batchplus.optim import OuterBatches, SignedSVRG  # noqa: E402

SAMPLES, INNER, DECAY, EPOCHS, SEED = 176, 32, 5e-4, 2, 3
LR = {"mlp": 0.1, "smallcnn": 0.02}
# Three times the largest distance seen: a few float32 roundings of numbers near 1, which are 6e-8 each.
TOLERANCE = 1e-6
# name: options of the program, settings of SignedSVRG, K. 176 = 5 * 32 + 16: no pass divides.
CASES = {
    "sgd": ({"method": "sgd"}, {}, 1),
    "nag": ({"method": "nag"}, {"momentum": 0.9, "nesterov": True}, 1),
    "b-svrg": ({"method": "b-svrg", "outer_batch": 64}, {"coefficient": -1.0}, 2),
    "bp-svrg": ({"method": "bp-svrg", "outer_batch": 64}, {"coefficient": 1.0}, 2),
    "c = 2": ({"method": "bp-svrg", "outer_batch": 64, "coefficient": 2}, {"coefficient": 2.0}, 2),
    # Inner batches 1 to 4, then the fifth with the 16 samples that remain in its mu.
    "K = 4": ({"method": "bp-svrg", "outer_batch": 128}, {"coefficient": 1.0}, 4),
    "nesterov": ({"method": "bp-svrg", "outer_batch": 64, "update_rule": "nesterov", "momentum": 0.8},
                 {"coefficient": 1.0, "momentum": 0.8, "nesterov": True}, 2),
}


@pytest.fixture(scope="module")
def data():
    if not FASHION.exists():
        lacking("fashion-mnist", "install dataset-fashion-mnist")
    return fashion(SAMPLES)


def network(name):
    torch.manual_seed(SEED)
    return Mlp(784, 100, 10) if name == "mlp" else SmallCnn(1, 28, 10, 32, 128)


def ours(start, name, case, data):
    _, settings, K = CASES[case]
    model = copy.deepcopy(start).double()
    optimizer = SignedSVRG(model.parameters(), LR[name], weight_decay=DECAY, **settings)

    def compute(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data[0].double(), data[1]), batch_size=INNER)
    for _ in range(EPOCHS):
        for batches in OuterBatches(loader, K):
            optimizer.step(batches.closures(compute))
    return model.state_dict(), optimizer


def weights(state):
    return {name: value for name, value in state.items() if name.endswith("weight")}


def programs(start, name, case, folder):
    options, _, _ = CASES[case]
    torch.save(start.state_dict(), folder / "init.pt")
    dropout = {"dropout": 0} if name == "smallcnn" else {}
    result = batchplus.train(
        dataset="fashion-mnist", train_limit=SAMPLES, test_limit=100, sampling="sequential", augment="none", model=name,
        lr=LR[name], weight_decay=DECAY, inner_batch=INNER, epochs=EPOCHS, init=folder / "init.pt",
        save_weights=folder / "saved.pt", quiet=True, threads=1, **options, **dropout)
    return torch.load(folder / "saved.pt"), result


@pytest.mark.parametrize("name", ["mlp", "smallcnn"])
def test_trajectories_equal_the_programs(program, data, name, tmp_path):
    start = network(name)
    exact, distances = {}, {}
    for case in CASES:
        exact[case], optimizer = ours(start, name, case, data)
        theirs, result = programs(start, name, case, tmp_path)
        assert list(theirs) == list(exact[case])
        for count in ("gradient_evaluations", "outer_steps", "inner_steps"):
            assert getattr(optimizer, count) == result[count], (case, count)
        distances[case] = largest_difference(theirs, exact[case])
        assert largest_difference(weights(theirs), weights(start.state_dict())) > 0.01
    print(name, distances)
    assert max(distances.values()) < TOLERANCE, distances
    for case in CASES:
        for other in CASES:
            # Were methods not told apart, the comparison would show nothing.
            assert other == case or largest_difference(exact[case], exact[other]) > 100 * TOLERANCE, (case, other)
