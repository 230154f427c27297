"""SignedSVRG: the signed control-variate estimator with plain, heavy-ball or Nesterov steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Optional, Union

import torch
from torch.optim import Optimizer

from batchplus.optim.replay import Buffers, RandomState
from batchplus.optim.settings import COUNTERS, require_state, require_valid, saved_counters
from batchplus.optim.step_parts import Gradients, StepPlan, WeightedMean


class SignedSVRG(Optimizer):
    """Steps by the SVRG family's estimate with a coefficient c, as docs/methods.md of BatchPlus defines it. With the
    weights w = w_0 at the start of an outer batch of K inner batches (the snapshot):

        mu  = mean of g_1(w) ... g_K(w), weighted by their samples, summed in double
        v_t = g_t(w_{t-1}) + c (g_t(w) - mu) + weight_decay w_{t-1}
        m   = momentum m + v_t
        w_t = w_{t-1} - lr v_t, lr m (momentum), or lr (v_t + momentum m) (nesterov)

    c = 1 is bp-svrg, which adds the control variate; c = -1 is b-svrg, which subtracts it. K = 1 is SGD, whatever c is.

    `step` takes one closure for each inner batch. A closure computes the mean loss of its batch and its gradients
    (`loss.backward()`) and returns the loss; gradients are set to None before each call, so it need not do that. It is
    called with the same state of torch's generators whenever it is called for the same outer batch: dropout has the same
    mask at w and at w_{t-1}.

    Cost: 2K - 1 gradient evaluations an outer batch, for step 1 takes place at the snapshot and reuses its gradient; the K
    gradients at the snapshot are kept. With snapshot_gradients="recompute" only the first is kept, the trajectory is the
    same, and the cost is 3K - 2; `modules` then names the model, because computing a gradient again must not move
    BatchNorm's running statistics. Every first computation moves them, those at the snapshot included.

    Every setting but `modules` and `snapshot_gradients` may differ between parameter groups.
    """

    # With this, torch's GradScaler hands itself to step(), which can refuse it, before it touches a gradient.
    _step_supports_amp_scaling = True

    def __init__(self, params: Any, lr: float, coefficient: float = 1.0, momentum: float = 0.0, nesterov: bool = False,
                 weight_decay: float = 0.0, *, modules: Union[torch.nn.Module, Iterable[torch.nn.Module], None] = None,
                 snapshot_gradients: str = "cache") -> None:
        if snapshot_gradients not in ("cache", "recompute"):
            raise ValueError(f"snapshot_gradients is {snapshot_gradients!r}: it must be 'cache' or 'recompute'")
        self._modules = [modules] if isinstance(modules, torch.nn.Module) else list(modules or [])
        if snapshot_gradients == "recompute" and not self._modules:
            raise ValueError("snapshot_gradients='recompute' needs the model, whose BatchNorm statistics a gradient that is "
                             "computed again must not move: SignedSVRG(..., modules=model)")
        self._is_cached = snapshot_gradients == "cache"
        self._evaluations = Fraction(0)
        self.outer_steps = 0
        self.inner_steps = 0
        super().__init__(params, {"lr": lr, "coefficient": coefficient, "momentum": momentum, "nesterov": nesterov,
                                  "weight_decay": weight_decay})

    @property
    def gradient_evaluations(self) -> float:
        """So far; a batch with fewer samples than the others counts as its share of one. A whole number is an int."""
        exact = self._evaluations
        return exact.numerator if exact.denominator == 1 else exact.numerator / exact.denominator

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        require_valid({**self.defaults, **param_group})
        super().add_param_group(param_group)

    @torch.no_grad()
    def step(self, closures: Any = None, *, sizes: Optional[Sequence[int]] = None,  # type: ignore[override]
             grad_scaler: Any = None) -> Optional[torch.Tensor]:
        """One outer batch: as many steps as there are closures. Returns the mean of the losses at the snapshot.

        `sizes` counts the samples of each closure's batch; OuterBatches knows them. They may be left out where all are
        equal. A batch at the end that is smaller than the first is a part of mu and makes no step.
        """
        if grad_scaler is not None:
            raise TypeError("SignedSVRG does not go with a GradScaler: an outer batch has several backward passes at "
                            "different weights, and the scaler checks and unscales only one. Call optimizer.step(closures) "
                            "yourself, with unscaled losses; autocast with bfloat16 needs no scaler")
        for group in self.param_groups:
            require_valid(group)  # they may be set between steps
        plan = StepPlan(closures, sizes)
        parameters = [p for group in self.param_groups for p in group["params"]]
        snapshot = self._take_snapshot(plan, parameters)  # w, mu
        after = RandomState(_devices(parameters))
        for t in range(plan.steps):
            if t == 0:
                gradient = control = snapshot.gradients[0]  # w_0 = w
            else:
                snapshot.states[t].restore()
                gradient, _ = self._evaluate(plan, t, parameters)  # g_t(w_{t-1})
                control = snapshot.gradients[t] if self._is_cached else self._replay(plan, t, parameters, snapshot)  # g_t(w)
            self._update(gradient, control, snapshot.mean)
            self.inner_steps += 1
        after.restore()
        self.outer_steps += 1
        _clear(parameters)
        return _weighted_loss(snapshot.losses, plan.weights)

    def _take_snapshot(self, plan: StepPlan, parameters: list[torch.Tensor]) -> _Snapshot:
        """Computes every closure's gradient at the present weights, and their mean."""
        snapshot = _Snapshot([] if self._is_cached else [p.detach().clone() for p in parameters])
        mean = WeightedMean(len(parameters))
        for t in range(len(plan.closures)):
            snapshot.states.append(RandomState(_devices(parameters)))
            gradients, loss = self._evaluate(plan, t, parameters)
            snapshot.losses.append(loss)
            mean.add(plan.weights[t], gradients)
            if t == 0 or (self._is_cached and t < plan.steps):
                snapshot.gradients.append(gradients)
        snapshot.mean = mean.take(parameters)
        return snapshot

    def _evaluate(self, plan: StepPlan, t: int, parameters: list[torch.Tensor]) -> tuple[Gradients, Any]:
        """The gradients and the loss of closure t at the present weights."""
        _clear(parameters)
        torch.clear_autocast_cache()  # an autocast around step() would go on with the weights of before
        with torch.set_grad_enabled(True):
            loss = plan.closures[t]()
        self._evaluations += plan.shares[t]
        if not (loss is None or isinstance(loss, (torch.Tensor, int, float))):
            raise TypeError(f"a closure returned a {type(loss).__name__}: it must return its loss, or None")
        if all(p.grad is None for p in parameters):
            raise RuntimeError("a closure left no gradients: it must call loss.backward() for the parameters given to SignedSVRG")
        if any(p.grad is not None and p.grad.is_sparse for p in parameters):
            raise RuntimeError("SignedSVRG does not take sparse gradients: make the Embedding with sparse=False")
        # Copies: a closure may reuse its memory, as DistributedDataParallel does.
        gradients = [None if p.grad is None else p.grad.detach().clone() for p in parameters]
        return gradients, loss.detach() if isinstance(loss, torch.Tensor) else loss

    def _replay(self, plan: StepPlan, t: int, parameters: list[torch.Tensor], snapshot: _Snapshot) -> Gradients:
        """g_t(w) computed again; weights and buffers are as before afterwards."""
        here = [p.detach().clone() for p in parameters]
        buffers = Buffers(self._modules)
        _copy(snapshot.point, parameters)
        snapshot.states[t].restore()
        try:
            gradients, _ = self._evaluate(plan, t, parameters)
        finally:
            _copy(here, parameters)
            buffers.restore()
        return gradients

    def _update(self, gradient: Gradients, control: Gradients, mu: Gradients) -> None:
        place = 0
        for group in self.param_groups:
            for p in group["params"]:
                g, snapshot, mean = gradient[place], control[place], mu[place]
                place += 1
                if g is None and mean is None:
                    continue  # nothing uses it
                v = torch.zeros_like(p) if g is None else g.clone()
                if mean is not None:  # else no closure used it at w: g_t(w) and mu are zero
                    v += group["coefficient"] * ((0 if snapshot is None else snapshot) - mean)
                if group["weight_decay"] != 0:
                    v.add_(p, alpha=group["weight_decay"])
                self._move(p, v, group)

    def _move(self, p: torch.Tensor, v: torch.Tensor, group: dict[str, Any]) -> None:
        if group["momentum"] == 0:
            p.add_(v, alpha=-float(group["lr"]))
            return
        state = self.state[p]
        m = state.get("momentum_buffer")
        if m is None:
            m = state["momentum_buffer"] = torch.zeros_like(p)
        m.mul_(group["momentum"]).add_(v)
        p.add_(v.add(m, alpha=group["momentum"]) if group["nesterov"] else m, alpha=-float(group["lr"]))

    def __getstate__(self) -> dict[str, Any]:
        names = ("defaults", "state", "param_groups", "_modules", "_is_cached", "_evaluations", *COUNTERS)
        return {name: getattr(self, name) for name in names}

    def state_dict(self) -> dict[str, Any]:
        """As of every optimiser, and the counters."""
        evaluations = [self._evaluations.numerator, self._evaluations.denominator]
        counters = {"gradient_evaluations": evaluations, **{name: getattr(self, name) for name in COUNTERS}}
        return {**super().state_dict(), "batchplus": counters}

    def load_state_dict(self, state_dict: Any) -> None:
        """Takes its own, and that of torch.optim.SGD, whose groups get the coefficient that they have here."""
        require_state(state_dict)
        here = [group["coefficient"] for group in self.param_groups]
        saved = {**state_dict, "param_groups": [
            {"coefficient": c, **group} for c, group in zip(here, state_dict["param_groups"])]}
        if len(state_dict["param_groups"]) != len(here):
            saved["param_groups"] = state_dict["param_groups"]  # torch says what is wrong with it
        for group in saved["param_groups"]:
            require_valid({**self.defaults, **group})
        evaluations, steps = saved_counters(state_dict)
        super().load_state_dict({key: value for key, value in saved.items() if key != "batchplus"})
        self._evaluations = evaluations
        for name, value in steps.items():
            setattr(self, name, value)


@dataclass
class _Snapshot:
    """What the start of an outer batch leaves for its steps. `point` is w, if gradients are to be computed again."""

    point: list[torch.Tensor]
    mean: Gradients = field(default_factory=list)
    gradients: list[Gradients] = field(default_factory=list)
    states: list[RandomState] = field(default_factory=list)
    losses: list[Any] = field(default_factory=list)


def _devices(parameters: list[torch.Tensor]) -> list[torch.device]:
    return list(dict.fromkeys(p.device for p in parameters))


def _clear(parameters: list[torch.Tensor]) -> None:
    for p in parameters:
        p.grad = None


def _copy(values: list[torch.Tensor], into: list[torch.Tensor]) -> None:
    for p, value in zip(into, values):
        p.copy_(value)


def _weighted_loss(losses: list[Any], weights: list[float]) -> Optional[torch.Tensor]:
    if any(loss is None for loss in losses):
        return None
    return torch.as_tensor(sum(weight * loss for weight, loss in zip(weights, losses)))
