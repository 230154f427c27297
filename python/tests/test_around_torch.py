"""SignedSVRG among what else torch has: schedulers, copies, pickles, hooks, frozen layers, compiled models."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

from networks import closures_of, largest_difference, made_up, small_cnn, state_of  # noqa: E402

from batchplus.optim import SignedSVRG  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.optim import lr_scheduler  # noqa: E402

SCHEDULERS = {
    "OneCycleLR": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=9),  # moves the momentum as well
    "CyclicLR": lambda optimizer: lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, step_size_up=2),
    "CosineAnnealingLR": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 5),
    "CosineAnnealingWarmRestarts": lambda optimizer: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2),
    "LambdaLR": lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step),
    "ReduceLROnPlateau": lambda optimizer: lr_scheduler.ReduceLROnPlateau(optimizer, patience=1),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_do_to_it_what_they_do_to_sgd(name):
    """K = 1 is SGD."""
    images, labels = made_up(48)
    ours, theirs = small_cnn(), small_cnn()
    optimizer = SignedSVRG(ours.parameters(), 0.1, coefficient=3.0, momentum=0.9)
    sgd = torch.optim.SGD(theirs.parameters(), 0.1, momentum=0.9)
    schedulers = [SCHEDULERS[name](each) for each in (optimizer, sgd)]
    rates = set()
    for mine, its in zip(closures_of(ours, images, labels, 8), closures_of(theirs, images, labels, 8)):
        optimizer.step([mine])
        sgd.zero_grad()
        its()
        sgd.step()
        for scheduler in schedulers:
            scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
        rates.add(optimizer.param_groups[0]["lr"])
    assert largest_difference(state_of(ours), state_of(theirs)) < 1e-12
    assert len(rates) > 1


def through_pickle(pair):
    return pickle.loads(pickle.dumps(pair))


@pytest.mark.parametrize("copied", [copy.deepcopy, through_pickle])
@pytest.mark.parametrize("mode", ["cache", "recompute"])
def test_copies_go_on_by_themselves_as_the_original_does(copied, mode):
    images, labels = made_up(24)
    model = small_cnn()
    optimizer = SignedSVRG(model.parameters(), 0.1, 2.0, momentum=0.9, modules=model, snapshot_gradients=mode)
    lr_scheduler.StepLR(optimizer, 1)  # wraps step()
    optimizer.step(closures_of(model, images, labels, 8))
    other_model, other = copied((model, optimizer))
    before = state_of(other_model)
    optimizer.step(closures_of(model, images, labels, 8))
    assert largest_difference(state_of(other_model), before) == 0
    other.step(closures_of(other_model, images, labels, 8))
    assert largest_difference(state_of(other_model), state_of(model)) == 0
    assert other.gradient_evaluations == optimizer.gradient_evaluations > 0


def test_frozen_parameters_stay():
    images, labels = made_up(16)
    model = small_cnn()
    model.conv1.requires_grad_(False)
    before = state_of(model)
    SignedSVRG(model.parameters(), 0.1, momentum=0.9, weight_decay=0.1).step(closures_of(model, images, labels, 8))
    assert torch.equal(model.conv1.weight, before["conv1.weight"])
    assert not torch.equal(model.conv2.weight, before["conv2.weight"])


class Experts(torch.nn.Module):
    """Each sample goes to one of four layers: which have gradients depends on the weights, from step to step."""

    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(6, 4)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(6, 3) for _ in range(4))

    def forward(self, x):
        share, chosen = self.gate(x).softmax(1).max(1)
        out = torch.zeros(len(x), 3, dtype=x.dtype)
        for number, expert in enumerate(self.experts):
            if (chosen == number).any():
                out[chosen == number] = share[chosen == number, None] * expert(x[chosen == number])
        return out


def plain_loop(model, batches, lr, c):
    """v = g_t(w_{t-1}) + c (g_t(w) - mu), with zero for what has no gradient. Counts the gradients of what had none at w."""

    def gradient(x, y):
        found = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()), allow_unused=True)
        return [torch.zeros_like(p) if g is None else g for p, g in zip(model.parameters(), found)], [g is not None for g in found]

    at_snapshot = [gradient(*batch) for batch in batches]
    mu = [sum(each) / len(batches) for each in zip(*(gradients for gradients, _ in at_snapshot))]
    is_known = [any(each) for each in zip(*(used for _, used in at_snapshot))]
    late = 0
    for batch, (control, _) in zip(batches, at_snapshot):
        here, used = gradient(*batch)
        late += sum(now and not before for now, before in zip(used, is_known))
        with torch.no_grad():
            for p, g, snapshot, mean in zip(model.parameters(), here, control, mu):
                p -= lr * (g + c * (snapshot - mean))
    return late


@pytest.mark.parametrize("mode", ["cache", "recompute"])
def test_a_parameter_that_is_first_used_behind_the_snapshot_steps_by_its_gradient(mode):
    late = 0
    for seed in range(4):
        torch.manual_seed(seed)
        ours = Experts().double()
        theirs = copy.deepcopy(ours)
        images, labels = torch.randn(64, 6, dtype=torch.float64), torch.randint(3, (64,))
        optimizer = SignedSVRG(ours.parameters(), 0.5, 1.5, modules=ours, snapshot_gradients=mode)
        for i in range(0, 60, 4):
            optimizer.step(closures_of(ours, images[i:i + 4], labels[i:i + 4], 2))
            late += plain_loop(theirs, [(images[j:j + 2], labels[j:j + 2]) for j in (i, i + 2)], 0.5, 1.5)
        # Sums in another order in double precision, over 30 steps that move weights by about 1.
        assert largest_difference(state_of(ours), state_of(theirs)) < 1e-12
    assert late > 5  # or it would show nothing


def test_closures_may_clear_gradients_themselves_and_return_nothing():
    images, labels = made_up(24)
    ends, losses = [], []
    for is_tidy in (True, False):
        model = small_cnn()
        optimizer = SignedSVRG(model.parameters(), 0.1, 2.0)

        def tidy(compute):
            optimizer.zero_grad()
            compute()

        closures = closures_of(model, images, labels, 8)
        for _ in range(2):
            losses.append(optimizer.step([lambda f=f: tidy(f) for f in closures] if is_tidy else closures))
        ends.append(state_of(model))
    assert largest_difference(*ends) == 0
    assert losses[:2] == [None, None] and losses[2].item() > losses[3].item()


def test_what_is_no_loss_is_refused_before_anything_moves():
    images, labels = made_up(16)
    model = small_cnn()
    optimizer = SignedSVRG(model.parameters(), 0.1)
    closures = closures_of(model, images, labels, 8)
    before = model.conv1.weight.detach().clone()
    with pytest.raises(TypeError, match="a closure returned a tuple"):
        optimizer.step([lambda f=f: (f(), "outputs") for f in closures])
    assert torch.equal(model.conv1.weight, before)
    assert optimizer.step([lambda f=f: f().item() for f in closures]).item() > 0


class ReplacesItsBuffer(torch.nn.Module):
    """Counts its calls in a buffer that it makes anew, where BatchNorm changes its own in place."""

    def __init__(self):
        super().__init__()
        self.inner = small_cnn()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls = self.calls + 1
        return self.inner(x)


def test_a_recomputation_puts_replaced_buffers_back():
    images, labels = made_up(24)
    calls = {}
    for mode in ("cache", "recompute"):
        model = ReplacesItsBuffer()
        SignedSVRG(model.parameters(), 0.1, modules=model, snapshot_gradients=mode).step(closures_of(model, images, labels, 8))
        calls[mode] = model.calls.item()
    assert calls == {"cache": 5, "recompute": 5}


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="torch before 2.0 compiles no models")
@pytest.mark.parametrize("mode", ["cache", "recompute"])
def test_a_compiled_model_takes_the_same_path(mode):
    images, labels = made_up(24)
    ends = []
    for is_compiled in (False, True):
        model = small_cnn()
        called = torch.compile(model) if is_compiled else model
        optimizer = SignedSVRG(called.parameters(), 0.1, 2.0, momentum=0.9, modules=called, snapshot_gradients=mode)
        for _ in range(2):
            optimizer.step(closures_of(called, images, labels, 8))
        ends.append(state_of(model))
    assert largest_difference(*ends) < 1e-12  # sums in another order


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="torch before 2.0 compiles no models")
def test_a_compiled_model_drops_the_same_out_again():
    images, labels = made_up(24)
    ends = []
    for mode in ("cache", "recompute"):
        model = small_cnn(dropout=0.5)
        torch.manual_seed(11)
        called = torch.compile(model)
        SignedSVRG(called.parameters(), 0.1, 2.0, modules=called, snapshot_gradients=mode).step(
            closures_of(called, images, labels, 8))
        ends.append(state_of(model))
    assert largest_difference(*ends) < 1e-12


@pytest.mark.skipif(not hasattr(torch.optim.Optimizer, "register_step_post_hook"), reason="torch before 2.0 has no hooks")
def test_hooks_of_a_step_are_called_once_an_outer_batch():
    images, labels = made_up(16)
    model = small_cnn()
    optimizer = SignedSVRG(model.parameters(), 0.1)
    calls = []
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))
    optimizer.step(closures_of(model, images, labels, 8))
    assert calls == ["before", "after"]


def test_gradients_are_clipped_one_by_one():
    """What a closure does to its gradients is done to each g_t, at w and at w_{t-1}."""
    w = torch.nn.Parameter(torch.tensor([2.0], dtype=torch.float64))

    def closure_of(slope):
        def closure():
            (slope * w * w / 2).sum().backward()
            torch.nn.utils.clip_grad_value_([w], 1.0)

        return closure

    SignedSVRG([w], 0.1).step([closure_of(3.0), closure_of(0.25)])
    # g = (1, 0.5) at w = 2, mu = 0.75; w_1 = 2 - 0.1 * 1.25; v_2 = 0.25 w_1 + 0.5 - 0.75.
    w1 = 2 - 0.1 * (1 + 0.25)
    assert w.item() == pytest.approx(w1 - 0.1 * (0.25 * w1 - 0.25), rel=1e-15)
