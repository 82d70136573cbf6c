#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs under qemu what was built for 64-bit ARM: GoogleTest programs, and the command with the shim over the emulator.

Usage: aarch64_test.py BUILD_FOLDER TEST... (./dev aarch64). What the kernel or the processor that qemu imitates has not is
left out by name: NOT_UNDER_QEMU says why.
"""
import os
import re
import subprocess
import sys

# The address space is small, because the emulator reserves addresses and qemu 7 stores a record for each page of them.
QEMU = ["qemu-aarch64-static", "-R", "128G", "-L", "/usr/aarch64-linux-gnu"]
# GoogleTest filter -> the feature that the test needs and qemu's user mode lacks.
NOT_UNDER_QEMU = {
    "Vmm.A64TebibyteReservationSucceedsAndTwiceThatDoesNot": "so many addresses",
    "PoolTest.WhatItKeepsIsNobodyElses": "so many addresses: all memory of the device",
    "LostPages.*": "the end of SIGBUS: qemu 7 repeats the access for ever, also where the handler has mapped the page",
}


def run(command, status=0, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=1500, **options)
    assert result.returncode == status, f"{' '.join(command)} ended with {result.returncode}, not {status}\n{result.stdout[-20000:]}"
    return result.stdout


def check_machine(path):
    header = run(["readelf", "-h", path])
    assert "AArch64" in header, f"{path} is not for 64-bit ARM\n{header}"


def run_test(path):
    check_machine(path)
    out = ":".join(NOT_UNDER_QEMU)
    printed = run([*QEMU, path, "--gtest_brief=1"] + ([f"--gtest_filter=-{out}"] if out else []))
    count = re.search(r"\[  PASSED  \] (\d+) tests?", printed)
    assert count and int(count[1]) > 0, printed[-2000:]
    return int(count[1])


def stacked(build):
    """A program text that breaks a rule, run by the command under the shim on the emulator. (`cuvmm run` starts programs by
    exec, which this kernel has not for ARM; so the libraries are named here as it would.)"""
    shim, emulator = f"{build}/lib/libcuvmm-shim.so", f"{build}/lib/emulator/libcuda.so.1"
    for path in (shim, emulator):
        check_machine(path)
    text = "init()\nr0 = cuMemAddressReserve(2M)\nh0 = cuMemCreate(2M, device=0)\ncuMemMap(r0, 2M, h0, offset=2M)\n"
    program = os.path.join(build, "mistake.txt")
    with open(program, "w", encoding="utf-8") as file:
        file.write(text)
    printed = run([*QEMU, "-E", f"LD_PRELOAD={shim}", "-E", f"CUVMM_DRIVER={emulator}", f"{build}/bin/cuvmm", "replay", program])
    assert "[cuMemMap-offset-zero]" in printed and "[cuMemCreate-released]" in printed, printed
    return printed


def main(build, *tests):
    build = os.path.abspath(build)
    total = 0
    for name in tests:
        passed = run_test(os.path.join(build, "bin", name))
        print(f"{name}: {passed} passed", flush=True)
        total += passed
    stacked(build)
    print(f"the shim over the emulator: found what was wrong\n{total} passed, 0 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
