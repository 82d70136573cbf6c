# SPDX-License-Identifier: Apache-2.0
"""Runs sharing_client.c under the shim: the mistakes that it makes on purpose, and no others, are found and named.

usage: sharing_test.py CLIENT external|ipc EMULATOR_FOLDER SHIM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WANTED = {
    "external": {("cudaExternalMemoryGetMappedBuffer", "cuExternalMemoryGetMappedBuffer-bounds")},
    "ipc": {("cudaIpcCloseMemHandle", "cuIpcCloseMemHandle-pairing"),
            ("cudaIpcOpenMemHandle", "cuIpcOpenMemHandle-handle-valid"),
            ("cudaIpcOpenMemHandle", "cuIpcOpenMemHandle-other-process")},
}

client, what, emulator, shim = sys.argv[1:]
with tempfile.TemporaryDirectory(prefix="cuvmm-runtime-") as folder:
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUVMM_")}
    env |= {"LD_LIBRARY_PATH": emulator, "LD_PRELOAD": shim, "CUVMM_DRIVER": f"{emulator}/libcuda.so.1",
            "CUVMM_REPORT_DIR": folder}
    run = subprocess.run([client, what], env=env, capture_output=True, text=True, timeout=60)
    print(run.stderr)
    assert run.returncode == 0 and run.stdout == "", (run.returncode, run.stdout)
    reports = [json.loads(file.read_text()) for file in pathlib.Path(folder).iterdir()]
    found = {(f.get("runtime"), f["rule"]) for report in reports for f in report["findings"]}
    assert found == WANTED[what], found
