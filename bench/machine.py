"""The machine that measures."""

import pathlib

VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2"}


def processor():
    """Its name, its family and model, since virtual machines shorten the name, and its widest vectors."""
    first = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    words = [facts.get("model name", "an unnamed processor")]
    if "cpu family" in facts:
        words.append(f"family {facts['cpu family']} model {facts['model']}")
    flags = facts.get("flags", "").split()
    words += [name for flag, name in VECTORS.items() if flag in flags][:1]
    return ", ".join(words)


if __name__ == "__main__":
    print(processor())
