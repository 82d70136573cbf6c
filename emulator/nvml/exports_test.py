# SPDX-License-Identifier: Apache-2.0
"""The library exports exactly the symbols of its table, under its SONAME, and needs no C++ runtime.

usage: exports_test.py NVML_SYMBOLS LIBNVIDIA_ML
"""
import re
import subprocess
import sys


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


symbols_file, library = sys.argv[1:]
wanted = set(open(symbols_file).read().split())
exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()}
assert exported == wanted, (exported - wanted, wanted - exported)
dynamic = output("readelf", "-dW", library)
assert re.findall(r"\(SONAME\).*\[(.+)\]", dynamic) == ["libnvidia-ml.so.1"], dynamic
assert not re.search(r"NEEDED.*(libstdc|libgcc_s|libcuda)", dynamic), dynamic
