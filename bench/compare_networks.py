"""Training with sgd and with bp-svrg (K = 2, cached snapshot gradients) against the same loop in PyTorch.

    python3 bench/compare_networks.py WORKER_BINARY [--python /usr/bin/python3 --python peers/debian13/python]
                                      [--threads 2] [--rounds 7] [--networks vgg11,mlp] [--methods sgd,bp-svrg]
                                      [--batch 64] [--kinds planar,channels-last,compiled-planar,bf16] [--markdown]

Every --python is a PyTorch to compare with (script/peers makes newer ones than the system's); by default the one that
runs this. Each trains in both memory formats, in both by torch.compile if it has that, and with bfloat16 by autocast.

A line for each network, batch size and method: images per second of BatchPlus in the network's own memory format; the
fastest PyTorch in single precision, its rate, and the ratio over it, round by round; the fastest with bfloat16, which is
another precision and never what the ratio is over; nominal GFLOPS of BatchPlus (2 x 3 x MACs of direct convolution per
image and gradient, see flops.py) and their share of the machine's peak, which bench/peak_flops measures before each
network; and the peak memory of both processes. A second table has every contestant. One that dies is named as failed.

Every contestant is a process of its own (step_worker, torch_worker.py), started anew for each line. After a warm-up
they take turns, every other round in reverse order. A measurement is one outer batch, or as many as fill half a second.
Images are the samples of inner steps. BatchPlus assembles its batches from bytes; PyTorch is handed ready tensors."""

import collections
import statistics
import sys

from batches import BATCHES
from flops import COUNTING, INNER_STEPS, gflops, measured_peak
from options import add_methods, add_peak_program, peak_program, table_parser
from peers import CHECKOUT, KINDS, SINGLE_PRECISION, find_peers
from ratios import Died, Process, interleave, rounded, spread, warm_up
from table import Table

HEADINGS = {"network": 11, "b": 3, "method": 7, "images/s": 8, "best PyTorch": 29, "its images/s": 0, "over it": 28,
            "best bf16": 14, "GFLOPS": 0, "of peak": 0, "MiB": 5, "its MiB": 0}
CONTESTANT_HEADINGS = {"network": 11, "b": 3, "method": 7, "PyTorch": 8}
CONTESTANT_WIDTH = 16


class Contestant:
    """A process in training. Once it has died it does nothing, and `failure` says why."""

    def __init__(self, process, batch, method):
        self.process, self.batch, self.method = process, batch, method
        self.failure = self.rate = self.mebibytes = None

    def attempt(self, action):
        if not self.failure:
            try:
                return action()
            except Died as death:
                self.failure = str(death)
        return None

    def warm_up(self):
        least = INNER_STEPS[self.method]
        # What is done once, compiling above all, would pass for a long step.
        self.attempt(lambda: self.process.seconds(self.method, 2 * least))
        self.steps = self.attempt(lambda: warm_up(lambda steps: self.process.seconds(self.method, steps), least))

    def images_per_second(self):
        return self.attempt(lambda: self.steps * self.batch / self.process.seconds(self.method, self.steps))

    def finish(self, rates):
        """Given its rates of all rounds."""
        if not self.failure:
            self.rate = statistics.median(rates)
            self.mebibytes = self.process.peak_mebibytes()
        self.process.close()


def macs_of(contestants):
    for contestant in contestants:
        if (numbers := contestant.attempt(lambda: contestant.process.numbers("macs", 1))) is not None:
            return numbers[0]
    return 0


def measure(options, peers, name, batch, method):
    """BatchPlus, PyTorch's contestants by version and kind, the rounds, and the MACs of an image."""
    arguments = [name, str(batch), str(options.threads)]
    ours = Contestant(Process([options.worker, *arguments]), batch, method)
    theirs = {(peer.version, kind): Contestant(Process([peer.python, "bench/torch_worker.py", *arguments, kind], CHECKOUT,
                                                       is_quiet=True), batch, method)
              for peer in peers for kind in peer.kinds}
    everybody = {"BatchPlus": ours, **theirs}
    macs = macs_of(theirs.values())
    for contestant in everybody.values():
        contestant.warm_up()
    rounds = interleave({who: contestant.images_per_second for who, contestant in everybody.items()}, options.rounds)
    for who, contestant in everybody.items():
        contestant.finish([r[who] for r in rounds])
    if ours.failure:
        raise RuntimeError(ours.failure)
    return ours, theirs, rounds, macs


