#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Guards, a quarantine and poison change no answers except those that they are meant to change.

Usage: answers_test.py RECORDER SHIM EMULATOR CASES...

Runs cases of the conformance suite under the shim on the emulator, without them and with them, and
compares the answers of each call.
"""
import json
import os
import subprocess
import sys
import tempfile

# Case -> the reason why its answers differ.
OTHERWISE = {
    "access/two-reservations": "reservations are no neighbours",
    "data/initial-zero": "new memory is not zero",
    "getaccess/past-end": "nothing is mapped past the end",
    "map/host-alloc": "new memory is not zero",
    "map/past-end-free-neighbour": "nothing is mapped past the end",
    "map/past-end-reserved-neighbour": "nothing is mapped past the end",
    "map/past-reservation-end": "nothing is mapped past the end",
    "reserve/hint-freed": "a freed range is in quarantine",
    "unmap/two-reservations": "reservations are no neighbours",
}
WANTED = {"CUVMM_GUARD": "1", "CUVMM_QUARANTINE": "64", "CUVMM_POISON": "1"}


def record(recorder, shim, emulator, cases, wanted):
    fresh = {key: value for key, value in os.environ.items() if not key.startswith("CUVMM_")}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "answers.json")
        subprocess.run([recorder, "--share", "--jobs", "2", "--driver", "libcuda.so.1", "--output", path, *cases],
                       check=True, capture_output=True,
                       env={**fresh, **wanted, "LD_PRELOAD": shim, "CUVMM_DRIVER": emulator, "CUVMM_DEVICES": "2",
                            "CUVMM_QUIET": "1", "CUVMM_LEAK_CHECK": "no"})
        with open(path, encoding="utf-8") as file:
            return json.load(file)["cases"]


def main():
    recorder, shim, emulator, *cases = sys.argv[1:]
    plain = record(recorder, shim, emulator, cases, {})
    guarded = record(recorder, shim, emulator, cases, WANTED)
    assert len(plain) > 100, f"only {len(plain)} cases were run"
    differ = {name for name in plain.keys() | guarded.keys() if plain.get(name) != guarded.get(name)}
    for name in sorted(differ - OTHERWISE.keys()):
        print(f"{name}:\n  without {plain.get(name)}\n  with    {guarded.get(name)}")
    for name in sorted(OTHERWISE.keys() & plain.keys() - differ):
        print(f"{name} is answered alike, though {OTHERWISE[name]}")
    sys.exit(0 if differ == OTHERWISE.keys() & plain.keys() else 1)


if __name__ == "__main__":
    main()
