# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of the Python frames of a stack: equal calls by ctypes with and without these frames, by turns.

    bench/python_frames.py SHIM DRIVER [PYTHON]...

The calls reserve addresses and free them, under the shim, from functions nested 5 and 30 deep: one function that calls
itself, and functions of different files. Each call takes a stack. Prints the CPU time of a thread for a pair of calls,
the least of 40 rounds of 500 pairs, and half of the difference: the frames of one stack. Each number is the median of
5 processes; where an interpreter's memory lies differs from one to the next, so the least and the most of the
difference are told too."""

import ctypes
import itertools
import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS, PAIRS, DEPTHS, PROCESSES = 40, 500, (5, 30), 5
STACKS = 2  # of a pair: the reserve's and the free's
KINDS = {"one function": "recursive", "different functions": "nested"}


def load() -> ctypes.CDLL:
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuMemAddressReserve.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint64,
                                         ctypes.c_uint64]
    cuda.cuMemAddressFree.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
    assert cuda.cuInit(0) == 0
    return cuda


def rounds(cuda: ctypes.CDLL) -> float:
    address, size = ctypes.c_uint64(), 2 << 20
    place, best = ctypes.addressof(address), float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time_ns()
        for _ in range(PAIRS):
            cuda.cuMemAddressReserve(place, size, 0, 0, 0)
            cuda.cuMemAddressFree(address.value, size)
        best = min(best, (time.thread_time_ns() - start) / PAIRS)
    return best


def recursive(cuda: ctypes.CDLL, depth: int) -> float:
    return recursive(cuda, depth - 1) if depth > 1 else rounds(cuda)


def nested(cuda: ctypes.CDLL, depth: int) -> float:
    names = {"f1": lambda: rounds(cuda)}
    for i in range(2, depth + 1):
        exec(compile(f"def f{i}():\n    return f{i - 1}()\n", f"/opt/app/package/module_{i}.py", "exec"), names)
    return names[f"f{depth}"]()


def measured(python: str, shim: str, driver: str, off: str) -> list[float]:
    env = os.environ | {"LD_PRELOAD": shim, "CUVMM_DRIVER": driver, "CUVMM_NO_PYTHON_FRAMES": off, "CUVMM_QUIET": "1"}
    run = subprocess.run([python, __file__, "--rounds"], env=env, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def main() -> None:
    cases = list(itertools.product(KINDS, DEPTHS))
    if sys.argv[1:] == ["--rounds"]:
        cuda = load()
        print(json.dumps([globals()[KINDS[kind]](cuda, depth) for kind, depth in cases]))
        return
    shim, driver, *pythons = sys.argv[1:]
    for python in pythons or [sys.executable]:
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.strip()
        runs = [[measured(python, shim, driver, off) for off in ("0", "1")] for _ in range(PROCESSES)]
        for i, (kind, depth) in enumerate(cases):
            with_frames, without = ([run[way][i] for run in runs] for way in (0, 1))
            base = statistics.median(without)
            added = sorted((one - base) / STACKS for one in with_frames)
            print(f"{version}, {depth} deep, {kind}: {base:.0f} ns a pair without, "
                  f"{statistics.median(added):.0f} ns for the frames of a stack ({added[0]:.0f} to {added[-1]:.0f})", flush=True)


if __name__ == "__main__":
    main()
