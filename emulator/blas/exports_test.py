# SPDX-License-Identifier: Apache-2.0
"""The library exports the computing functions of its table and a few more, all of them names of
cuBLAS.

usage: exports_test.py COMPUTE_SYMBOLS LIBRARY
"""
import re
import subprocess
import sys


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


symbols_file, library = sys.argv[1:]
computing = set(open(symbols_file).read().split())
exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()}
assert computing <= exported, computing - exported
assert all(name.startswith("cublas") for name in exported), exported
assert "cublasLtMatmul" in exported and "cublasCreate_v2" in exported
# The names have no version: they also satisfy references to a version of NVIDIA's library.
assert not any("@" in name for name in exported), exported
assert not re.search(r"NEEDED.*(libstdc|libgcc_s|libcuda)", output("readelf", "-dW", library))
