#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the emulator against what a real driver was recorded to answer: no call may differ without a
reason that is written down.

usage: recorded_test.py CUVMM-FUZZ-RECORD EMULATOR RECORDING.rec.xz PERMITTED [EVERY]
       recorded_test.py CUVMM-FUZZ-RECORD EMULATOR --new PERMITTED

EVERY: take each so manieth program only (a slow build); 1 takes all.
--new: a recording of two processes, made with the emulator itself.
"""
import lzma
import os
import re
import struct
import subprocess
import sys
import tempfile

# Behind the first line, which ends with the version: name, driver, devices, seed; then processes.
HEADERS = {b"1": 64 + 4 + 4 + 8, b"2": 64 + 4 + 4 + 8 + 4, b"3": 64 + 4 + 4 + 8 + 4}
OP, ANSWER = 16, 7


def start(recording):
    """Where the first program begins."""
    line = recording.index(b"\n")
    return line + 1 + HEADERS[recording[line - 1 : line]]


def thinned(recording, every):
    """The header and every so manieth program; (bytes, programs, calls)."""
    at = start(recording)
    parts, number, programs, calls = [recording[:at]], 0, 0, 0
    while at + 2 <= len(recording):
        (count,) = struct.unpack_from("<H", recording, at)
        end = at + 2 + count * (OP + ANSWER)
        if end > len(recording):
            break
        if number % every == 0:
            parts.append(recording[at:end])
            programs, calls = programs + 1, calls + count
        number, at = number + 1, end
    return b"".join(parts), programs, calls


def spoilt(recording):
    """Its first program with its answers changed: a comparison that finds nothing there is worthless."""
    at = start(recording)
    (count,) = struct.unpack_from("<H", recording, at)
    first, end = at + 2 + count * OP, at + 2 + count * (OP + ANSWER)
    program = bytearray(recording[:end])
    for answer in range(first, end, ANSWER):  # not only the first: it may lie beyond comparison
        if program[answer] == 1:  # an answer was given
            program[answer + 1 : answer + 3] = b"\x07\x00"
    return bytes(program)


def compare(tool, emulator, permitted, recording):
    with tempfile.NamedTemporaryFile(suffix=".rec") as file:
        file.write(recording)
        file.flush()
        return subprocess.run(
            [tool, "--driver", emulator, "--compare", file.name, "--permitted", permitted],
            capture_output=True, text=True, check=False,
        )


def recorded(tool, emulator):
    with tempfile.NamedTemporaryFile(suffix=".rec") as file:
        subprocess.run(
            [tool, "--driver", emulator, "--processes", "2", "--calls", "20000", "--output", file.name],
            env=dict(os.environ, CUVMM_DEVICES="3"), stdout=subprocess.DEVNULL, check=True,
        )
        return file.read()


def main():
    tool, emulator, path, permitted = sys.argv[1:5]
    every = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    if path == "--new":
        recording, programs, calls = thinned(recorded(tool, emulator), every)
    else:
        with lzma.open(path) as file:
            recording, programs, calls = thinned(file.read(), every)
    result = compare(tool, emulator, permitted, recording)
    counts = re.search(r"(\d+) programs, (\d+) calls compared, (\d+) beyond", result.stdout)
    print(result.stdout.split("\n", 1)[0])
    if result.returncode != 0 or not counts:
        sys.exit(f"{result.stdout}{result.stderr}recorded_test: the emulator answers otherwise")
    if int(counts[1]) != programs or int(counts[2]) < 0.9 * calls:
        sys.exit(f"recorded_test: {programs} programs of {calls} calls were to be compared")
    if compare(tool, emulator, permitted, spoilt(recording)).returncode != 1:
        sys.exit("recorded_test: a changed answer goes unnoticed")


if __name__ == "__main__":
    main()
