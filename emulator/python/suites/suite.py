# SPDX-License-Identifier: Apache-2.0
"""Runs cuda-python's or cuda-core's own tests on the emulator and compares the result with
known_failures.txt.

The tests are NVIDIA's and no part of this repository. $CUVMM_CUDA_PYTHON names a checkout of
NVIDIA/cuda-python; the recorded numbers are those of commit 8eb9dc2ba (2026-07-08, cuda-core
1.1.0). The wheels of requirements.txt go into .deps/suites. Exit code 1 when a test fails that the
list lacks, 77 without a checkout, or without a network for the wheels. A listed test that passes is
reported, and does not change the exit code.

usage: suite.py --build BUILD core|bindings [pytest arguments...]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SUITES = {
    "core": ("cuda_core/tests", ["test_memory.py", "test_memory_peer_access.py", "test_memory_peer_access_utils.py",
                                 "memory_ipc", "memory", "test_device.py"]),
    "bindings": ("cuda_bindings/tests", ["test_cuda.py"]),
}
SKIPPED = 77


class Unavailable(Exception):
    """A part that the suite needs is missing; the text names it."""


def python_with_wheels(checkout: pathlib.Path) -> pathlib.Path:
    folder = ROOT / ".deps/suites"
    python, stamp = folder / "bin/python3", folder / "installed.txt"
    wanted = (HERE / "requirements.txt").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        for command in ([sys.executable, "-m", "venv", str(folder)],
                        [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(HERE / "requirements.txt")]):
            if subprocess.run(command).returncode != 0:
                raise Unavailable(f"`{' '.join(command)}` failed")
        stamp.write_text(wanted)
    # A package of helpers that the tests import and that the wheel lacks.
    bindings = next(folder.glob("lib/python*/site-packages/cuda/bindings"))
    helpers = checkout / "cuda_bindings/cuda/bindings/_test_helpers"
    if helpers.exists() and not (bindings / "_test_helpers").exists():
        shutil.copytree(helpers, bindings / "_test_helpers")
    return python


def known_failures(suite: str) -> list[tuple[re.Pattern, str]]:
    """Patterns of test ids, in which * stands for any text, and why each test fails."""
    known = []
    for line in (HERE / "known_failures.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, pattern, reason = line.split(maxsplit=2)
            if name == suite:
                known.append((re.compile(re.escape(pattern).replace(r"\*", ".*")), reason))
    return known


def results(junit: pathlib.Path) -> dict[str, str]:
    """The result of each test: "passed", "failed" or "skipped"."""
    found = {}
    for case in xml.parse(junit).iter("testcase"):
        outcomes = {child.tag for child in case}
        outcome = "failed" if outcomes & {"failure", "error"} else "skipped" if "skipped" in outcomes else "passed"
        found[f"{case.get('classname')}.{case.get('name')}"] = outcome
    return found


def judge(found: dict[str, str], known: list[tuple[re.Pattern, str]]) -> int:
    counts = {outcome: sum(value == outcome for value in found.values()) for outcome in ("passed", "failed", "skipped")}
    unknown = []
    for test, outcome in sorted(found.items()):
        reason = next((reason for pattern, reason in known if pattern.fullmatch(test)), None)
        if outcome == "failed" and reason is None:
            unknown.append(test)
        if outcome == "passed" and reason is not None:
            print(f"passes, and is known to fail ({reason}): {test}")
    for test in unknown:
        print(f"fails, and is not known to: {test}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + f", {len(unknown)} of the failures unknown")
    return 1 if unknown or not counts["passed"] else 0


def run(suite: str, build: pathlib.Path, extra: list[str]) -> int:
    checkout = pathlib.Path(os.environ.get("CUVMM_CUDA_PYTHON", "/nonexistent"))
    if not checkout.is_dir():
        raise Unavailable("$CUVMM_CUDA_PYTHON names no checkout of NVIDIA/cuda-python")
    folder, files = SUITES[suite]
    python = python_with_wheels(checkout)
    with tempfile.TemporaryDirectory(prefix="cuvmm-suite-") as scratch:
        junit = pathlib.Path(scratch, "junit.xml")
        command = [str(build / "bin/cuvmm"), "run", "--emulate", "--python", "--quiet", "--", str(python), "-m", "pytest",
                   "-p", "no:cacheprovider", "-q", "--no-showlocals", "--tb=line", "--timeout=120", f"--junit-xml={junit}", *files, *extra]
        subprocess.run(command, cwd=checkout / folder)
        if not junit.exists():
            print("pytest left no result")
            return 1
        return judge(results(junit), known_failures(suite))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("suite", choices=SUITES)
    options, extra = parser.parse_known_args()
    try:
        return run(options.suite, options.build.resolve(), extra)
    except Unavailable as why:
        print(f"skipped: {why}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
