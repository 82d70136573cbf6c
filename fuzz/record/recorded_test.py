#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the emulator against what a real driver was recorded to answer: no call may differ without a
reason that is written down.

usage: recorded_test.py CUVMM-FUZZ-RECORD EMULATOR RECORDING.rec.xz PERMITTED [EVERY]
       recorded_test.py CUVMM-FUZZ-RECORD EMULATOR --new PERMITTED

EVERY: take each so manieth group of programs only (a slow build); 1 takes all.
--new: a recording of two processes, made with the emulator itself, and abridged.
"""
import lzma
import os
import re
import subprocess
import sys
import tempfile

# The bytes behind the first line of an abridged recording: name, driver, devices, seed, processes.
HEADER = 64 + 4 + 4 + 8 + 4


def numbers(recording, at):
    """The numbers from `at` on: 7 bits a byte, the lowest first."""
    while True:
        value, shift = 0, 0
        while True:
            byte = recording[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        yield value


def groups(recording):
    """(programs, programs per digest) of an abridged recording."""
    each = numbers(recording, recording.index(b"\n") + 1 + HEADER)
    next(each)  # the generator
    group, parts = next(each), next(each)
    return sum([(next(each), next(each))[1] for _ in range(parts)]), group


def to_compare(programs, group, every):
    """The number of programs in each of the compared groups."""
    return sum(min(group, programs - at) for at in range(0, programs, group * every))


def spoilt(recording, programs, group):
    """The recording with a wrong digest for its first group, which a comparison must notice."""
    digests = -(-programs // group)
    at = len(recording) - 4 * digests
    return recording[:at] + bytes([recording[at] ^ 1]) + recording[at + 1 :]


def compare(tool, emulator, permitted, recording, every):
    with tempfile.NamedTemporaryFile(suffix=".rec") as file:
        file.write(recording)
        file.flush()
        return subprocess.run(
            [tool, "--driver", emulator, "--compare", file.name, "--permitted", permitted, "--every", str(every)],
            capture_output=True, text=True, check=False,
        )


def abridged(tool, emulator, permitted, recording):
    with tempfile.TemporaryDirectory() as folder:
        full, out = os.path.join(folder, "full"), os.path.join(folder, "abridged")
        with open(full, "wb") as file:
            file.write(recording)
        subprocess.run(
            [tool, "--driver", emulator, "--compare", full, "--permitted", permitted, "--abridge", out],
            stdout=subprocess.DEVNULL, check=True,
        )
        with open(out, "rb") as file:
            return file.read()


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
        recording = abridged(tool, emulator, permitted, recorded(tool, emulator))
    else:
        with lzma.open(path) as file:
            recording = file.read()
    programs, group = groups(recording)
    result = compare(tool, emulator, permitted, recording, every)
    counts = re.search(r"(\d+) programs, (\d+) calls compared, (\d+) beyond", result.stdout)
    print(result.stdout.split("\n", 1)[0])
    if result.returncode != 0 or not counts:
        sys.exit(f"{result.stdout}{result.stderr}recorded_test: the emulator answers otherwise")
    compared, beyond = int(counts[2]), int(counts[3])
    if int(counts[1]) != to_compare(programs, group, every) or compared < 9 * beyond:
        sys.exit(f"recorded_test: of {programs} programs each {every}th {group} were to be compared, nine calls of ten")
    # Only the first group is compared.
    result = compare(tool, emulator, permitted, spoilt(recording, programs, group), programs)
    if result.returncode != 1 or "program " not in result.stdout:
        sys.exit("recorded_test: a changed answer goes unnoticed")


if __name__ == "__main__":
    main()
