"""The price of measuring: norms of all sample gradients, Hessian products, and their peak memory, over our own training
gradient; and against plain PyTorch, a loop over samples, and the einsum method of BackPACK (Dangel et al. 2020), written
from its description. All contestants interleaved in one run.

    python3 bench/compare_metrics.py WORKER_BINARY [--threads 2] [--rounds 7] [--networks mlp,resnet20] [--pytorch vgg11]

Batches of 128 images, evaluation statistics, channels-last memory."""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

import torch
from torch.nn import functional as F

from ratios import Process, interleave, spread, warm_up

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/fixtures"))
import networks

BATCH = 128


class PyTorch:
    """Plain gradients in evaluation mode, and gradients with norms by einsum over unfolded inputs."""

    def __init__(self, name):
        self.model = networks.build(name, 10, seed=1).to(memory_format=torch.channels_last).eval()
        self.parameters = list(self.model.parameters())
        self.images = torch.randn(BATCH, 3, 32, 32).contiguous(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 10, (BATCH,))
        self.direction = [torch.randn_like(parameter) for parameter in self.parameters]

    def gradient(self, is_differentiable=False):
        loss = F.cross_entropy(self.model(self.images), self.labels, reduction="sum")
        return torch.autograd.grad(loss, self.parameters, create_graph=is_differentiable)

    def product(self):
        """A Hessian product by double backward."""
        torch.autograd.grad(self.gradient(is_differentiable=True), self.parameters, self.direction)

    def norms(self):
        """Hooks keep each layer's input and output gradient; the samples' weight gradients are formed by einsum over
        unfolded inputs and squared, beside the usual backward pass."""
        squares = torch.zeros(len(self.labels))
        handles = []

        def on_forward(module, inputs, output):
            def on_backward(g, x=inputs[0].detach()):
                squares.add_(sample_squares(module, x, g))
            output.register_hook(on_backward)

        for module in self.model.modules():
            if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear, torch.nn.BatchNorm2d)):
                handles.append(module.register_forward_hook(on_forward))
        self.gradient()
        for handle in handles:
            handle.remove()
        return squares

    def seconds(self, what):
        start = time.perf_counter()
        getattr(self, what)()
        return time.perf_counter() - start


def sample_squares(module, x, g):
    if isinstance(module, torch.nn.Linear):
        squares = torch.einsum("ni,nj->nij", x, g).pow(2).sum((1, 2))
        return squares + g.pow(2).sum(1)
    if isinstance(module, torch.nn.BatchNorm2d):
        shape = (1, -1, 1, 1)
        normal = (x - module.running_mean.view(shape)) * (module.running_var + module.eps).rsqrt().view(shape)
        return torch.einsum("nchw,nchw->nc", normal, g).pow(2).sum(1) + g.sum((2, 3)).pow(2).sum(1)
    patches = F.unfold(x, module.kernel_size, padding=module.padding, stride=module.stride)
    squares = torch.einsum("nml,nkl->nmk", g.flatten(2), patches).pow(2).sum((1, 2))
    return squares if module.bias is None else squares + g.sum((2, 3)).pow(2).sum(1)


def peak_of_worker(options, name, what):
    """Peak memory of a process that did nothing else, beyond that of one that only built the network."""
    def peak(work):
        process = worker_for(options, name)
        if work:
            process.seconds(work, 1)
        peak_bytes = process.numbers("memory", 1)[0]
        process.close()
        return peak_bytes
    return (peak(what) - peak("")) / 2**20


def peak_of_pytorch(name, what):
    def peak(work):
        out = subprocess.run([sys.executable, __file__, "-", "--peak", name, work], capture_output=True, text=True, check=True)
        return float(out.stdout)
    return (peak(what) - peak("nothing")) / 2**20


def print_own_peak(name, what):
    torch.set_num_threads(2)
    contestant = PyTorch(name)
    if what != "nothing":
        contestant.seconds(what)
    status = pathlib.Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) * 1024)


def worker_for(options, name):
    return Process([options.worker, name, str(BATCH), str(options.threads)])


def compare_with_training(options, name):
    """A line for each kind of measurement."""
    worker = worker_for(options, name)
    count = warm_up(lambda steps: worker.seconds("training", steps), 1, seconds=0.1)
    kinds = ["gradient", "norms", "product"]
    rivals = [] if options.without_libtorch else ["libtorch-" + kind for kind in kinds]
    contestants = {what: lambda what=what: worker.seconds(what, count) / count for what in ["training", *kinds, *rivals]}
    interleave(contestants, 1)
    rounds = interleave(contestants, options.rounds)
    seconds = statistics.median(r["training"] for r in rounds)
    print(f"  {name}: a training gradient takes {1000 * seconds:.1f} ms, {peak_of_worker(options, name, 'training'):.0f} MiB")
    for what in kinds + rivals:
        quotients = [r[what] / r["training"] for r in rounds]
        print(f"    {what}: {spread(quotients, 2)}, {peak_of_worker(options, name, what):.0f} MiB", flush=True)
    worker.close()


def compare_with_pytorch(options, name):
    """Against PyTorch's gradient in evaluation mode."""
    worker = worker_for(options, name)
    theirs = PyTorch(name)
    contestants = {
        "norms": lambda: worker.seconds("norms", 1),
        "product": lambda: worker.seconds("product", 1),
        "PyTorch's gradient": lambda: theirs.seconds("gradient"),
        "einsum in PyTorch": lambda: theirs.seconds("norms"),
        "double backward in PyTorch": lambda: theirs.seconds("product"),
    }
    interleave(contestants, 1)
    rounds = interleave(contestants, options.rounds)
    base = "PyTorch's gradient"
    print(f"  {name}: PyTorch's gradient takes {1000 * statistics.median(r[base] for r in rounds):.1f} ms,"
          f" {peak_of_pytorch(name, 'gradient'):.0f} MiB")
    for what in contestants:
        if what != base:
            print(f"    {what}: {spread([r[what] / r[base] for r in rounds], 2)}", flush=True)
    print(f"    peak: einsum {peak_of_pytorch(name, 'norms'):.0f}, double backward {peak_of_pytorch(name, 'product'):.0f} MiB")
    loop = worker.seconds("loop", 1) / statistics.median(r[base] for r in rounds)
    print(f"    our loop over samples: {loop:.1f} (n = 1), {peak_of_worker(options, name, 'loop'):.0f} MiB", flush=True)
    worker.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--networks", default="mlp,smallcnn,resnet20,resnet32,vgg11,densenet")
    parser.add_argument("--without-libtorch", action="store_true", help="do not measure the same by libtorch's kernels")
    parser.add_argument("--pytorch", default="vgg11,resnet32,densenet", help="networks to compare with PyTorch")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print_own_peak(*options.peak)
        return
    torch.set_num_threads(options.threads)

    print("Over our training gradient, round by round; peak memory beyond the network's:")
    for name in filter(None, options.networks.split(",")):
        compare_with_training(options, name)
    print("Over PyTorch's gradient in evaluation mode:")
    for name in filter(None, options.pytorch.split(",")):
        compare_with_pytorch(options, name)


main()
