"""SignedSVRG against the reference of tests/fixtures, torch.optim.SGD, closed forms, and docs/methods.md word by word."""

import contextlib
import copy
import io
import pickle
from unittest import mock

import pytest

torch = pytest.importorskip("torch")

from networks import Run, closures_of, largest_difference, made_up, outer_batches, small_cnn, state_of, train  # noqa: E402

from batchplus.optim import SignedSVRG  # noqa: E402
from torch.nn import functional as F  # noqa: E402

# Sums in another order in double precision: a few times 2^-53 a step, over some tens of steps that move weights by 0.1.
ROUNDING = 1e-12


@pytest.mark.parametrize("snapshot_gradients", ["cache", "recompute"])
@pytest.mark.parametrize("momentum, nesterov, rule", [(0, False, "plain"), (0.9, False, "heavy-ball"), (0.8, True, "nesterov")])
@pytest.mark.parametrize("c, B, b", [(1.0, 16, 8), (-1.0, 16, 8), (2.0, 24, 8), (0.5, 28, 8), (1.0, 8, 8)])
def test_equals_the_reference(c, B, b, momentum, nesterov, rule, snapshot_gradients):
    images, labels = made_up(100)  # the last outer batch is short
    ours, theirs = small_cnn(), small_cnn()
    optimizer = SignedSVRG(ours.parameters(), 0.05, c, momentum, nesterov, weight_decay=0.01, modules=ours,
                           snapshot_gradients=snapshot_gradients)
    run = Run(theirs, "bp-svrg", 0.05, momentum, weight_decay=0.01, rule=rule)
    run.coefficient = lambda progress: c
    before = state_of(ours)
    train(ours, optimizer, images, labels, B, b, epochs=2)
    for _ in range(2):
        for x, y in outer_batches(images, labels, B, b):
            run.outer_step(x, y, b, 0)
    assert largest_difference(state_of(ours), state_of(theirs)) < ROUNDING
    assert largest_difference(state_of(ours), before) > 0.01


@pytest.mark.parametrize("momentum, nesterov", [(0, False), (0.9, False), (0.9, True)])
def test_one_inner_batch_is_sgd_whatever_the_coefficient(momentum, nesterov):
    images, labels = made_up(64)
    ours, theirs = small_cnn(dropout=0.3), small_cnn(dropout=0.3)
    settings = {"lr": 0.1, "momentum": momentum, "nesterov": nesterov, "weight_decay": 0.01}
    optimizer, sgd = SignedSVRG(ours.parameters(), coefficient=3.0, **settings), torch.optim.SGD(theirs.parameters(), **settings)
    torch.manual_seed(5)
    train(ours, optimizer, images, labels, 8, 8)
    torch.manual_seed(5)
    for i in range(0, 64, 8):
        sgd.zero_grad()
        F.cross_entropy(theirs(images[i:i + 8]), labels[i:i + 8]).backward()
        sgd.step()
    assert largest_difference(state_of(ours), state_of(theirs)) < ROUNDING
    assert optimizer.gradient_evaluations == 8


class Parabolas:
    """g_t(w) = slope_t w + shift_t, given as gradients: two inner batches have a closed form."""

    def __init__(self, terms, at=2.0, dtype=torch.float64):
        self.w = torch.nn.Parameter(torch.tensor([at], dtype=dtype))
        self.calls = []
        self.closures = [self.closure_of(t, slope, shift) for t, (slope, shift) in enumerate(terms)]

    def closure_of(self, t, slope, shift):
        def closure():
            self.calls.append(t)
            self.w.grad = slope * self.w.detach() + shift
            return self.w.detach().sum()

        return closure


def test_a_pair_of_steps_ends_where_the_paper_says():
    lr, g1, g2 = 0.1, (lambda w: 3 * w + 1), (lambda w: 0.5 * w - 2)
    problem = Parabolas([(3, 1), (0.5, -2)])
    SignedSVRG([problem.w], lr).step(problem.closures)
    w1 = 2 - lr * (1.5 * g1(2) - 0.5 * g2(2))
    assert problem.w.item() == pytest.approx(2 - lr * (g1(2) + g2(w1)), rel=1e-15)


