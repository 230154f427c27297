"""How the cost of training depends on the width of a network, on threads, on the number n of training samples and on
the inner batches K of an outer one: BatchPlus alone.

    python3 bench/scaling.py WORKER_BINARY [--threads 2] [--rounds 7] [--methods sgd,bp-svrg] [--markdown]
                             [--only width|threads|samples|memory] [--network resnet20] [--widths 8,16,32,64]
                             [--networks vgg11,resnet32,densenet,mlp] [--samples 1280,2560,5120,9984]

Width: time per image (sample of an inner step) against the number d of parameters and the MACs of an image, nominal
GFLOPS (see flops.py), and the peak memory of the process. Threads: one against --threads. Samples: time per image over
whole epochs of n samples (multiples of 256, so that no batch is cut short). Memory: the peak of a process that trained
with bp-svrg for two outer batches, against K and d. Elsewhere bp-svrg has K = 2. It always caches its snapshot
gradients, which are K d floats.

Every combination is a process of its own. After a warm-up they take turns, every other round in reverse order; a
measurement is one outer batch (one epoch), or as many as fill half a second."""

import json
import pathlib
import statistics
import subprocess

from flops import COUNTING, INNER_STEPS, gflops, measured_peak
from options import add_methods, add_peak_program, peak_program, table_parser
from ratios import Process, interleave, rounded, spread, warm_up
from table import Table

BATCHES = {"densenet": 64, "densenet-bc": 64}
WIDTH_HEADINGS = {"network": 17, "b": 3, "method": 7, "d": 9, "MACs": 11, "ms per image": 32, "GFLOPS": 0, "of peak": 0,
                  "MiB": 5}
THREADS_NETWORKS = ("vgg11", "resnet32", "densenet", "mlp")
THREADS_HEADINGS = {"network": 11, "b": 3, "method": 7, "images/s, 1 thread": 0, "images/s, {} threads": 0,
                    "speed-up": 25}
SAMPLES_NETWORKS = ("mlp", "resnet20")
SAMPLES_HEADINGS = {"network": 8, "b": 3, "method": 7}
MEMORY_NETWORKS = ("mlp:hidden=100", "mlp:hidden=400", "mlp:hidden=1600", "resnet20:width=16", "resnet20:width=32",
                   "resnet20:width=64")
# Small batches: their activations and images would hide the gradients.
MEMORY_BATCH = 16
MEMORY_INNER_BATCHES = (2, 4, 8, 16)
MEMORY_HEADINGS = {"network": 17, "d": 9, "MiB of d floats": 0}


class Worker:
    """A network in training with one method, on `samples` samples if given: then in whole epochs."""

    def __init__(self, options, name, method, threads, samples=None):
        self.batch = BATCHES.get(name, 128)
        self.method = method
        limit = ["--samples", str(samples)] if samples else []
        self.process = Process([options.worker, name, str(self.batch), str(threads), *limit])
        least_steps = samples // self.batch if samples else INNER_STEPS[method]
        self.steps = warm_up(lambda steps: self.process.seconds(method, steps), least_steps)

    def seconds_per_image(self):
        return self.process.seconds(self.method, self.steps) / (self.steps * self.batch)


def interleave_workers(workers, rounds):
    """Seconds per image of each worker, one for every round, and its peak memory in MiB."""
    results = interleave({key: worker.seconds_per_image for key, worker in workers.items()}, rounds)
    mebibytes = {key: worker.process.peak_mebibytes() for key, worker in workers.items()}
    for worker in workers.values():
        worker.process.close()
    return {key: [r[key] for r in results] for key in workers}, mebibytes


def size_of(options, name):
    """Parameters, and MACs of one image."""
    command = [options.batchplus, "models", "show", name, "--json"]
    size = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return size["parameters"], size["macs"]


