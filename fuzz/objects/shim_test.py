#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs about objects under the shim: shim_test.py CUVMM CUVMM-FUZZ-OBJECTS

The reference has left out all calls that no document decides, so a finding about a call that the driver accepted
would accuse a legal program. The mistakes of the programs must be found.
"""
import json
import os
import subprocess
import sys
import tempfile

MISTAKES = {"array-inside", "array-alive", "code-alive", "graph-free-node-memory"}


def main():
    cuvmm, objects = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [cuvmm, "run", "--emulate", "--report", report, "--", objects, "--driver", "libcuda.so.1",
                   "--programs", "400", "--seconds", "300", "--output", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"exit code {done.returncode}\n{done.stdout}{done.stderr[-4000:]}")
        with open(report, encoding="utf-8") as file:
            findings = json.load(file)["findings"]
    wrong = [finding for finding in findings if finding["result"] == "CUDA_SUCCESS"]
    for finding in wrong:
        print(f"{finding['rule']}: {finding['message']}, of a call that was accepted")
    missing = MISTAKES - {finding["rule"] for finding in findings}
    if missing:
        print(f"no finding of {', '.join(sorted(missing))}")
    sys.exit(1 if wrong or missing else 0)


if __name__ == "__main__":
    main()
