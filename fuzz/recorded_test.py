#!/usr/bin/env python3
"""Holds the emulator against what a real driver was recorded to answer: no call may differ without a
reason that is written down.

usage: recorded_test.py CUVMM-FUZZ-RECORD EMULATOR RECORDING.rec.xz PERMITTED [EVERY]

EVERY: take each so manieth program only (a slow build); 1 takes all.
"""
import lzma
import re
import struct
import subprocess
import sys
import tempfile

HEADER = 64 + 4 + 4 + 8  # behind the first line: name, driver, devices, seed
OP, ANSWER = 16, 7


def thinned(recording, every):
    """The header and every so manieth program; (bytes, programs, calls)."""
    at = recording.index(b"\n") + 1 + HEADER
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
    """Its first program with one answer changed: a comparison that finds nothing there is worthless."""
    at = recording.index(b"\n") + 1 + HEADER
    (count,) = struct.unpack_from("<H", recording, at)
    answer = at + 2 + count * OP + 1  # behind how it came about
    end = at + 2 + count * (OP + ANSWER)
    return recording[:answer] + b"\x07\x00" + recording[answer + 2 : end]


def compare(tool, emulator, permitted, recording):
    with tempfile.NamedTemporaryFile(suffix=".rec") as file:
        file.write(recording)
        file.flush()
        return subprocess.run(
            [tool, "--driver", emulator, "--compare", file.name, "--permitted", permitted],
            capture_output=True, text=True, check=False,
        )


def main():
    tool, emulator, path, permitted = sys.argv[1:5]
    every = int(sys.argv[5]) if len(sys.argv) > 5 else 1
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
