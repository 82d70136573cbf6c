#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance corpus under the shim and writes, per case, what the calls answered and which
rules were found.

  real-driver-tests/corpus_under_shim.py --build build/release --out shim.json [--enforce] [--driver PATH]

The corpus runs in processes of its own per case, so each report belongs to one case.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(build: pathlib.Path, driver: str, enforce: bool, jobs: int, reports: pathlib.Path) -> dict:
    environment = dict(os.environ, LD_PRELOAD=str(build / "lib/libcuvmm-shim.so"), CUVMM_REPORT_DIR=str(reports),
                       CUVMM_QUIET="1", CUVMM_LEAK_CHECK="no")
    if driver:
        environment["CUVMM_DRIVER"] = driver
    if enforce:
        environment["CUVMM_ENFORCE"] = "1"
    command = [str(build / "bin/cuvmm-record"), "--process-ids", "--jobs", str(jobs), "--driver", "libcuda.so.1",
               str(HERE.parent / "conformance/cases")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"corpus_under_shim: the recorder failed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def rules_by_process(reports: pathlib.Path) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for file in reports.glob("*.json"):
        pid = int(file.name.split("-")[0])
        rules = found.setdefault(pid, set())
        for finding in json.loads(file.read_text())["findings"]:
            if finding["kind"] != "leak":
                rules.add(finding["rule"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build/release")
    parser.add_argument("--driver", default="", help="libcuda below the shim (default: the machine's)")
    parser.add_argument("--enforce", action="store_true")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reports = pathlib.Path(folder)
        recording = run(options.build.resolve(), options.driver, options.enforce, options.jobs, reports)
        found = rules_by_process(reports)
    cases = {}
    for name, outcomes in recording["cases"].items():
        pids = recording["processes"][name]
        rules = sorted(set().union(*(found.get(pid, set()) for pid in pids)))
        missing = sum(pid not in found for pid in pids)
        cases[name] = {"outcomes": outcomes, "rules": rules, "processes without report": missing}
    head = {key: recording[key] for key in ("gpu", "driver_version", "cuda_version", "devices", "date", "skipped")}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in cases.items())
    options.out.write_text(json.dumps({"schema": 1, "enforce": options.enforce, **head})[:-1] +
                           ",\n\"cases\": {\n" + lines + "\n}}\n")
    print(f"{len(cases)} cases under the shim: {options.out}")


if __name__ == "__main__":
    main()
