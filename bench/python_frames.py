# SPDX-License-Identifier: Apache-2.0
"""What the Python frames of a stack cost: the same calls by ctypes with and without them, in one run.

    bench/python_frames.py SHIM DRIVER [PYTHON]...

The calls reserve addresses and free them, under the shim, from functions nested 5 and 30 deep. Each reserve takes a
stack. Prints the CPU time of a thread for a pair of calls, the least of 40 rounds of 500 pairs, and the difference:
the frames of the one stack that the pair takes."""

import ctypes
import json
import os
import subprocess
import sys
import time

ROUNDS, PAIRS, DEPTHS = 40, 500, (5, 30)


def load() -> ctypes.CDLL:
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuMemAddressReserve.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint64,
                                         ctypes.c_uint64]
    cuda.cuMemAddressFree.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
    assert cuda.cuInit(0) == 0
    return cuda


def rounds(cuda: ctypes.CDLL, depth: int) -> float:
    if depth > 1:
        return rounds(cuda, depth - 1)
    address, size = ctypes.c_uint64(), 2 << 20
    place, best = ctypes.addressof(address), float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time_ns()
        for _ in range(PAIRS):
            cuda.cuMemAddressReserve(place, size, 0, 0, 0)
            cuda.cuMemAddressFree(address.value, size)
        best = min(best, (time.thread_time_ns() - start) / PAIRS)
    return best


def measured(python: str, shim: str, driver: str, off: str) -> list[float]:
    env = os.environ | {"LD_PRELOAD": shim, "CUVMM_DRIVER": driver, "CUVMM_NO_PYTHON_FRAMES": off, "CUVMM_QUIET": "1"}
    run = subprocess.run([python, __file__, "--rounds"], env=env, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def main() -> None:
    if sys.argv[1:] == ["--rounds"]:
        cuda = load()
        print(json.dumps([rounds(cuda, depth) for depth in DEPTHS]))
        return
    shim, driver, *pythons = sys.argv[1:]
    for python in pythons or [sys.executable]:
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.strip()
        with_frames, without = (measured(python, shim, driver, off) for off in ("0", "1"))
        for depth, a, b in zip(DEPTHS, with_frames, without):
            print(f"{version}, {depth} frames: {b:.0f} ns without, {a:.0f} ns with, {a - b:.0f} ns for the frames")


if __name__ == "__main__":
    main()
