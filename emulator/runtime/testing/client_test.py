# SPDX-License-Identifier: Apache-2.0
"""Runs a program of the runtime API on the emulator, alone or under the shim.

usage: client_test.py CLIENT EMULATOR_FOLDER [SHIM]
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

NOT_EMULATED = "cuvmm emulator: cudaDeviceGetNvSciSyncAttributes is not emulated; it answers cudaErrorNotSupported\n"

client, emulator, *shim = sys.argv[1:]
with tempfile.TemporaryDirectory(prefix="cuvmm-runtime-") as folder:
    report = pathlib.Path(folder, "report.json")
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUVMM_")}
    env |= {"LD_LIBRARY_PATH": emulator, "CUVMM_DEVICES": "2"}
    if shim:
        env |= {"LD_PRELOAD": shim[0], "CUVMM_DRIVER": f"{emulator}/libcuda.so.1", "CUVMM_REPORT": str(report),
                "CUVMM_NO_SUMMARY": "1"}
    run = subprocess.run([client], env=env, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stdout == "", (run.returncode, run.stdout, run.stderr)
    assert run.stderr.count(NOT_EMULATED) == 1, run.stderr  # called twice, named once
    found = re.findall(r"^cuvmm: error: (.*?): ", run.stderr, re.M)
    # To see the codes, the client destroys an event twice and fills memory that it has freed.
    assert found == (["cudaEventDestroy (cuEventDestroy)", "cudaMemset (cuMemsetD8)"] if shim else []), run.stderr
    assert shim or run.stderr == NOT_EMULATED, run.stderr
    if shim:
        value = json.loads(report.read_text())
        checked = [each["call"] for each in value["refusals"] if not each.get("unchecked")]
        assert checked == [], value["refusals"]
        assert value["driver"]["emulated"] is True, value["driver"]
        assert [each["rule"] for each in value["findings"]] == ["event-alive", "data-alive"], value["findings"]
        # By cudaGetDriverEntryPointByVersion, so the library went through the shim.
        assert value["calls"]["cuMemAddressReserve"] == 1, value["calls"]
