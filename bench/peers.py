"""The PyTorchs to compare with, and the ways in which each can train."""

import collections
import os
import pathlib
import re
import shutil
import subprocess

from ratios import cause_of_death

SINGLE_PRECISION = ("planar", "channels-last", "compiled-planar", "compiled-channels-last")
KINDS = (*SINGLE_PRECISION, "bf16")
PROBE = "import torch; print(torch.__version__, hasattr(torch, 'compile'))"
# Workers run here: a Python of script/peers sees no other folder.
CHECKOUT = pathlib.Path(__file__).parent.parent

Peer = collections.namedtuple("Peer", "version python kinds")


def find_peers(pythons, kinds):
    """Those whose torch can be imported, and why the others are none, by path."""
    peers, failures = [], {}
    for python in pythons:
        program = shutil.which(python)
        if not program:
            raise SystemExit(f"{python}: no such program")
        program = os.path.abspath(program)
        probe = subprocess.run([program, "-c", PROBE], cwd=CHECKOUT, capture_output=True, text=True)
        if probe.returncode:
            failures[python] = cause_of_death(probe.returncode, probe.stderr)
            continue
        full_version, can_compile = probe.stdout.split()
        version = re.match(r"[\d.]*\d", full_version)[0]
        if version in (peer.version for peer in peers):
            version = f"{version} of {python}"
        peers.append(Peer(version, program, [kind for kind in kinds
                                             if can_compile == "True" or not kind.startswith("compiled")]))
    return peers, failures
