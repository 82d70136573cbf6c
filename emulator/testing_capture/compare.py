#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the answers of calls while a stream captures with the recorded answers.

compare.py PROGRAM RECORDED DIFFERENCES    compares, and fails where a row differs
compare.py --record PROGRAM                prints what PROGRAM's driver answers, as RECORDED is written

A RECORDED whose name ends in .xz is compressed.

A line of RECORDED is a call, the set-ups that it is valid for, and the outcome: NAME | SET-UPS | answer | status | ...,
the columns of main.cc. SET-UPS is "all", or some of G L R (the capture's mode: global, thread-local, relaxed), each alone,
with t (another thread calls) or with b (the legacy stream waits for the capturing stream).
A line of DIFFERENCES is NAME | SET-UPS | REASON: rows that are known to differ. A row that agrees fails the test
too, so that the list stays correct. Lines that begin with # are comments.
"""

import lzma
import os
import subprocess
import sys

MOST_PRINTED = 20
SETUPS = {
    mode + suffix: [str(number), "1" if suffix == "t" else "0", "1" if suffix == "b" else "0"]
    for number, mode in enumerate("GLR")
    for suffix in ("", "b", "t")
}


def fields(line: str) -> list:
    return [field.strip() for field in line.split("|")]


def read(path: str) -> dict:
    """Maps (call, set-up) to the rest of its line."""
    rows = {}
    with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8") as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            name, setups, *rest = fields(line)
            for setup in SETUPS if setups == "all" else setups.split():
                if setup not in SETUPS or (name, setup) in rows:
                    sys.exit(f"{path}: {name}: bad or repeated set-up {setup}")
                rows[name, setup] = rest
    return rows


def measure(program: str) -> dict:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUVMM_")}
    rows = {}
    for setup, arguments in SETUPS.items():
        ended = subprocess.run(
            [program, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        if ended.returncode != 0 or ended.stderr:
            sys.exit(f"{program} {' '.join(arguments)} ended with {ended.returncode}:\n{ended.stderr}")
        for line in ended.stdout.splitlines():
            name, *rest = fields(line)
            rows[name, setup] = rest
    return rows


def record(rows: dict) -> None:
    for call in dict.fromkeys(name for name, _ in rows):
        outcomes = {}
        for setup in SETUPS:
            outcomes.setdefault(tuple(rows[call, setup]), []).append(setup)
        for outcome, setups in outcomes.items():
            print(" | ".join([call, "all" if len(setups) == len(SETUPS) else " ".join(setups), *outcome]))


def compare(measured: dict, recorded: dict, known: dict) -> int:
    failures = 0
    for row in sorted(measured.keys() | recorded.keys() | known.keys()):
        differs = measured.get(row) != recorded.get(row)
        if differs == (row in known):
            continue
        failures += 1
        if failures > MOST_PRINTED:
            continue
        print(f"{row[0]} ({row[1]}):", "differs" if differs else "is a known difference, and agrees")
        print(f"  recorded {recorded.get(row)}\n  answered {measured.get(row)}")
    print(f"{len(recorded)} rows recorded, {len(known)} known to differ, {failures} wrong")
    return 1 if failures or not recorded else 0


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] == "--record":
        record(measure(sys.argv[2]))
        return 0
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    return compare(measure(sys.argv[1]), read(sys.argv[2]), read(sys.argv[3]))


if __name__ == "__main__":
    sys.exit(main())
