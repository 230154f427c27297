"""What `batchplus watch` takes with many runs: until the first page, until a record is on the page, memory, processor.

    python3 bench/watch.py PROGRAM [--runs 2000] [--records 200] [--clients 200] [--seconds 30] [--pictures FOLDER]

Writes a sweep of finished synthetic runs into a temporary folder, watches it, and looks at the page in Chromium. A record
is appended to runs one after the other; its time is from the append to when the run's row in the page shows it.
--pictures saves the page as it is then, 1200 px wide and light, 400 px wide and dark."""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request

from live_page import LivePage
from machine import processor
from synthetic_sweep import METHODS, line_of, write_sweep

APPENDED = 10
SECONDS_OF_REPORT = 15


def say(what, value):
    print(f"{what}: {value}", flush=True)


class Server:
    def __init__(self, program, folder):
        self.begin = time.monotonic()
        self.process = subprocess.Popen([program, "watch", folder, "--json"], stdout=subprocess.PIPE)
        self.address = json.loads(self.process.stdout.readline())["address"]

    def since_begin(self):
        return f"{time.monotonic() - self.begin:.3f} s"

    def get(self, target):
        return urllib.request.urlopen(self.address + target).read()

    def runs(self):
        return json.loads(self.get("api/runs"))

    def status(self, key):
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(key + ":"))

    def computed(self):
        """Seconds of a core."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def measure_idle(self, seconds):
        before = self.computed()
        time.sleep(seconds)
        return f"{100 * (self.computed() - before) / seconds:.2f} % of a core over {seconds} s"


def measure_start(server, records):
    say("address", server.since_begin())
    server.get("")
    say("page served", server.since_begin())
    runs = server.runs()
    say(f"list of {len(runs)} runs, each with its state", server.since_begin())
    while any(run["records"] < records for run in server.runs()):
        time.sleep(0.2)
    say("all records read", server.since_begin())


def measure_report(server):
    sweep = json.loads(server.get("api/sweeps"))[0]["id"]
    begin = time.monotonic()
    report = server.get(f"api/report?sweep={sweep}")
    say(f"/api/report of the sweep ({len(report) / 1e6:.1f} MB)", f"{time.monotonic() - begin:.2f} s")


def append(directory, epoch):
    """Returns when, in seconds since 1970."""
    with open(directory / "metrics.jsonl", "a") as file:
        begin = time.time()
        file.write(line_of(epoch, METHODS[0], 1))
    return begin


def measure_records(page, directories, records):
    """Each run's row is looked for by its name, as a person does, and then has a record more."""
    times = []
    for i, directory in enumerate(directories):
        name = directory.name
        page.evaluate(f"""(() => {{ const search = document.getElementById('search'); search.value = '{name}';
            search.dispatchEvent(new Event('input')); }})()""")
        row = "document.querySelector('.run')?.textContent ?? ''"
        page.when(f"document.querySelectorAll('.run').length === 1 && ({row}).includes('epoch {records}')")
        begin = append(directory, records + 1 + i)
        times.append(page.when(f"({row}).includes('epoch {records + 1 + i}')") - begin)
    say(f"a record on the page, {len(times)} times",
        f"median {statistics.median(times):.3f} s, at most {max(times):.3f} s")


def read_until(connection, mark):
    text = b""
    while mark not in text:
        piece = connection.recv(1 << 16)
        assert piece, "the server hung up"
        text = text[-100:] + piece


def measure_clients(server, count, directory, epoch):
    """So many streams of events at once: each gets all runs, and then a record."""
    port = int(server.address.rstrip("/").rpartition(":")[2])
    begin = time.monotonic()
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    for client in clients:
        client.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    for client in clients:
        read_until(client, b"event: seen")
    say(f"{count} clients have all runs", f"{time.monotonic() - begin:.2f} s")
    appended = append(directory, epoch)
    for client in clients:
        read_until(client, f'"epoch":{epoch}'.encode())
    say(f"the last of {count} has a new record", f"{time.time() - appended:.3f} s")
    for client in clients:
        client.close()


def save_pictures(address, folder):
    for width, is_dark in ((1200, False), (400, True)):
        with LivePage(address, width, is_dark=is_dark) as page:
            page.when("document.querySelectorAll('#charts .line').length > 0")
            page.save_picture(pathlib.Path(folder, f"watch-{width}.png"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--pictures")
    options = parser.parse_args()
    print(f"{processor()}; load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        directories = write_sweep(folder, options.runs, options.records)
        server = Server(options.program, folder)
        try:
            measure_start(server, options.records)
            measure_report(server)
            say("nothing changes", server.measure_idle(options.seconds))
            with LivePage(server.address) as page:
                measure_records(page, directories[:APPENDED], options.records)
                # The figures follow at their own pace.
                time.sleep(SECONDS_OF_REPORT)
                say("nothing changes, a page is open", server.measure_idle(options.seconds))
            measure_clients(server, options.clients, directories[-1], 10 * options.records)
            say("memory at most (VmHWM)", f"{server.status('VmHWM') / 1024:.0f} MiB")
            if options.pictures:
                save_pictures(server.address, options.pictures)
        finally:
            server.process.terminate()
            server.process.wait()
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)


main()
