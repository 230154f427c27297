"""What an inner step of bp-svrg (K = 2, cached snapshot gradients) costs beside one of sgd, network by network.

    python3 bench/compare_methods.py WORKER_BINARY [--threads 2] [--rounds 7] [--networks vgg11,mlp] [--markdown]

One process trains with both methods in turn, every other round in reverse order, so that whatever else the machine does
meets both. 1.5 is what the gradient evaluations alone cost: three for two steps."""

import statistics

from batches import BATCHES
from flops import INNER_STEPS
from options import table_parser
from ratios import Process, interleave, spread, warm_up
from table import Table

HEADINGS = {"network": 11, "b": 3, "sgd, ms a step": 0, "bp-svrg, ms a step": 0, "bp-svrg over sgd": 28}


def compare(options, name, batch):
    worker = Process([options.worker, name, str(batch), str(options.threads)])
    steps = {method: warm_up(lambda count, method=method: worker.seconds(method, count), least)
             for method, least in INNER_STEPS.items()}
    rounds = interleave({method: lambda method=method: worker.seconds(method, steps[method]) / steps[method]
                         for method in steps}, options.rounds)
    worker.close()
    milliseconds = [f"{1e3 * statistics.median(r[method] for r in rounds):.2f}" for method in steps]
    return [name, str(batch), *milliseconds, spread([r["bp-svrg"] / r["sgd"] for r in rounds], digits=2)]


def main():
    options = table_parser(BATCHES).parse_args()
    table = Table(HEADINGS, options.markdown)
    for name in options.networks.split(","):
        for batch in BATCHES.get(name, [128]):
            table.add(*compare(options, name, batch))
    print(f"\nMedians of {options.rounds} alternating rounds, {options.threads} threads; ratios with smallest and largest.")


main()