def test_weight_decay_enters_once_at_the_present_weights():
    lr, decay, c = 0.1, 0.25, 3.0
    g = [lambda w: 3 * w + 1, lambda w: 0.5 * w - 2]
    problem = Parabolas([(3, 1), (0.5, -2)])
    SignedSVRG([problem.w], lr, c, weight_decay=decay).step(problem.closures)
    mu, w = (g[0](2) + g[1](2)) / 2, 2.0
    for t in range(2):
        w -= lr * (g[t](w) + c * (g[t](2) - mu) + decay * w)
    assert problem.w.item() == pytest.approx(w, rel=1e-15)


def test_nesterov_is_v_then_w_without_dampening():
    problem, lr, beta = Parabolas([(0, 1), (0, 1)]), 0.1, 0.5
    SignedSVRG([problem.w], lr, momentum=beta, nesterov=True).step(problem.closures)
    m, w = 0.0, 2.0
    for _ in range(2):
        m = beta * m + 1
        w -= lr * (1 + beta * m)
    assert problem.w.item() == pytest.approx(w, rel=1e-15)


def test_mu_is_summed_in_double():
    # mu = (1e8 + 1 - 1e8 + 2) / 4 = 0.75; in float32 the 1 would be lost, and it would be 0.5. The steps by the large
    # gradients cancel to 0 in float32, the other two are by mu.
    problem = Parabolas([(0, 1e8), (0, 1.0), (0, -1e8), (0, 2.0)], at=0.0, dtype=torch.float32)
    SignedSVRG([problem.w], 1.0, coefficient=-1.0).step(problem.closures)
    assert problem.w.item() == -2 * 0.75


@pytest.mark.parametrize("K", [1, 2, 5])
@pytest.mark.parametrize("mode, cost", [("cache", lambda K: 2 * K - 1), ("recompute", lambda K: 3 * K - 2)])
def test_the_cost_is_what_the_methods_page_says_and_step_1_reuses_its_gradient(K, mode, cost):
    problem = Parabolas([(1, t) for t in range(K)])
    optimizer = SignedSVRG([problem.w], 0.1, modules=torch.nn.Identity(), snapshot_gradients=mode)
    optimizer.step(problem.closures)
    assert optimizer.gradient_evaluations == len(problem.calls) == cost(K)
    assert problem.calls.count(0) == 1
    assert (optimizer.outer_steps, optimizer.inner_steps) == (1, K)


def test_a_remainder_costs_its_share_and_makes_no_step():
    problem = Parabolas([(1, 0), (1, 1), (1, 2)])
    optimizer = SignedSVRG([problem.w], 0.1)
    optimizer.step(problem.closures, sizes=[8, 8, 2])
    assert optimizer.gradient_evaluations == 3.25 and optimizer.inner_steps == 2
    assert problem.calls == [0, 1, 2, 1]


def test_a_thousand_remainders_are_counted_to_the_last_digit():
    problem = Parabolas([(0, 0), (0, 0)])
    optimizer = SignedSVRG([problem.w], 0.1)
    for _ in range(500):
        optimizer.step(problem.closures, sizes=[30, 10])
    resumed = SignedSVRG([problem.w], 0.1)
    resumed.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    for _ in range(500):
        resumed.step(problem.closures, sizes=[30, 10])
    assert resumed.gradient_evaluations == 1000 * (30 + 10) / 30
    resumed.step(problem.closures, sizes=[9, 6])  # another b
    resumed.step(problem.closures[:1])
    assert resumed.gradient_evaluations == 1336 and isinstance(resumed.gradient_evaluations, int)


def test_a_state_whose_evaluations_are_a_plain_number_is_taken():
    problem = Parabolas([(0, 0), (0, 0)])
    optimizer = SignedSVRG([problem.w], 0.1)
    state = optimizer.state_dict()
    state["batchplus"] = {"gradient_evaluations": 1.5, "outer_steps": 1, "inner_steps": 1}
    optimizer.load_state_dict(state)
    assert optimizer.gradient_evaluations == 1.5
    state["batchplus"] = {"gradient_evaluations": "many"}
    with pytest.raises(ValueError, match="gradient_evaluations"):
        optimizer.load_state_dict(state)


