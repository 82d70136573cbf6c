# SPDX-License-Identifier: Apache-2.0
"""`cuvmm run --emulate` puts our libcudart before one that a program finds by DT_RPATH, and only there.

usage: preload_test.py CUVMM RPATH_CLIENT DRIVER_CLIENT
"""
import os
import subprocess
import sys

cuvmm, client, driver_client = sys.argv[1:]
env = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}


def output(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)


alone = output(client)
assert alone.stdout == "500 -1\n", alone
under = output(cuvmm, "run", "--emulate", "--devices", "3", "--", client)
assert under.stdout == "0 3\n", under

# A program that uses the driver alone: preloading our libcudart starts nothing and says nothing.
run = output(cuvmm, "run", "--emulate", "--", driver_client)
assert run.returncode == 0, run
assert "emulator:" not in run.stderr, run.stderr

# A run within a run, on another driver: what the outer one preloaded goes.
emulator = output(cuvmm, "run", "--emulate", "--", "sh", "-c", "echo $CUVMM_DRIVER").stdout.strip()
inner = output(cuvmm, "run", "--emulate", "--quiet", "--", cuvmm, "run", "--driver", emulator, "--quiet", "--", "sh", "-c", "echo $LD_PRELOAD")
assert "libcuvmm-shim" in inner.stdout and "libcudart" not in inner.stdout, inner
