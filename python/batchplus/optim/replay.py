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
    """The buffers of modules as they are now, BatchNorm's running statistics among them."""

    def __init__(self, modules: Iterable[torch.nn.Module]) -> None:
        self._buffers = [buffer for module in modules for buffer in module.buffers()]
        self._values = [buffer.detach().clone() for buffer in self._buffers]

    def restore(self) -> None:
        for buffer, value in zip(self._buffers, self._values):
            buffer.copy_(value)


def _generators(device: torch.device) -> Any:
    """torch.cuda, torch.xpu, ...: the module of a kind of device has its generators."""
    return getattr(torch, device.type)


def _which(device: torch.device) -> tuple[torch.device, ...]:
    return () if device.type == "mps" else (device,)  # of these there is one
