"""The command line that the scripts which print tables share."""

import argparse
import pathlib


def table_parser(networks):
    parser = argparse.ArgumentParser()
    parser.add_argument("worker", help="the program that trains on demand: build/bench/step_worker")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--networks", default=",".join(networks), help="default: %(default)s")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    return parser


def add_methods(parser, methods):
    parser.add_argument("--methods", default=",".join(methods), help="default: %(default)s")


def add_peak_program(parser):
    parser.add_argument("--peak-program", help="peak_flops; by default the one beside WORKER_BINARY")


def peak_program(options):
    return options.peak_program or pathlib.Path(options.worker).with_name("peak_flops")
