#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regenerates runtime_symbols.txt: the exported names of real runtime libraries, facts only.

usage: update_symbols.py LIBCUDART_SO_12 LIBCUDART_SO_13

The libraries come from NVIDIA's wheels nvidia-cuda-runtime-cu12 and nvidia-cuda-runtime (`pip
download`). Each line is a name and the major versions that have it.
"""
import pathlib
import re
import subprocess
import sys

TABLE = pathlib.Path(__file__).resolve().parent / "runtime_symbols.txt"


def exported(library, major):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = re.findall(rf" ((?:__)?cuda\w+)@@libcudart\.so\.{major}$", text, re.MULTILINE)
    if not names:
        sys.exit(f"{library} exports nothing under libcudart.so.{major}")
    return set(names)


def main(library_12, library_13):
    versions = {12: exported(library_12, 12), 13: exported(library_13, 13)}
    rows = [[name] + [str(v) for v, names in versions.items() if name in names] for name in set().union(*versions.values())]
    TABLE.write_text("".join(" ".join(row) + "\n" for row in sorted(rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
