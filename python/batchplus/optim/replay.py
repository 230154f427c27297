"""What lets a gradient be computed twice: the same random numbers, and buffers that are put back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


class RandomState:
    """The state of torch's generators, of the CPU and of every device that parameters are on. A closure that begins with
    the same state draws the same dropout masks."""

    def __init__(self, devices: Iterable[torch.device]) -> None:
        self._devices = [device for device in devices if device.type != "cpu"]
        self._cpu = torch.get_rng_state()
        self._others = [_generators(device).get_rng_state(*_which(device)) for device in self._devices]

    def restore(self) -> None:
        torch.set_rng_state(self._cpu)
        for device, state in zip(self._devices, self._others):
            _generators(device).set_rng_state(state, *_which(device))


class Buffers:
    """The buffers of modules as they are now, BatchNorm's running statistics among them. Those that a module replaces by
    others come back as well as those that it changes in place."""

    def __init__(self, modules: Iterable[torch.nn.Module]) -> None:
        parts = {part: None for module in modules for part in module.modules()}
        self._buffers = [(part, dict(part._buffers)) for part in parts]
        self._values = [(buffer, buffer.detach().clone()) for _, buffers in self._buffers for buffer in buffers.values()
                        if buffer is not None]

    def restore(self) -> None:
        for part, buffers in self._buffers:
            part._buffers.clear()
            part._buffers.update(buffers)
        for buffer, value in self._values:
            buffer.copy_(value)


def _generators(device: torch.device) -> Any:
    """torch.cuda, torch.xpu, ...: the module of a kind of device has its generators."""
    return getattr(torch, device.type)


def _which(device: torch.device) -> tuple[torch.device, ...]:
    return () if device.type == "mps" else (device,)  # of these there is one