def best_of(contestants, kinds):
    """The version and kind with the highest rate; None if none of these kinds ran."""
    running = {who: contestant.rate for who, contestant in contestants.items() if who[1] in kinds and contestant.rate}
    return max(running, key=running.get, default=None)


def ratio_cells(method, peak, ours, theirs, rounds, macs):
    best, bfloat16 = best_of(theirs, SINGLE_PRECISION), best_of(theirs, ("bf16",))
    best_cells, mebibytes = ["none ran", "", ""], ""
    if best:
        best_cells = [" ".join(best), rounded(theirs[best].rate),
                      spread([r["BatchPlus"] / r[best] for r in rounds], digits=2)]
        mebibytes = f"{theirs[best].mebibytes:.0f}"
    rate = gflops(macs, method, ours.rate)
    return [rounded(ours.rate), *best_cells, f"{rounded(theirs[bfloat16].rate)} ({bfloat16[0]})" if bfloat16 else "none ran",
            *([f"{rate:.1f}", f"{100 * rate / peak:.0f} %"] if macs else ["", ""]), f"{ours.mebibytes:.0f}", mebibytes]


def contestant_cell(contestant):
    if not contestant:
        return ""
    return "failed" if contestant.failure else f"{rounded(contestant.rate)} ({contestant.mebibytes:.0f} MiB)"


def print_contestants(lines, peers, kinds, is_markdown):
    print("\nEvery contestant, images per second and peak memory:\n")
    table = Table({**CONTESTANT_HEADINGS, **{kind: CONTESTANT_WIDTH for kind in kinds}}, is_markdown)
    for line, theirs in lines.items():
        for peer in peers:
            table.add(*line, peer.version, *(contestant_cell(theirs.get((peer.version, kind))) for kind in kinds))


def print_failures(lines, unusable):
    failures = collections.defaultdict(list)
    for python, reason in unusable.items():
        failures[f"{python} ({reason})"].append("import of torch")
    for (name, batch, method), theirs in lines.items():
        for who, contestant in theirs.items():
            if contestant.failure:
                failures[f"PyTorch {' '.join(who)} ({contestant.failure})"].append(f"{name} b = {batch} {method}")
    if failures:
        print("\nFailed:")
    for what, where in failures.items():
        print(f"- {what}: {', '.join(where)}")


def main():
    parser = table_parser(BATCHES)
    add_methods(parser, INNER_STEPS)
    add_peak_program(parser)
    parser.add_argument("--batch", type=int, help="instead of the usual size of each network")
    parser.add_argument("--python", action="append", help="a Python with torch to compare with; may be repeated")
    parser.add_argument("--kinds", default=",".join(KINDS), help="how PyTorch trains; default: %(default)s")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        parser.error(f"unknown kind {unknown[0]}; known are {', '.join(KINDS)}")
    peers, unusable = find_peers(options.python or [sys.executable], kinds)
    if not peers:
        print_failures({}, unusable)
        raise SystemExit(1)

    table = Table(HEADINGS, options.markdown)
    peaks, lines = [], {}
    for name in options.networks.split(","):
        peaks.append(measured_peak(peak_program(options), options.threads).gflops)
        for batch in [options.batch] if options.batch else BATCHES.get(name, [128]):
            for method in options.methods.split(","):
                ours, theirs, rounds, macs = measure(options, peers, name, batch, method)
                lines[name, str(batch), method] = theirs
                table.add(name, str(batch), method, *ratio_cells(method, peaks[-1], ours, theirs, rounds, macs))
    print(f"\nMedians of {options.rounds} alternating rounds, {options.threads} threads; ratios with smallest and"
          f" largest, over the best in single precision of PyTorch {', '.join(peer.version for peer in peers)}."
          f" {COUNTING} Peak: {spread(peaks, digits=0)} GFLOPS, measured before each network.")
    print_contestants(lines, peers, kinds, options.markdown)
    print_failures(lines, unusable)


main()
