#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of this folder and compares its exit status and its output with the expected ones.

run.py [--runs N] [--output FILE] [--stderr TEXT] [--environment NAME=VALUE]... LIBRARY_FOLDER PROGRAM ARGS...

Every run must end with status 0 (77: skipped) within a time that only a hang exceeds, with nothing
on stderr, or TEXT in exactly one line of it and nothing else, and with FILE's text on stdout.
--runs: for tests whose failure depends on timing.
"""

import argparse
import os
import subprocess
import sys

HANG_S = 110


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--output")
    parser.add_argument("--stderr")
    parser.add_argument("--environment", action="append", default=[])
    parser.add_argument("library_folder")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUVMM_")}
    environment["LD_LIBRARY_PATH"] = given.library_folder
    environment.update(setting.split("=", 1) for setting in given.environment)
    expected = ""
    if given.output:
        with open(given.output, encoding="utf-8") as file:
            expected = file.read()
    for run in range(given.runs):
        ended = subprocess.run(given.command, env=environment, capture_output=True, text=True, timeout=HANG_S, check=False)
        lines = ended.stderr.splitlines()
        as_expected = len(lines) == 1 and given.stderr in lines[0] if given.stderr else not lines
        if ended.returncode == 77:
            print("skipped")
            return 77
        if ended.returncode != 0 or ended.stdout != expected or not as_expected:
            print(f"run {run + 1} of {given.runs}: {' '.join(given.command)} ended with {ended.returncode}")
            print(f"stdout:\n{ended.stdout}\nexpected:\n{expected}\nstderr:\n{ended.stderr}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
