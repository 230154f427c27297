"""SignedSVRG: the signed control-variate estimator with plain, heavy-ball or Nesterov steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Optional, Union

import torch
from torch.optim import Optimizer

from batchplus.optim.replay import Buffers, RandomState

Gradients = list[Optional[torch.Tensor]]
_COUNTERS = ("gradient_evaluations", "outer_steps", "inner_steps")


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
        self.gradient_evaluations: float = 0
        self.outer_steps = 0
        self.inner_steps = 0
        super().__init__(params, {"lr": lr, "coefficient": coefficient, "momentum": momentum, "nesterov": nesterov,
                                  "weight_decay": weight_decay})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        _require_valid({**self.defaults, **param_group})
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
        batch = _OuterBatch(closures, sizes if sizes is not None else getattr(closures, "sizes", None))
        parameters = [p for group in self.param_groups for p in group["params"]]
        start = [p.detach().clone() for p in parameters] if not self._is_cached else []
        states: list[RandomState] = []
        losses: list[Any] = []
        kept: list[Gradients] = []
        mean = _WeightedMean(len(parameters))
        for t, closure in enumerate(batch.closures):
            states.append(RandomState(_devices(parameters)))
            gradients, loss = self._evaluate(closure, parameters, batch.shares[t])
            mean.add(batch.weights[t], gradients)
            losses.append(loss)
            if t == 0 or (self._is_cached and t < batch.steps):
                kept.append(gradients)
        mu = mean.take(parameters)
        after = RandomState(_devices(parameters))
        for t in range(batch.steps):
            gradient = control = kept[t] if t < len(kept) else []
            if t > 0:
                states[t].restore()
                gradient, _ = self._evaluate(batch.closures[t], parameters, batch.shares[t])  # g_t(w_{t-1})
                if not self._is_cached:
                    control = self._replay(batch, t, parameters, start, states[t])
            self._update(gradient, control, mu)
            if self._is_cached:
                kept[t] = []  # this one is done with
            self.inner_steps += 1
        after.restore()
        self.outer_steps += 1
        _clear(parameters)
        return _weighted_loss(losses, batch.weights)

    def _evaluate(self, closure: Callable[[], Any], parameters: list[torch.Tensor],
                  share: float) -> tuple[Gradients, Any]:
        """The gradients and the loss of a closure at the present weights."""
        _clear(parameters)
        with torch.set_grad_enabled(True):
            loss = closure()
        self.gradient_evaluations = _whole(self.gradient_evaluations + share)
        if all(p.grad is None for p in parameters):
            raise RuntimeError("a closure left no gradients: it must call loss.backward() for the parameters given to SignedSVRG")
        if any(p.grad is not None and p.grad.is_sparse for p in parameters):
            raise RuntimeError("SignedSVRG does not take sparse gradients: make the Embedding with sparse=False")
        # Copies: a closure may reuse its memory, as DistributedDataParallel does.
        gradients = [None if p.grad is None else p.grad.detach().clone() for p in parameters]
        return gradients, loss.detach() if isinstance(loss, torch.Tensor) else loss

    def _replay(self, batch: _OuterBatch, t: int, parameters: list[torch.Tensor], start: list[torch.Tensor],
                state: RandomState) -> Gradients:
        """g_t(w) computed again; weights and buffers are as before afterwards."""
        here = [p.detach().clone() for p in parameters]
        buffers = Buffers(self._modules)
        _copy(start, parameters)
        state.restore()
        try:
            gradients, _ = self._evaluate(batch.closures[t], parameters, batch.shares[t])
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
                if mean is None:
                    continue  # no closure uses it
                v = torch.zeros_like(p) if g is None else g.clone()
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
        names = ("defaults", "state", "param_groups", "_modules", "_is_cached", *_COUNTERS)
        return {name: getattr(self, name) for name in names}

    def state_dict(self) -> dict[str, Any]:
        """As of every optimiser, and the counters."""
        return {**super().state_dict(), "batchplus": {name: getattr(self, name) for name in _COUNTERS}}

    def load_state_dict(self, state_dict: Any) -> None:
        """Takes its own, and that of torch.optim.SGD, whose groups get the coefficient that they have here."""
        here = [group["coefficient"] for group in self.param_groups]
        saved = {**state_dict, "param_groups": [
            {"coefficient": c, **group} for c, group in zip(here, state_dict["param_groups"])]}
        if len(state_dict["param_groups"]) != len(here):
            saved["param_groups"] = state_dict["param_groups"]  # torch says what is wrong with it
        for group in saved["param_groups"]:
            _require_valid({**self.defaults, **group})
        counters = state_dict.get("batchplus", {})
        super().load_state_dict({key: value for key, value in saved.items() if key != "batchplus"})
        for name in _COUNTERS:
            setattr(self, name, counters.get(name, 0))


class _OuterBatch:
    """Closures with their share of mu (`weights`), their cost in evaluations (`shares`), and how many make steps."""

    def __init__(self, closures: Any, sizes: Optional[Sequence[int]]) -> None:
        if closures is None or callable(closures):
            raise TypeError("SignedSVRG.step takes a list of closures, one for each inner batch: optimizer.step([closure_1, "
                            "closure_2]); OuterBatches groups the batches of a DataLoader")
        self.closures: list[Callable[[], Any]] = list(closures)
        if not self.closures or not all(callable(closure) for closure in self.closures):
            raise TypeError(f"SignedSVRG.step got {len(self.closures)} closures, of which "
                            f"{sum(callable(one) for one in self.closures)} can be called: it needs at least one, and all must")
        counts = [1] * len(self.closures) if sizes is None else list(sizes)
        if len(counts) != len(self.closures) or min(counts) < 1 or any(n != counts[0] for n in counts[:-1]) or \
                counts[-1] > counts[0]:
            raise ValueError(f"sizes are {counts} for {len(self.closures)} closures: every batch needs the same number of "
                             "samples, but for the last one, which may have fewer")
        self.weights = [n / sum(counts) for n in counts]
        self.shares = [n / counts[0] for n in counts]
        self.steps = sum(n == counts[0] for n in counts)


class _WeightedMean:
    """A mean of gradients, summed in double. What no closure has a gradient of stays None."""

    def __init__(self, count: int) -> None:
        self._sums: Gradients = [None] * count

    def add(self, weight: float, gradients: Gradients) -> None:
        for place, gradient in enumerate(gradients):
            if gradient is None:
                continue
            wide = gradient.to(_wide(gradient)) * weight
            total = self._sums[place]
            self._sums[place] = wide if total is None else total.add_(wide)

    def take(self, like: list[torch.Tensor]) -> Gradients:
        return [None if total is None else total.to(p.dtype) for total, p in zip(self._sums, like)]


def _wide(tensor: torch.Tensor) -> torch.dtype:
    if tensor.is_complex():
        return torch.complex128
    return torch.float32 if tensor.device.type == "mps" else torch.float64  # Apple's GPUs have no double


def _devices(parameters: list[torch.Tensor]) -> list[torch.device]:
    return list(dict.fromkeys(p.device for p in parameters))


def _clear(parameters: list[torch.Tensor]) -> None:
    for p in parameters:
        p.grad = None


def _copy(values: list[torch.Tensor], into: list[torch.Tensor]) -> None:
    for p, value in zip(into, values):
        p.copy_(value)


def _whole(number: float) -> float:
    """Counts are whole numbers unless b does not divide B."""
    return int(number) if float(number).is_integer() else number


def _weighted_loss(losses: list[Any], weights: list[float]) -> Optional[torch.Tensor]:
    if any(loss is None for loss in losses):
        return None
    return torch.as_tensor(sum(weight * loss for weight, loss in zip(weights, losses)))


def _require_valid(group: dict[str, Any]) -> None:
    for name in ("lr", "momentum", "weight_decay"):
        if not (math.isfinite(group[name]) and group[name] >= 0):
            raise ValueError(f"{name} is {group[name]!r}: it must be a finite number, zero or more")
    if not math.isfinite(group["coefficient"]):
        raise ValueError(f"coefficient is {group['coefficient']!r}: it must be a finite number")
    if group["nesterov"] and group["momentum"] == 0:
        raise ValueError("nesterov needs a momentum: momentum=0.9 is usual")
    for name in ("dampening", "maximize"):
        if group.get(name):
            raise ValueError(f"{name} is {group[name]!r}: SignedSVRG has no such thing; it must be 0 or False")
