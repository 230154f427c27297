"""One run over two processes, on this machine and over shaped links, against one process; and a model of larger groups.

    python3 bench/processes.py PROGRAM [--networks resnet32,vgg11] [--rounds 5] [--gradients 10] [--gigabits 10,1]
                               [--markdown]

Two processes of one thread each, through shared memory, or each in a network namespace with a cable of so many Gbit/s
(tc's token bucket on both ends) between them; sgd, b = 128, synthetic data. All settings take turns; a time is that of
one gradient with its step. Needs root and iproute2 for the cables.

The model: a gradient takes C / N + m L log2(N) + V(N) / B: C what it takes one process of one thread, N the processes, m
how many sums and broadcasts have to be waited for one after the other, L what a short message takes, V the bytes that a
process sends, B the bandwidth. C is measured, m is counted from the network, V is what the interface counted, L comes
from the cable without a limit. What the model says of the shaped cables is then a prediction, and stands beside the
measurement. It knows nothing of the gradients that `fast` sends during the backward pass, so that it is too long by what
they save."""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess

from ratios import rounded
from table import Table

BATCH = 128
NAMES = [f"bpbench{os.getpid()}-{side}" for side in (0, 1)]
ADDRESSES = ["10.78.0.1", "10.78.0.2"]
# Sums and broadcasts that are waited for: three for each BatchNorm (the first pixel, moments, backward sums) and one for
# the loss; `fast` adds the gradient, `exact` the filters of each convolution and what the linear layers gather (4 each).
BATCH_NORMS = {"resnet20": 19, "resnet32": 31, "vgg11": 8}
CONVOLUTIONS = {"resnet20": 19, "resnet32": 31, "vgg11": 8}
LINEARS = {"resnet20": 1, "resnet32": 1, "vgg11": 3}
PREDICTED = (2, 4, 8, 16, 32, 64)


def meetings(network, reduction):
    shared = 3 * BATCH_NORMS[network] + 1
    return shared + 1 if reduction == "fast" else shared + CONVOLUTIONS[network] + 4 * LINEARS[network]


def training(options, network):
    return [options.program, "train", "--dataset", "synthetic", "--model", network, "--method", "sgd", "--inner-batch",
            str(BATCH), "--train-limit", str(BATCH * options.gradients), "--test-limit", "256", "--epochs", "1", "--lr",
            "0.01", "--augment", "none", "--json", "--quiet"]


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Cable:
    """Two namespaces and what connects them."""

    def __enter__(self):
        for name in NAMES:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", "eth0", "netns", NAMES[0], "type", "veth", "peer", "name", "eth0", "netns", NAMES[1])
        for name, address in zip(NAMES, ADDRESSES):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        return self

    def __exit__(self, *_):
        for name in NAMES:
            subprocess.run(["ip", "netns", "delete", name], check=False)

    def limit(self, gigabits):
        """None: as fast as it can."""
        for name in NAMES:
            subprocess.run(["tc", "-n", name, "qdisc", "delete", "dev", "eth0", "root"], check=False,
                           stderr=subprocess.DEVNULL)
            if gigabits:
                # 2 ms of data at once, as timers are no finer; packets wait for 50 ms at most.
                burst = int(gigabits * 1e9 / 8 * 2e-3)
                subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate",
                                f"{gigabits}gbit", "burst", str(burst), "latency", "50ms"], check=True)

    @staticmethod
    def sent_bytes():
        text = subprocess.run(["ip", "-n", NAMES[1], "-json", "-s", "link", "show", "eth0"], check=True,
                              capture_output=True).stdout
        return json.loads(text)[0]["stats64"]["tx"]["bytes"]

    def run(self, command):
        """What rank 0 prints, and the bytes that rank 1 sent."""
        before = self.sent_bytes()
        ranks = []
        for rank, name in enumerate(NAMES):
            variables = ["TORCHELASTIC_RUN_ID=bench", f"RANK={rank}", "WORLD_SIZE=2", "LOCAL_RANK=0",
                         "LOCAL_WORLD_SIZE=1", f"MASTER_ADDR={ADDRESSES[0]}", "MASTER_PORT=29500"]
            # Each has a core of its own, as machines have.
            ranks.append(subprocess.Popen(["ip", "netns", "exec", name, "env", *variables, "taskset", "--cpu-list",
                                           str(rank), *command, "--threads", "1"], stdout=subprocess.PIPE))
        outputs = [rank.communicate()[0] for rank in ranks]
        if any(rank.returncode for rank in ranks):
            raise SystemExit("a rank failed")
        return outputs[0], self.sent_bytes() - before


