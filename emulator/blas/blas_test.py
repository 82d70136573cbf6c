# SPDX-License-Identifier: Apache-2.0
"""cuBLAS on the emulator: programs load libcuvmm-blas. It computes products of float and double; any other
computation counts as a skipped launch, and so do those after it.

usage: blas_test.py CUVMM BLAS_CLIENT
"""
import json
import pathlib
import subprocess
import sys
import tempfile

cuvmm, client = sys.argv[1:]


def run(launches: int, *options: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="cuvmm-blas-") as folder:
        report = pathlib.Path(folder, "report.json")
        done = subprocess.run([cuvmm, "run", "--emulate", "--report", str(report), *options, "--", client, str(launches)],
                              capture_output=True, text=True, timeout=100)
        print(done.returncode, done.stdout, done.stderr)
        assert (done.returncode, done.stdout) == (0, "PASSED\n")
        return json.loads(report.read_text())["skipped_launches"], done.stderr


assert run(0)[0] == 0
for streams in ("eager", "late"):
    count, text = run(3, "--streams", streams)
    assert count == 6, count
    assert "cublasCgemm_v2: kernel launch skipped" in text
# Without the emulator, neither its libcuda nor its libcudart is loaded.
alone = subprocess.run([client, "1"], capture_output=True, text=True, timeout=100)
assert alone.returncode == 2 and "there is no cudaGetDeviceCount" in alone.stderr, alone