@pytest.mark.parametrize("mode", ["cache", "recompute"])
def test_batchnorm_statistics_move_in_every_first_computation_and_no_other(mode):
    images, labels = made_up(24)
    model = small_cnn()
    SignedSVRG(model.parameters(), 0.1, modules=model, snapshot_gradients=mode).step(closures_of(model, images, labels, 8))
    assert model.bn1.num_batches_tracked.item() == 5  # 3 at the snapshot, 2 in the steps

    # By hand, at the first layer, whose inputs do not depend on anything but its own weights.
    by_hand = small_cnn()
    weights = [by_hand.conv1.weight.detach().clone()]
    watched = small_cnn()
    optimizer = SignedSVRG(watched.parameters(), 0.1)
    points = []
    closures = closures_of(watched, images, labels, 8)
    optimizer.step([lambda f=f: (points.append(watched.conv1.weight.detach().clone()), f())[1] for f in closures])
    assert torch.equal(points[0], weights[0]) and torch.equal(points[2], weights[0]) and not torch.equal(points[4], points[3])
    with torch.no_grad():
        for point, place in zip(points, (0, 1, 2, 1, 2)):
            by_hand.conv1.weight.copy_(point)
            by_hand.bn1(by_hand.conv1(images[8 * place:8 * place + 8]))
    assert torch.allclose(model.bn1.running_mean, by_hand.bn1.running_mean, rtol=0, atol=ROUNDING)
    assert torch.allclose(model.bn1.running_var, by_hand.bn1.running_var, rtol=0, atol=ROUNDING)


def test_recomputed_snapshots_give_the_bits_of_kept_ones():
    images, labels = made_up(96)
    ends = []
    for mode in ("cache", "recompute"):
        model = small_cnn(dropout=0.5)
        torch.manual_seed(11)
        optimizer = SignedSVRG(model.parameters(), 0.1, 2.0, modules=model, snapshot_gradients=mode)
        train(model, optimizer, images, labels, 24, 8)
        ends.append((state_of(model), torch.get_rng_state()))
    assert largest_difference(ends[0][0], ends[1][0]) == 0
    assert torch.equal(ends[0][1], ends[1][1])