class Setting:
    def __init__(self, name, run, reduction=None, gigabits=None):
        self.name, self.run, self.reduction, self.gigabits = name, run, reduction, gigabits
        self.seconds, self.bytes = [], []

    def measure(self, options):
        output, sent = self.run()
        self.seconds.append(json.loads(output)["seconds"] / options.gradients)
        self.bytes.append(sent / options.gradients)

    @property
    def median(self):
        return statistics.median(self.seconds)


def settings_of(options, network, cable):
    command = training(options, network)

    def here(*more):
        return lambda: (subprocess.run([*command, *more], check=True, capture_output=True).stdout, 0)

    def there(reduction, gigabits):
        def run():
            cable.limit(gigabits)
            return cable.run([*command, "--reduction", reduction])
        return run

    settings = [Setting("1 process, 1 thread", here("--threads", "1")),
                Setting("1 process, 2 threads", here("--threads", "2"))]
    for reduction in ("fast", "exact"):
        settings.append(Setting(f"2 processes, {reduction}, memory",
                                here("--threads", "1", "--processes", "2", "--reduction", reduction), reduction))
        for gigabits in (None, *options.gigabits):
            name = f"{gigabits:g} Gbit/s" if gigabits else "cable, no limit"
            settings.append(Setting(f"2 processes, {reduction}, {name}", there(reduction, gigabits), reduction,
                                    gigabits or math.inf))
    return settings


def model(network, setting, alone, latency, processes=2):
    """Seconds of a gradient. Of more processes each sends the sum by shares: 2 (N - 1) / N vectors."""
    vectors = statistics.median(setting.bytes)
    sent = vectors * 2 * (processes - 1) / processes
    steps = math.log2(processes)
    return (alone.median / processes + meetings(network, setting.reduction) * latency * steps
            + sent / (setting.gigabits * 1e9 / 8))


def report(options, network, settings):
    alone, threads = settings[:2]
    table = Table({"network": 9, "setting": 34, "ms a gradient": 24, "over 1 thread": 0, "over 2 threads": 0,
                   "MB sent": 0, "model, ms": 0}, options.markdown)
    latencies = {}
    for setting in settings:
        if setting.gigabits == math.inf:
            wait = setting.median - alone.median / 2
            latencies[setting.reduction] = wait / meetings(network, setting.reduction)
    for setting in settings:
        milliseconds = [1000 * each for each in setting.seconds]
        spread = f"{setting.median * 1000:.0f} ({min(milliseconds):.0f} to {max(milliseconds):.0f})"
        is_predicted = setting.gigabits and setting.gigabits < math.inf
        predicted = f"{1000 * model(network, setting, alone, latencies[setting.reduction]):.0f}" if is_predicted else ""
        sent = f"{statistics.median(setting.bytes) / 1e6:.1f}" if setting.gigabits else ""
        table.add(network, setting.name, spread, f"{alone.median / setting.median:.2f}",
                  f"{threads.median / setting.median:.2f}", sent, predicted)
    for reduction, latency in latencies.items():
        print(f"\n{network}, {reduction}: {meetings(network, reduction)} meetings, "
              f"{rounded(1e6 * latency)} us each over the cable without a limit")
    print("\nHow many times as fast as one process of one thread N machines of one thread would be, by the model:\n")
    table = Table({"network": 9, "link": 20, **{f"N = {n}": 6 for n in PREDICTED}}, options.markdown)
    for setting in settings:
        if setting.gigabits and setting.gigabits < math.inf:
            times = [model(network, setting, alone, latencies[setting.reduction], n) for n in PREDICTED]
            table.add(network, setting.name.removeprefix("2 processes, "),
                      *(f"{alone.median / each:.1f}" for each in times))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--networks", default="resnet32,vgg11")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--gradients", type=int, default=10)
    parser.add_argument("--gigabits", default="10,1", type=lambda text: [float(word) for word in text.split(",")])
    options = parser.parse_args()
    for network in options.networks.split(","):
        with Cable() as cable:
            settings = settings_of(options, network, cable)
            for _ in range(options.rounds):
                for setting in settings:
                    setting.measure(options)
            report(options, network, settings)


if __name__ == "__main__":
    main()
