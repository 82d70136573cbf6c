#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of this folder, and prints where its answers differ from the emulator's.

usage: compare.py PROGRAM EXPECTED.xz
"""
import difflib
import lzma
import subprocess
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with lzma.open(sys.argv[2], "rt") as file:
        expected = file.readlines()
    given = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines(keepends=True)
    differences = list(difflib.unified_diff(expected, given, "the emulator", "this driver", n=0))
    print("".join(differences), end="")
    sys.exit(1 if differences or not given else 0)


if __name__ == "__main__":
    main()