class Watched(torch.nn.Module):
    """Keeps the masks of its dropout."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(50))
        self.masks = []

    def forward(self, x):
        mask = F.dropout(torch.ones(50), 0.5)
        self.masks.append(mask)
        return (x * self.w * mask).sum()


def test_dropout_has_one_mask_for_one_inner_batch():
    model = Watched()
    optimizer = SignedSVRG(model.parameters(), 0.1)
    torch.manual_seed(0)

    def closure():
        loss = model(torch.randn(50))
        loss.backward()
        return loss

    optimizer.step([closure] * 3)
    at_snapshot, in_steps = model.masks[:3], model.masks[3:]
    assert torch.equal(at_snapshot[1], in_steps[0]) and torch.equal(at_snapshot[2], in_steps[1])
    assert not torch.equal(at_snapshot[0], at_snapshot[1]) and not torch.equal(at_snapshot[1], at_snapshot[2])
    # The next outer batch draws anew, as if every closure had been called once.
    after = torch.rand(3)
    torch.manual_seed(0)
    for _ in range(3):
        closure()
    assert torch.equal(after, torch.rand(3))


def test_random_numbers_go_on_behind_a_remainder():
    model = Watched()

    def closure():
        model(torch.ones(50)).backward()

    torch.manual_seed(0)
    SignedSVRG(model.parameters(), 0.1).step([closure] * 3, sizes=[4, 4, 2])
    after = torch.rand(3)
    torch.manual_seed(0)
    for _ in range(3):
        closure()
    assert torch.equal(after, torch.rand(3))


def test_generators_of_gpus_are_replayed_too(monkeypatch):
    """There is none here, so it is made up: each drawn number moves its state."""
    from batchplus.optim.replay import RandomState

    states = {torch.device("cuda:0"): 5, torch.device("cuda:1"): 7}
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: states[device])
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: states.update({device: state}))
    state = RandomState([torch.device("cpu"), torch.device("cuda:0"), torch.device("cuda:1")])
    states.update({torch.device("cuda:0"): 6, torch.device("cuda:1"): 8})
    state.restore()
    assert list(states.values()) == [5, 7]


def test_every_setting_may_differ_between_groups():
    one, two = Parabolas([(3, 1), (0.5, -2)]), Parabolas([(3, 1), (0.5, -2)])
    alone = [Parabolas([(3, 1), (0.5, -2)]) for _ in range(2)]
    both = [lambda f=f, g=g: (f(), g())[1] for f, g in zip(one.closures, two.closures)]
    second = {"lr": 0.01, "coefficient": -1.0, "momentum": 0.9, "nesterov": True, "weight_decay": 0.5}
    optimizer = SignedSVRG([{"params": [one.w]}, {"params": [two.w], **second}], 0.1)
    separate = [SignedSVRG([alone[0].w], 0.1), SignedSVRG([alone[1].w], **second)]
    for _ in range(3):
        optimizer.step(both)
        for problem, single in zip(alone, separate):
            single.step(problem.closures)
    assert (one.w.item(), two.w.item()) == (alone[0].w.item(), alone[1].w.item())


def test_a_parameter_that_no_closure_uses_stays():
    used = Parabolas([(3, 1), (0.5, -2)])
    idle = torch.nn.Parameter(torch.ones(2))
    SignedSVRG([idle, used.w], 0.1, weight_decay=0.5).step(used.closures)
    assert torch.equal(idle, torch.ones(2)) and used.w.item() != 2


def test_a_saved_state_goes_on_as_if_never_saved():
    images, labels = made_up(96)
    settings = {"lr": 0.05, "momentum": 0.9, "nesterov": True}
    straight = small_cnn()
    optimizer = SignedSVRG(straight.parameters(), **settings)
    train(straight, optimizer, images[:48], labels[:48], 16, 8)
    file = io.BytesIO()
    torch.save({"model": straight.state_dict(), "optimizer": optimizer.state_dict()}, file)
    train(straight, optimizer, images[48:], labels[48:], 16, 8)

    file.seek(0)
    saved = torch.load(file)
    resumed = small_cnn(seed=99)
    resumed.load_state_dict(saved["model"])
    other = SignedSVRG(resumed.parameters(), lr=7.0)
    other.load_state_dict(saved["optimizer"])
    train(resumed, other, images[48:], labels[48:], 16, 8)
    assert largest_difference(state_of(straight), state_of(resumed)) == 0
    assert (other.gradient_evaluations, other.outer_steps, other.inner_steps) == (18, 6, 12)
    assert copy.deepcopy(other).gradient_evaluations == 18


def test_a_state_of_sgd_is_taken_and_a_foreign_one_refused():
    w = torch.nn.Parameter(torch.ones(1))
    sgd = torch.optim.SGD([w], 0.1, momentum=0.9, nesterov=True)
    w.grad = torch.tensor([4.0])
    sgd.step()
    ours = SignedSVRG([w], 1.0, coefficient=2.0)
    ours.load_state_dict(sgd.state_dict())
    assert ours.param_groups[0]["coefficient"] == 2.0 and ours.param_groups[0]["lr"] == 0.1
    assert ours.state[w]["momentum_buffer"].item() == 4.0
    with pytest.raises(ValueError):
        ours.load_state_dict(torch.optim.SGD([{"params": [w]}, {"params": [torch.nn.Parameter(w.clone())]}], 0.1).state_dict())
    with pytest.raises(ValueError, match="not a state of SignedSVRG"):
        ours.load_state_dict(torch.optim.Adam([w], 0.1).state_dict())
    with pytest.raises(ValueError, match="dampening"):
        ours.load_state_dict(torch.optim.SGD([w], 0.1, momentum=0.9, dampening=0.5).state_dict())


def test_schedulers_go_with_it():
    problem = Parabolas([(0, 1), (0, 1)])
    optimizer = SignedSVRG([problem.w], 1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for _ in range(2):
        optimizer.step(problem.closures)
        scheduler.step()
    assert problem.w.item() == 2 - 2 * 1.0 - 2 * 0.5


def test_it_returns_the_mean_loss_at_the_snapshot_and_leaves_no_gradients():
    images, labels = made_up(20)
    model = small_cnn()
    expected = [F.cross_entropy(small_cnn()(images[i:i + 8]), labels[i:i + 8]) for i in (0, 8, 16)]
    loss = SignedSVRG(model.parameters(), 0.1).step(closures_of(model, images, labels, 8), sizes=[8, 8, 4])
    assert loss.item() == pytest.approx((0.4 * expected[0] + 0.4 * expected[1] + 0.2 * expected[2]).item(), rel=1e-12)
    assert not loss.requires_grad and all(p.grad is None for p in model.parameters())


def test_a_closure_that_fails_in_a_recomputation_leaves_weights_and_statistics_whole():
    images, labels = made_up(16)
    model = small_cnn()
    closures = closures_of(model, images, labels, 8)
    calls = []

    def failing():
        calls.append(state_of(model))
        if len(calls) == 3:  # snapshot, step, then again at the snapshot
            raise KeyboardInterrupt
        return closures[1]()

    with pytest.raises(KeyboardInterrupt):
        SignedSVRG(model.parameters(), 0.1, modules=model, snapshot_gradients="recompute").step([closures[0], failing])
    assert torch.equal(model.conv1.weight, calls[1]["conv1.weight"])
    assert model.bn1.num_batches_tracked.item() == 3


@pytest.mark.parametrize("mode", ["cache", "recompute"])
def test_autocast_around_the_step_is_as_autocast_in_the_closures(mode):
    """Autocast keeps the weights that it has rounded; they are other ones at w_1."""
    images, labels = made_up(32)
    ends = []
    for is_around in (True, False):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
        optimizer = SignedSVRG(model.parameters(), 0.5, modules=model, snapshot_gradients=mode)

        def compute(x, y):
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(model(x.float()), y)
            loss.backward()
            return loss

        closures = [lambda i=i: compute(images[i:i + 16], labels[i:i + 16]) for i in (0, 16)]
        # Without oneDNN, which takes some virtual machines' word for bfloat16 instructions that they do not have.
        around = torch.autocast("cpu", torch.bfloat16) if is_around else contextlib.nullcontext()
        with torch.backends.mkldnn.flags(enabled=False), around:
            optimizer.step(closures)
        ends.append(state_of(model))
    assert largest_difference(*ends) == 0


def make_scaler():
    """A GradScaler that is at work without a GPU."""
    if hasattr(torch.amp, "GradScaler"):
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        scaler.scale(torch.ones(1))
        return scaler
    with mock.patch("torch.cuda.is_available", return_value=True):
        scaler = torch.cuda.amp.GradScaler(init_scale=4.0)
    scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))
    return scaler


@pytest.mark.filterwarnings("ignore:GradScaler is going to stop")
def test_a_grad_scaler_is_refused_before_anything_moves():
    problem = Parabolas([(3, 1), (0.5, -2)])
    with pytest.raises(TypeError, match="does not go with a GradScaler"):
        make_scaler().step(SignedSVRG([problem.w], 0.1), problem.closures)
    assert problem.w.item() == 2 and problem.calls == []


@pytest.mark.parametrize("closures", [None, lambda: None, [], [lambda: None, 3], 3, "ab"])
def test_what_is_no_list_of_closures_is_refused(closures):
    with pytest.raises(TypeError, match="SignedSVRG.step"):
        SignedSVRG([torch.nn.Parameter(torch.ones(1))], 0.1).step(closures)


@pytest.mark.parametrize("sizes", [[8], [8, 8, 8], [4, 8], [8, 0], [8.0, 4.5], 8, "88", [8, None], [float("inf")] * 2])
def test_sizes_that_are_no_outer_batch_are_refused(sizes):
    problem = Parabolas([(3, 1), (0.5, -2)])
    with pytest.raises(ValueError, match="sizes are"):
        SignedSVRG([problem.w], 0.1).step(problem.closures, sizes=sizes)


def test_closures_without_gradients_and_sparse_ones_are_refused():
    w = torch.nn.Parameter(torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="loss.backward"):
        SignedSVRG([w], 0.1).step([lambda: w.sum()])
    table = torch.nn.Embedding(3, 2, sparse=True)
    with pytest.raises(RuntimeError, match="sparse=False"):
        SignedSVRG(table.parameters(), 0.1).step([lambda: table(torch.tensor([1])).sum().backward()])


@pytest.mark.parametrize("settings, words", [
    ({"lr": -1.0}, "lr is -1.0"), ({"lr": "0.1"}, "lr is '0.1'"), ({"coefficient": "linear:1"}, "coefficient is"), ({"lr": float("nan")}, "lr is nan"), ({"momentum": -0.1}, "momentum is"),
    ({"weight_decay": float("inf")}, "weight_decay is"), ({"coefficient": float("nan")}, "coefficient is"),
    ({"nesterov": "no", "momentum": 0.9}, "nesterov is 'no'"), ({"nesterov": True}, "nesterov needs a momentum"), ({"snapshot_gradients": "sometimes"}, "'cache' or 'recompute'"),
    ({"snapshot_gradients": "recompute"}, "modules=model"),
])
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        SignedSVRG([torch.nn.Parameter(torch.ones(1))], **{"lr": 0.1, **settings})


@pytest.mark.parametrize("name, value", [("coefficient", "2"), ("coefficient", float("nan")), ("lr", None), ("momentum", -1),
                                         ("nesterov", "no")])
def test_settings_are_checked_again_at_a_step_before_anything_moves(name, value):
    problem = Parabolas([(3, 1), (0.5, -2)])
    optimizer = SignedSVRG([problem.w], 0.1)
    optimizer.param_groups[0][name] = value
    with pytest.raises(ValueError, match=f"{name} is {value!r}"):
        optimizer.step(problem.closures)
    assert problem.w.item() == 2 and problem.calls == []


@pytest.mark.parametrize("change, words", [
    (lambda state: None, "a NoneType is not a state"), (lambda state: [state], "a list is not a state"),
    (lambda state: {"state": {}}, "lacks state or param_groups"), (lambda state: {**state, "param_groups": 3}, "lacks state"),
    (lambda state: {"param_groups": state["param_groups"]}, "lacks state"),
    (lambda state: {**state, "batchplus": 3}, "batchplus is 3"),
    (lambda state: {**state, "batchplus": {"gradient_evaluations": float("inf")}}, "gradient_evaluations is inf"),
    (lambda state: {**state, "batchplus": {"gradient_evaluations": "3"}}, "gradient_evaluations is '3'"),
    (lambda state: {**state, "batchplus": {"gradient_evaluations": [1, 0]}}, r"gradient_evaluations is \[1, 0\]"),
    (lambda state: {**state, "batchplus": {"gradient_evaluations": -1}}, "gradient_evaluations is -1"),
    (lambda state: {**state, "batchplus": {"outer_steps": "3"}}, "outer_steps is '3'"),
    (lambda state: {**state, "batchplus": {"inner_steps": 1.5}}, "inner_steps is 1.5"),
])
def test_what_is_no_state_is_refused_and_changes_nothing(change, words):
    optimizer = SignedSVRG([torch.nn.Parameter(torch.ones(1))], 0.1)
    before = optimizer.state_dict()
    with pytest.raises(ValueError, match=words):
        optimizer.load_state_dict(change(SignedSVRG([torch.nn.Parameter(torch.ones(1))], 0.7).state_dict()))
    assert optimizer.state_dict() == before
