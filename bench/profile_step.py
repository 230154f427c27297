"""Where the time of a training step goes, kernel by kernel, and how far each is from what the machine allows.

    python3 bench/profile_step.py WORKER_BINARY MODEL [--batch 128] [--threads 2] [--steps 4] [--method sgd] [--markdown]

The kernels trace themselves (src/kernels/trace.h). GFLOPS are those that the algorithm executes at least: Winograd's
convolution counts a quarter of the direct one's. The limit is the time that these operations take at the measured peak,
or the bytes that the kernel must move at the measured bandwidth of memory (bench/peak_flops), whichever is larger.
Maps that are still in the last cache move faster than that, so a kernel can be below a limit of memory."""

import argparse
import collections

from flops import INNER_STEPS, measured_peak
from options import add_peak_program, peak_program
from ratios import Process
from table import Table

HEADINGS = {"kernel": 62, "calls": 5, "ms": 8, "of the step": 0, "GFLOPS": 0, "limit, ms": 0, "by": 10, "over limit": 0}

Call = collections.namedtuple("Call", "calls seconds operations bytes description")


def profiled(options, steps):
    """Seconds, and what the kernels did, each for one step."""
    worker = Process([options.worker, options.model, str(options.batch), str(options.threads)])
    worker.seconds(options.method, steps)
    (seconds, _), lines = worker.numbers_and_lines(f"profile:{options.method}", steps)
    worker.close()
    calls = []
    for line in lines:
        *numbers, description = line.split(maxsplit=4)
        calls.append(Call(*(float(number) / steps for number in numbers), description))
    return seconds / steps, sorted(calls, key=lambda call: -call.seconds)


def limit_of(call, peak):
    """Seconds that the call takes at least, and what sets them."""
    return max((call.operations / peak.gflops / 1e9, "arithmetic"),
               (call.bytes / peak.gigabytes_per_second / 1e9, "memory"))


def print_table(calls, step_seconds, peak, is_markdown):
    table = Table(HEADINGS, is_markdown)

    def add(what, count, seconds, operations, limit, by=""):
        rate, most, over = "", "", ""
        if limit:
            rate, most, over = f"{operations / seconds / 1e9:.1f}", f"{1e3 * limit:.3f}", f"{seconds / limit:.2f}"
        table.add(what, count, f"{1e3 * seconds:.3f}", f"{100 * seconds / step_seconds:.1f} %", rate, most, by, over)

    for call in calls:
        add(call.description, f"{call.calls:g}", call.seconds, call.operations, *limit_of(call, peak))
    seconds, operations = sum(call.seconds for call in calls), sum(call.operations for call in calls)
    limit = sum(limit_of(call, peak)[0] for call in calls)
    add("sum of kernels", f"{sum(call.calls for call in calls):g}", seconds, operations, limit)
    add("everything else: autograd, loss, data, update", "", step_seconds - seconds, 0, 0)
    add("the step", "", step_seconds, operations, limit)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4, help="inner steps to trace, after as many to warm up")
    parser.add_argument("--method", default="sgd")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    add_peak_program(parser)
    options = parser.parse_args()
    # Whole outer batches.
    steps_of_outer = INNER_STEPS.get(options.method, 1)
    steps = -(-options.steps // steps_of_outer) * steps_of_outer
    peak = measured_peak(peak_program(options), options.threads)
    step_seconds, calls = profiled(options, steps)
    print_table(calls, step_seconds, peak, options.markdown)
    print(f"\n{options.model}, {options.method}, b = {options.batch}, {options.threads} threads: one inner step, the mean of"
          f" {steps}. Peak: {peak.gflops:.0f} GFLOPS, {peak.gigabytes_per_second:.0f} GB/s, measured before.")


main()
