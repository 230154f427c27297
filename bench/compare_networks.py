"""Training with sgd and with bp-svrg (K = 2, cached snapshot gradients) against the same loop in PyTorch.

    python3 bench/compare_networks.py WORKER_BINARY [--threads 2] [--rounds 7] [--networks vgg11,mlp]
                                      [--methods sgd,bp-svrg] [--batch 64] [--markdown]

A line for each network, batch size and method: images per second of BatchPlus in the network's own memory format, and
of PyTorch in both; the ratio over PyTorch's better format, round by round; nominal GFLOPS of BatchPlus (2 x 3 x MACs of
direct convolution per image and gradient, see flops.py) and their share of the machine's peak, which bench/peak_flops
measures before each network; and the peak memory of each process.

Every contestant is a process of its own (step_worker, torch_worker.py), started anew for each line. After a warm-up
they take turns, every other round in reverse order. A measurement is one outer batch, or as many as fill half a second.
Images are the samples of inner steps. BatchPlus assembles its batches from bytes; PyTorch is handed ready tensors."""

import argparse
import pathlib
import statistics
import sys

from batches import BATCHES
from flops import COUNTING, INNER_STEPS, gflops, measured_peak
from ratios import Process, interleave, rounded, spread, warm_up
from table import Table

FORMATS = ("planar", "channels-last")
TORCH_WORKER = pathlib.Path(__file__).with_name("torch_worker.py")
HEADINGS = {"network": 11, "b": 3, "method": 7, "images/s": 8, "PyTorch planar": 0, "PyTorch channels-last": 0,
            "over PyTorch's better": 28, "GFLOPS": 0, "of peak": 0, "MiB": 5, "PyTorch planar MiB": 0,
            "PyTorch channels-last MiB": 0}


def compare(options, name, batch, method, peak):
    arguments = [name, str(batch), str(options.threads)]
    workers = {"BatchPlus": Process([options.worker, *arguments])}
    for format_name in FORMATS:
        workers[format_name] = Process([sys.executable, str(TORCH_WORKER), *arguments, format_name])

    macs = workers["planar"].numbers("macs", 1)[0]
    steps = warm_up(lambda steps: workers["BatchPlus"].seconds(method, steps), INNER_STEPS[method])
    for format_name in FORMATS:
        workers[format_name].seconds(method, steps)
    rounds = interleave({who: lambda worker=worker: steps * batch / worker.seconds(method, steps)
                         for who, worker in workers.items()}, options.rounds)
    mebibytes = [worker.peak_mebibytes() for worker in workers.values()]
    for worker in workers.values():
        worker.close()

    rates = {who: statistics.median(r[who] for r in rounds) for who in workers}
    better = max(FORMATS, key=rates.get)
    rate = gflops(macs, method, rates["BatchPlus"])
    return [name, str(batch), method, *(rounded(images) for images in rates.values()),
            spread([r["BatchPlus"] / r[better] for r in rounds], digits=2), f"{rate:.1f}", f"{100 * rate / peak:.0f} %",
            *(f"{m:.0f}" for m in mebibytes)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--networks", default=",".join(BATCHES))
    parser.add_argument("--methods", default=",".join(INNER_STEPS))
    parser.add_argument("--batch", type=int, help="instead of the usual size of each network")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--peak-program", help="peak_flops; by default the one beside WORKER_BINARY")
    options = parser.parse_args()
    peak_program = options.peak_program or pathlib.Path(options.worker).with_name("peak_flops")

    table = Table(HEADINGS, options.markdown)
    peaks = []
    for name in options.networks.split(","):
        peaks.append(measured_peak(peak_program, options.threads).gflops)
        for batch in [options.batch] if options.batch else BATCHES.get(name, [128]):
            for method in options.methods.split(","):
                table.add(*compare(options, name, batch, method, peaks[-1]))
    print(f"\nMedians of {options.rounds} alternating rounds, {options.threads} threads; ratios with smallest and"
          f" largest. {COUNTING} Peak: {spread(peaks, digits=0)} GFLOPS, measured before each network.")


main()
