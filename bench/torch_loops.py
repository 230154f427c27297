"""Plain training loops in PyTorch, timed. next_batch(step) gives images and labels."""

import time

import torch
from torch.nn import functional as F


def sgd_seconds(model, optimiser, next_batch, steps):
    start = time.perf_counter()
    for step in range(steps):
        images, labels = next_batch(step)
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(model(images), labels).backward()
        optimiser.step()
    return time.perf_counter() - start


def bp_svrg_seconds(model, next_batch, steps, learning_rate):
    """bp-svrg with K = 2 and cached snapshot gradients: v_t = g_t(w_{t-1}) + g_t(w) - mu. As mu is the mean of g_1(w)
    and g_2(w), v_1 = 1.5 g_1(w) - 0.5 g_2(w) and v_2 = g_2(w_1) + 0.5 g_2(w) - 0.5 g_1(w), added without forming mu."""
    parameters = list(model.parameters())

    # By way of .grad: torch.autograd.grad returns the transposed gradients of linear layers, slow to add.
    def gradients(images, labels):
        for parameter in parameters:
            parameter.grad = None
        F.cross_entropy(model(images), labels).backward()
        return [parameter.grad for parameter in parameters]

    @torch.no_grad()
    def add(factor, vectors):
        torch._foreach_add_(parameters, vectors, alpha=factor * learning_rate)

    start = time.perf_counter()
    for step in range(0, steps, 2):
        first, second = next_batch(step), next_batch(step + 1)
        first_gradients, second_gradients = gradients(*first), gradients(*second)
        add(-1.5, first_gradients)
        add(0.5, second_gradients)
        add(-1.0, gradients(*second))
        add(-0.5, second_gradients)
        add(0.5, first_gradients)
    return time.perf_counter() - start
