#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the shim adds to each VMM call, in instructions, held against limits.

Counted by callgrind, so that two runs agree to the instruction: a guard against regressions, where
times are no good on a shared machine. bench/instructions.py BENCH EMULATOR SHIM
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
FEW, MANY = 20, 220  # lives of a block; the difference leaves out what happens once

# Added instructions per call in an optimised build of GCC 12 (x86-64), with about a tenth to spare.
# Raise one only with a reason; when a change lowers them, lower them here. Three were raised by two to six
# percent when cuMemMap, cuMemSetAccess and cuMemUnmap began to follow work in flight (shim/queued_work/).
LIMITS = {
    "cuMemAddressFree": 715,
    "cuMemAddressReserve": 650,
    "cuMemCreate": 750,
    "cuMemGetAccess": 275,
    "cuMemGetAllocationGranularity": 280,
    "cuMemGetAllocationPropertiesFromHandle": 240,
    "cuMemMap": 825,
    "cuMemRelease": 610,
    "cuMemRetainAllocationHandle": 440,
    "cuMemSetAccess": 740,
    "cuMemUnmap": 900,
}
TWICE_A_LIFE = ("cuMemRelease",)
# What the shim adds to the twelve calls of a life beyond that while it writes for others: the live file that is on by
# default (docs/live.md), and the timeline of a run (docs/view/README.md).
WATCHED = {"CUVMM_LIVE": 1950, "CUVMM_TIMELINE": 425}


def inclusive(command, lives, folder, environment):
    """Instructions under each function called cuMem*, of all its calls."""
    out = f"{folder}/callgrind"
    subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command, "--lives", str(lives)],
        check=True, capture_output=True, env={**os.environ, **environment})
    text = subprocess.run(
        ["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--auto=no", out],
        check=True, capture_output=True, text=True).stdout
    totals = {}
    for count, name in re.findall(r"^\s*([\d,]+) .*:(cuMem\w+)(?= |$)", text, re.MULTILINE):
        # The shim's function and the driver's have one name: the outer one holds the inner one.
        totals[name] = max(totals.get(name, 0), int(count.replace(",", "")))
    return totals


def per_call(command, folder, environment=None):
    few, many = (inclusive(command, lives, folder, environment or {}) for lives in (FEW, MANY))
    return {name: (many[name] - few.get(name, 0)) / (MANY - FEW) / (2 if name in TWICE_A_LIFE else 1)
            for name in many}


def main(bench, emulator, shim):
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
    failed = False
    for name, limit in LIMITS.items():
        added = with_shim[name] - bare[name]
        verdict = "ok" if 0 < added <= limit else "FAILED"
        failed = failed or verdict != "ok"
        print(f"{name:42} emulator {bare[name]:7.0f}  shim adds {added:7.0f}  limit {limit:5}  {verdict}")
    for variable, limit in WATCHED.items():
        more = sum((watched[variable][name] - with_shim[name]) * (2 if name in TWICE_A_LIFE else 1) for name in LIMITS)
        verdict = "ok" if 0 < more <= limit else "FAILED"
        failed = failed or verdict != "ok"
        print(f"{variable + ', a life':42} shim adds {more:7.0f} more  limit {limit:5}  {verdict}")
    return int(failed)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
