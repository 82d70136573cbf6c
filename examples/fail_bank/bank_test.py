#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each bug of the bank gets its verdict from `cuvmm fail --each`, and the program without a bug gets none.

Usage: bank_test.py CUVMM BANK [--full] [--table]
The full run tries all bugs; without it, one of each kind. Each is tried at the calls of the function that shows it.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

# bug -> its verdict, and the function whose failure shows it. A stale handle kills the driver that the emulator
# imitates, so one that is released is a crash as well as a finding.
BANK = {
    "reservation-kept": ("leak", "cuMemCreate"),
    "handle-kept": ("leak", "cuMemMap"),
    "everything-kept": ("leak", "cuMemSetAccess"),
    "hole-unmapped": ("finding", "cuMemCreate"),
    "released-twice": ("crash|finding", "cuMemMap"),
    "freed-twice": ("finding", "cuMemCreate"),
    "retries-forever": ("hang", "cuMemCreate"),
    "map-ignored": ("finding", "cuMemMap"),
    "access-ignored": ("finding", "cuMemSetAccess"),
    "last-granule-kept": ("finding|leak", "cuMemCreate"),
    "reservation-first": ("finding", "cuMemCreate"),
    "wrong-size": ("finding", "cuMemCreate"),
    "garbage-released": ("crash|finding", "cuMemCreate"),
    "left-in-list": ("crash|finding", "cuMemSetAccess"),
    "fallback-keeps": ("leak", "cuMemCreate"),
    "null-used": ("crash", "cuMemCreate"),
    "throws": ("crash", "cuMemCreate"),
    "stays-locked": ("hang", "cuMemCreate"),
    "waits-for-peer": ("hang", "cuMemExportToShareableHandle"),
    "descriptor-kept": ("leak", "cuMemImportFromShareableHandle"),
    "import-kept": ("leak", "cuMemGetAllocationPropertiesFromHandle"),
    "retain-kept": ("leak", "cuMemGetAccess"),
    "exits-with-zero": ("wrong-exit", "cuMemCreate"),
    "copy-ignored": ("wrong-exit", "cuMemcpyDtoH"),
}
# They show only where something is mapped already.
HALF_MADE = {"last-granule-kept", "reservation-first", "wrong-size"}
# One bug of each verdict and way, for the daily run.
QUICK = ["reservation-kept", "handle-kept", "released-twice", "null-used", "stays-locked", "descriptor-kept",
         "exits-with-zero"]
GOOD = {"clean", "handled"}


def campaign(cuvmm, bank, bug, calls, hangs):
    """The results as JSON, the exit code and the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "f.json")
        command = [cuvmm, "fail", "--each", "--emulate", "--devices", "1", "--json", file]
        command += ["--calls", calls] if calls else []
        command += ["--all"] if bug in HALF_MADE else []
        # Only a program that hangs takes so long. Other programs get more time, because the machine
        # may be busy.
        command += ["--timeout", "10", "--jobs", "8"] if hangs else ["--timeout", "120"]
        began = time.monotonic()
        done = subprocess.run([*command, "--", bank, bug], capture_output=True, text=True, check=False)
        took = time.monotonic() - began
        if not os.path.exists(file):
            raise SystemExit(f"{bug}: {done.returncode}: {done.stdout}{done.stderr}")
        with open(file, encoding="utf-8") as text:
            return json.load(text), done.returncode, took


def main():
    cuvmm, bank = sys.argv[1:3]
    full, table = "--full" in sys.argv, "--table" in sys.argv
    mistakes = []
    runs = 0
    seconds = 0.0
    tried = BANK if full else {bug: BANK[bug] for bug in QUICK}
    for bug, (verdicts, call) in {"none": ("", ""), **tried}.items():
        expected = set(verdicts.split("|")) if verdicts else set()
        hangs = "hang" in expected
        found, code, took = campaign(cuvmm, bank, bug, call, hangs)
        runs += sum(len(site["runs"]) for site in found["sites"])
        seconds += took
        bad = [site for site in found["sites"] if site["verdict"] not in GOOD]
        here = [site for site in bad if site["call"] == call and site["verdict"] in expected]
        if table:
            what = here[0]["what"] if here else ""
            print(f"{bug:<20} {call:<40} {','.join(sorted({s['verdict'] for s in here})):<16} {took:6.1f} s  {what}")
        if bug == "none" and (bad or code != 0):
            mistakes.append(f"none: exit code {code}, {[(s['call'], s['verdict'], s['what']) for s in bad]}")
        if bug != "none" and (not here or code != 1):
            seen = [(s["call"], s["verdict"], s["what"]) for s in found["sites"]]
            mistakes.append(f"{bug}: expected {verdicts} of {call}, exit code {code}: {seen}")
    print(f"{len(tried)} bugs, {runs} runs, {1000 * seconds / max(runs, 1):.0f} ms for each")
    for mistake in mistakes:
        print("FAILED:", mistake)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
