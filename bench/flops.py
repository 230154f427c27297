"""Nominal operations of training, and what the machine can do at most.

A gradient of one image counts 2 x 3 x MACs: two operations a multiply-add, and three passes of equal cost (forward,
with respect to the inputs, with respect to the weights). The MACs are those of direct convolution, so a faster
algorithm (Winograd) shows as a higher rate, and all other work (BatchNorm, updates) counts nothing."""

import collections
import statistics
import subprocess

Peak = collections.namedtuple("Peak", "gflops gigabytes_per_second")

# Gradient evaluations and steps of one outer batch; bp-svrg with K = 2 and cached snapshot gradients.
GRADIENTS = {"sgd": 1, "bp-svrg": 3}
INNER_STEPS = {"sgd": 1, "bp-svrg": 2}
COUNTING = ("GFLOPS are nominal: 2 x 3 x MACs of direct convolution per image and gradient, bp-svrg 1.5 gradients a"
            " step.")


def gflops(macs, method, images_per_second):
    return 6 * macs * GRADIENTS[method] / INNER_STEPS[method] * images_per_second / 1e9


def measured_peak(program, threads, runs=3):
    """Of multiply-adds on registers alone and of a copy beyond the caches (bench/peak_flops.cpp), medians of some runs."""
    def measure():
        answer = subprocess.run([program, str(threads)], capture_output=True, text=True, check=True).stdout
        return [float(word) for word in answer.split()]
    return Peak(*map(statistics.median, zip(*(measure() for _ in range(runs)))))
