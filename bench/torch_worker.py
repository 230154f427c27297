"""Trains in PyTorch on demand: the counterpart of step_worker.

    python3 bench/torch_worker.py MODEL BATCH THREADS KIND

KIND is planar or channels-last, the memory format; compiled-planar or compiled-channels-last, by torch.compile; or
bf16: channels-last, with bfloat16 where autocast takes it. The worker

reads lines "METHOD STEPS" (METHOD: sgd, or bp-svrg with K = 2) and answers each with the seconds that so many inner
steps took. "macs 1" is answered with the multiply-adds of one image's forward pass in convolutions (done directly) and
linear layers. Batches are ready tensors; the networks are those of tests/fixtures/networks.py."""

import pathlib
import sys

import torch

from torch_loops import bp_svrg_seconds, sgd_seconds

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/fixtures"))
import networks

FORMATS = {"planar": torch.contiguous_format, "channels-last": torch.channels_last}
COMPILED = "compiled-"
READY_BATCHES = 8
LEARNING_RATE = 0.01


def count_macs(model):
    macs = 0

    def on_forward(module, inputs, output):
        nonlocal macs
        macs += output[0].numel() * module.weight[0].numel()

    handles = [module.register_forward_hook(on_forward) for module in model.modules()
               if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear))]
    was_training = model.training
    model.eval()
    with torch.no_grad():
        model(torch.zeros(1, 3, 32, 32))
    model.train(was_training)
    for handle in handles:
        handle.remove()
    return macs


class Bfloat16(torch.nn.Module):
    """The network under autocast. The loss, outside, is in single precision."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, images):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.network(images).float()


def variant(model, kind):
    """The model that is trained, with the same parameters."""
    if kind == "bf16":
        return Bfloat16(model)
    return torch.compile(model) if kind.startswith(COMPILED) else model


def main():
    name, batch, threads, kind = sys.argv[1:]
    torch.set_num_threads(int(threads))
    memory_format = FORMATS["channels-last" if kind == "bf16" else kind.removeprefix(COMPILED)]
    model = networks.build(name, 10, seed=1).to(memory_format=memory_format).train()
    batches = [(torch.randn(int(batch), 3, 32, 32).contiguous(memory_format=memory_format),
                torch.randint(0, 10, (int(batch),))) for _ in range(READY_BATCHES)]
    optimiser = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    trained = variant(model, kind)

    def next_batch(step):
        return batches[step % READY_BATCHES]

    answers = {
        "sgd": lambda steps: sgd_seconds(trained, optimiser, next_batch, steps),
        "bp-svrg": lambda steps: bp_svrg_seconds(trained, next_batch, steps, LEARNING_RATE),
        "macs": lambda _: count_macs(model),
    }
    for line in sys.stdin:
        what, count = line.split()
        print(answers[what](int(count)), flush=True)


main()
