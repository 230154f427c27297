"""Nominal operations of training, and the machine's measured peak.

A gradient of one image counts 2 x 3 x MACs: two operations a multiply-add, and three passes of equal cost (forward,
with respect to the inputs, with respect to the weights). The MACs are those of direct convolution, so a faster
algorithm (Winograd) shows as a higher rate, and all other work (BatchNorm, updates) counts nothing."""

import statistics
import subprocess

# Gradient evaluations and steps of one outer batch; bp-svrg with K = 2 and cached snapshot gradients.
GRADIENTS = {"sgd": 1, "bp-svrg": 3}
INNER_STEPS = {"sgd": 1, "bp-svrg": 2}
COUNTING = ("GFLOPS are nominal: 2 x 3 x MACs of direct convolution per image and gradient, bp-svrg 1.5 gradients a"
            " step.")


def gflops(macs, method, images_per_second):
    return 6 * macs * GRADIENTS[method] / INNER_STEPS[method] * images_per_second / 1e9


def measured_peak(program, threads, runs=3):
    """GFLOPS of multiply-adds on registers alone (bench/peak_flops.cpp), the median of a few runs."""
    def measure():
        return float(subprocess.run([program, str(threads)], capture_output=True, text=True, check=True).stdout)
    return statistics.median(measure() for _ in range(runs))
