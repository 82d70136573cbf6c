#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The matrix of plain objects and their uses: each object in each of its states, used by each call
that takes it, one process for each case, with the shim over the emulator.

    uses_test.py BUILD [--write]

A use that the driver accepts of an object that lives, or of registered memory that the host keeps,
must not be reported.
The sums of each row, and the calls that get no report although the object has ended, must be those of
docs/testing/uses.md, if the page has them; --write writes them there.
"""

from __future__ import annotations

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "testing" / "uses.md"
MARK = "<!-- The rest of this page is written by shim/testing/uses/uses_test.py --write. -->\n"
# The last calls of each process, by which the shim explains a death, as under `cuvmm run`.
RING = tempfile.TemporaryDirectory(prefix="cuvmm-uses-")
# The host keeps the bytes, so a copy from them is legal.
LEGAL = {("registered memory", "unregistered")}


def outcome(build: pathlib.Path, number: str) -> tuple[str, str]:
    """What the user is told of a case, and the driver's answer."""
    lib = build / "lib"
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}
    run = subprocess.run([str(build / "uses" / "uses"), number], capture_output=True, text=True, timeout=120,
                         stdin=subprocess.DEVNULL,
                         env=clean | {"LD_PRELOAD": str(lib / "libcuvmm-shim.so"), "CUVMM_LEAK_CHECK": "no",
                                      "CUVMM_RING": RING.name,
                                      "CUVMM_DRIVER": str(lib / "emulator" / "libcuda.so.1"),
                                      "LD_LIBRARY_PATH": str(lib / "emulator")})
    answer = re.search(r"answer (\d+)", run.stdout)
    if not answer and "was refused" in run.stdout:
        return "broken", run.stdout.strip()
    result = answer.group(1) if answer else "died"
    if re.search(r"^cuvmm: (error|undefined|fault): ", run.stderr, re.M):
        return "finding", result
    if re.search(r"^cuvmm: refused: ", run.stderr, re.M):
        return "refusal", result
    return "silent", result


def is_legal(case: list[str]) -> bool:
    return case[3] == "alive" or (case[2], case[3]) in LEGAL


def page(rows: dict) -> str:
    text = "| object | state | uses | finding | refusal explained | no report |\n|---|---|---|---|---|---|\n"
    for (what, state), row in rows.items():
        verdicts = collections.Counter(verdict for _, verdict, _ in row)
        text += f"| {what} | {state} | {len(row)} | {verdicts['finding']} | {verdicts['refusal']} | {verdicts['silent']} |\n"
    silent = ""
    for (what, state), row in rows.items():
        if state == "alive" or (what, state) in LEGAL:
            continue
        for call, verdict, answer in row:
            if verdict == "silent":
                silent += f"| {what} | {state} | `{call}` | {'accepted' if answer == '0' else answer} |\n"
    if not silent:
        return text + "\nEach use of an object that has ended, or past its end, has a report.\n"
    text += "\nUses of objects that have ended, or past their end, without a report:\n\n"
    return text + "| object | state | use | answer |\n|---|---|---|---|\n" + silent


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    listed = subprocess.run([str(build / "uses" / "uses"), "list"], capture_output=True, text=True, check=True,
                            env={"LD_LIBRARY_PATH": str(build / "lib" / "emulator")}).stdout
    cases = [line.split("\t") for line in listed.splitlines()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda case: outcome(build, case[0]), cases))
    rows: dict = {}
    faults = []
    for case, (verdict, answer) in zip(cases, outcomes):
        rows.setdefault((case[2], case[3]), []).append((case[4], verdict, answer))
        if verdict == "broken" or (is_legal(case) and (answer == "died" or (answer == "0" and verdict != "silent"))):
            faults.append(f"{' '.join(case[1:])}: {verdict}, answer {answer}")
    now = page(rows)
    before = PAGE.read_text()
    head = before[:before.index(MARK) + len(MARK)]
    if "--write" in sys.argv:
        PAGE.write_text(head + "\n" + now)
    elif before.strip() != head.strip() and before != head + "\n" + now:
        faults.append(f"{PAGE.name} says something else; this run:\n{now}")
    print(now, f"{len(cases)} cases, {len(faults)} faults", *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