def measure_widths(options, methods):
    peak = measured_peak(peak_program(options), options.threads).gflops
    names = [f"{options.network}:width={width}" for width in options.widths.split(",")]
    workers = {(name, method): Worker(options, name, method, options.threads) for name in names for method in methods}
    seconds, mebibytes = interleave_workers(workers, options.rounds)
    table = Table(WIDTH_HEADINGS, options.markdown)
    for name, method in workers:
        parameters, macs = size_of(options, name)
        times = seconds[name, method]
        rate = gflops(macs, method, 1 / statistics.median(times))
        table.add(name, str(workers[name, method].batch), method, f"{parameters:,}", f"{macs:,}",
                  spread([1e3 * t for t in times]), f"{rate:.1f}", f"{100 * rate / peak:.0f} %",
                  f"{mebibytes[name, method]:.0f}")
    print(f"\n{options.threads} threads; medians with the smallest and largest. {COUNTING} Peak: {peak:.0f} GFLOPS.\n")


def measure_threads(options, methods):
    table = Table({heading.format(options.threads): width for heading, width in THREADS_HEADINGS.items()},
                  options.markdown)
    for name in options.networks.split(","):
        for method in methods:
            workers = {threads: Worker(options, name, method, threads) for threads in (1, options.threads)}
            seconds, _ = interleave_workers(workers, options.rounds)
            quotients = [one / many for one, many in zip(seconds[1], seconds[options.threads])]
            rates = [rounded(1 / statistics.median(times)) for times in seconds.values()]
            table.add(name, str(workers[1].batch), method, *rates, spread(quotients, digits=2))
    print()


def measure_samples(options, methods):
    counts = [int(count) for count in options.samples.split(",")]
    headings = {f"ms per image, n = {count:,}": 0 for count in counts}
    table = Table({**SAMPLES_HEADINGS, **headings, f"n = {counts[-1]:,} over {counts[0]:,}": 31}, options.markdown)
    for name in SAMPLES_NETWORKS:
        for method in methods:
            workers = {count: Worker(options, name, method, options.threads, count) for count in counts}
            seconds, _ = interleave_workers(workers, options.rounds)
            quotients = [most / least for least, most in zip(seconds[counts[0]], seconds[counts[-1]])]
            times = [f"{1e3 * statistics.median(seconds[count]):.4f}" for count in counts]
            table.add(name, str(workers[counts[0]].batch), method, *times, spread(quotients))
    print(f"\n{options.threads} threads, whole epochs; medians, ratios with the smallest and largest.\n")


def measure_memory(options, _):
    """The peak for each K, and by how much one inner batch more raises it."""
    columns = {f"MiB, K = {k}": 0 for k in MEMORY_INNER_BATCHES}
    table = Table({**MEMORY_HEADINGS, **columns, "MiB for one more in K": 0}, options.markdown)
    least, most = MEMORY_INNER_BATCHES[0], MEMORY_INNER_BATCHES[-1]
    for name in MEMORY_NETWORKS:
        peaks = {}
        for k in MEMORY_INNER_BATCHES:
            process = Process([options.worker, name, str(MEMORY_BATCH), str(options.threads), "--outer", str(k)])
            process.seconds("bp-svrg", 2 * k)
            peaks[k] = process.peak_mebibytes()
            process.close()
        parameters, _ = size_of(options, name)
        table.add(name, f"{parameters:,}", f"{4 * parameters / 2**20:.2f}", *(f"{peak:.0f}" for peak in peaks.values()),
                  f"{(peaks[most] - peaks[least]) / (most - least):.2f}")
    print(f"\nbp-svrg, b = {MEMORY_BATCH}: peak memory (VmHWM) of one process each. One more in K also brings"
          f" {MEMORY_BATCH} images of 12 KiB for each buffer of the data.\n")


PARTS = {"width": measure_widths, "threads": measure_threads, "samples": measure_samples, "memory": measure_memory}


def main():
    parser = table_parser(THREADS_NETWORKS)
    add_methods(parser, INNER_STEPS)
    add_peak_program(parser)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--network", default="resnet20", help="whose width is changed")
    parser.add_argument("--widths", default="8,16,32,64")
    parser.add_argument("--samples", default="1280,2560,5120,9984", help="numbers n of training samples")
    parser.add_argument("--batchplus", help="the program; by default the one in the folder above WORKER_BINARY's")
    options = parser.parse_args()
    options.batchplus = options.batchplus or pathlib.Path(options.worker).resolve().parent.parent / "batchplus"
    methods = options.methods.split(",")
    for name, measure in PARTS.items():
        if options.only in (None, name):
            measure(options, methods)


main()
