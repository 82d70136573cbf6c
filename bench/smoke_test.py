#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs cuvmm-bench briefly over the emulator, and makes the table of its results."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main(bench, emulator, shim):
    table = Path(__file__).with_name("table.py")
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out.json"
        subprocess.run([bench, "--driver", emulator, "--shim", shim, "--live", "0,10", "--threads", "2",
                        "--seconds", "0.01", "--startups", "2", "--out", out], check=True)
        subprocess.run([bench, "--driver", emulator, "--only", "memory", "--live", "1000",
                        "--out", f"{folder}/memory.json"], check=True)
        subprocess.run([bench, "--driver", emulator, "--shim", shim, "--before", shim, "--floor", "counts", "--live", "0",
                        "--only", "calls,launches", "--seconds", "0.01", "--cold", "16", "--out", f"{folder}/cold.json"], check=True)
        with open(f"{folder}/cold.json", encoding="utf-8") as file:
            cold = {result["name"]: result for result in json.load(file)["benchmarks"]}
        for name in ("cycle/live:0/bare", "cycle/live:0/counts", "cycle/live:0/before", "cycle/live:0/shim", "launches/pointers/bare",
                     "launches/pointers/shim"):
            assert cold[name]["real_time"] > 0, name
        subprocess.run([bench, "--driver", emulator, "--shim", shim, "--live", "0", "--only", "calls", "--watched",
                        "live,timeline,ring+live,ring+live+timeline", "--seconds", "0.01", "--out", f"{folder}/watched.json"],
                       check=True, env=os.environ | {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=65536"})
        with open(f"{folder}/watched.json", encoding="utf-8") as file:
            watched = {result["name"] for result in json.load(file)["benchmarks"]}
        for how in ("live", "timeline", "ring+live", "ring+live+timeline"):
            assert f"cycle/live:0/shim, {how}" in watched, (how, watched)
        made = subprocess.run([bench, "--driver", emulator, "--long", "10000"], check=True, capture_output=True, text=True).stdout
        assert made.startswith("calls: 10"), made
        with open(out, encoding="utf-8") as file:
            results = {result["name"]: result for result in json.load(file)["benchmarks"]}
        for name in ("call/cuMemMap/live:10/shim", "call/cuMemImportFromShareableHandle/live:0/bare",
                     "cycle/live:0/shim", "disjoint/threads:2/shim", "shared/threads:2/bare",
                     "copies/cuMemcpyHtoD/shim", "copies/threads:2/bare", "startup/exit-at-once/shim",
                     "startup/cuInit/shim", "other/cuCtxGetCurrent/shim", "launches/pointers/shim",
                     "launches/live:10/pointers/bare"):
            assert results[name]["real_time"] > 0, name
        text = subprocess.run([sys.executable, "-B", table, out, f"{folder}/memory.json"],
                              check=True, capture_output=True, text=True).stdout
    print(text)
    for title in ("## Each call", "## One cycle", "## Threads on reservations", "## Resident memory"):
        assert title in text, title
    row = next(line for line in text.splitlines() if line.startswith("| cuMemMap/live:10 "))
    assert row.count("|") == 4 and "**" in row, row


if __name__ == "__main__":
    main(*sys.argv[1:])
