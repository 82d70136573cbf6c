# SPDX-License-Identifier: Apache-2.0
"""A program whose kernels were skipped does not look passed: a line, a count, an exit code on request.

usage: launch_test.py CUVMM LAUNCH_CLIENT
"""
import json
import pathlib
import subprocess
import sys
import tempfile

cuvmm, client = sys.argv[1:]
SAID = "kernel launch skipped: results will be missing"


def run(*words: str, options: tuple[str, ...] = ()) -> tuple[int, str, int]:
    """The exit code, stderr, and the count in the report."""
    with tempfile.TemporaryDirectory(prefix="cuvmm-launch-") as folder:
        report = pathlib.Path(folder, "report.json")
        done = subprocess.run([cuvmm, "run", "--emulate", "--devices", "2", "--report", str(report), *options, "--", client, *words],
                              capture_output=True, text=True, timeout=100)
        print(words, options, done.returncode, done.stderr)
        assert done.stdout == "PASSED\n", done.stdout
        return done.returncode, done.stderr, json.loads(report.read_text())["skipped_launches"]


code, text, count = run("0")
assert (code, count) == (0, 0) and "skipped" not in text, "no launch, no word"

code, text, count = run("3")
assert (code, count) == (0, 3)
assert text.count(SAID) == 1 and "cudaLaunchKernel: " + SAID in text
assert "cuvmm: 3 kernel launches were skipped" in text

code, _, count = run("3", options=("--skipped-exitcode", "77"))
assert (code, count) == (77, 3)
code, _, count = run("0", options=("--skipped-exitcode", "77"))
assert (code, count) == (0, 0)
code, _, count = run("1", "fail", options=("--skipped-exitcode", "77"))
assert (code, count) == (3, 1), "a failure stays one"
code, text, count = run("2", "fork")
assert (code, count) == (0, 4), "of a process that was killed, too"

for streams in ("eager", "late"):
    code, text, count = run("3", "capture", options=("--streams", streams))
    assert (code, count) == (0, 6), "what a graph has captured counts at each of its launches"

code, text, _ = run("1", options=("--quiet", "--skipped-exitcode", "9"))
assert (code, text) == (9, "")

# A skipped launch was not checked.
code, text, _ = run("3", "capture", options=("--error-exitcode", "9"))
assert code == 122 and "6 kernel launches were skipped" in text.splitlines()[-1]
for allowed in (("--allow-unchecked",), ("--skipped-exitcode", "0")):
    code, _, _ = run("3", "capture", options=("--error-exitcode", "9", *allowed))
    assert code == 0, allowed

# CUB launches nothing if the version of its code is none that it was compiled for.
with tempfile.TemporaryDirectory(prefix="cuvmm-launch-") as folder:
    done = subprocess.run([cuvmm, "run", "--emulate", "--", client, "0", "versions"], capture_output=True, text=True, timeout=100)
    assert done.stdout == "75 newer\n90 same\n", done.stdout + done.stderr
