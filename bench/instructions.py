#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that the shim adds to each VMM call, and holds them to the budgets of bench/trend.py.

Counted by callgrind, so that two runs agree to the instruction: a guard against regressions, where
times are no good on a shared machine. bench/instructions.py BENCH EMULATOR SHIM [--record]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import trend

SKIPPED = 77
FEW, MANY = 20, 220  # lives of a block; their difference leaves out work that is done once per process

CALLS = ("cuMemAddressFree", "cuMemAddressReserve", "cuMemCreate", "cuMemGetAccess", "cuMemGetAllocationGranularity",
         "cuMemGetAllocationPropertiesFromHandle", "cuMemMap", "cuMemRelease", "cuMemRetainAllocationHandle",
         "cuMemSetAccess", "cuMemUnmap")
TWICE_A_LIFE = ("cuMemRelease",)
# Variables that make the shim write files. Their further cost for the twelve calls of a life is counted apart: of the last
# calls (docs/crashes.md) and of the live file (docs/live.md), which `cuvmm run` switches on, and of the timeline of a run
# (docs/view/README.md).
WATCHED = ("CUVMM_RING", "CUVMM_LIVE", "CUVMM_TIMELINE")
# Calls of other kinds (cuvmm-bench --work), with the files that `cuvmm run` switches on: kind, function, name of the count.
WORK = (("fill", "cuMemsetD16Async", "fill, reservations elsewhere"),
        ("fill-between", "cuMemsetD16Async", "fill between two reservations"),
        ("launch", "cuLaunchKernel", "launch, nothing reserved"),
        ("launch-mapped", "cuLaunchKernel", "launch, 16 mapped pointers"))


def inclusive(command, lives, folder, environment):
    """Instructions under each function called cuMem* or cuLaunchKernel, of all its calls."""
    out = f"{folder}/callgrind"
    subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command, "--lives", str(lives)],
        check=True, capture_output=True, env={**os.environ, **environment})
    text = subprocess.run(
        ["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--auto=no", out],
        check=True, capture_output=True, text=True).stdout
    totals = {}
    for count, name in re.findall(r"^\s*([\d,]+) .*:(cuMem\w+|cuLaunchKernel)(?= |$)", text, re.MULTILINE):
        # The shim's function and the driver's have equal names. The shim's count includes the driver's.
        totals[name] = max(totals.get(name, 0), int(count.replace(",", "")))
    return totals


def per_call(command, folder, environment=None):
    few, many = (inclusive(command, lives, folder, environment or {}) for lives in (FEW, MANY))
    return {name: (many[name] - few.get(name, 0)) / (MANY - FEW) / (2 if name in TWICE_A_LIFE else 1)
            for name in many}


def of_work(bench, emulator, shim, folder):
    """The instructions that cuvmm adds to the calls of WORK."""
    added = {}
    for kind, function, name in WORK:
        command = [bench, "--driver", emulator, "--work", kind]
        bare = per_call(command, folder)[function]
        with tempfile.TemporaryDirectory() as ring, tempfile.TemporaryDirectory() as live:
            with_shim = per_call([*command, "--shim", shim], folder, {"CUVMM_RING": ring, "CUVMM_LIVE": live})[function]
        added[name] = with_shim - bare
    return added


def main(bench, emulator, shim, recorded):
    if not (shutil.which("valgrind") and shutil.which("callgrind_annotate")):
        print("no valgrind: skipped")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        bare = per_call([bench, "--driver", emulator], folder)
        command = [bench, "--driver", emulator, "--shim", shim]
        with_shim = per_call(command, folder)
        watched = {}
        for variable in WATCHED:
            with tempfile.TemporaryDirectory() as files:
                watched[variable] = per_call(command, folder, {variable: files})
    added = {name: with_shim[name] - bare[name] for name in CALLS}
    for variable in WATCHED:
        added[f"{variable} of a life"] = sum(
            (watched[variable][name] - with_shim[name]) * (2 if name in TWICE_A_LIFE else 1) for name in CALLS)
    with tempfile.TemporaryDirectory() as folder:
        added.update(of_work(bench, emulator, shim, folder))
    if recorded:
        trend.record(added)
    return 0 if trend.judge(added) else 1


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--record"]
    if len(arguments) != 3:
        sys.exit(__doc__)
    sys.exit(main(*arguments, recorded="--record" in sys.argv))
