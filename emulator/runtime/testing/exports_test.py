# SPDX-License-Identifier: Apache-2.0
"""The two runtime libraries export what the real ones do, under the same version nodes and SONAMEs, and a function for
emulator/redirect/.

usage: exports_test.py RUNTIME_SYMBOLS LIBCUDART_SO_12 LIBCUDART_SO_13
"""
import re
import subprocess
import sys


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check(table: list[list[str]], library: str, major: str) -> None:
    node = f"libcudart.so.{major}"
    wanted = {f"{name}@@{node}" for name, *versions in table if major in versions}
    assert len(wanted) > 400, len(wanted)
    wanted.add(f"cuvmmRuntimeNotSupported@@{node}")
    exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()} - {node}
    assert exported == wanted, (exported - wanted, wanted - exported)
    dynamic = output("readelf", "-dW", library)
    assert re.findall(r"\(SONAME\).*\[(.+)\]", dynamic) == [node], dynamic
    assert not re.search(r"NEEDED.*(libstdc|libgcc_s|libcuda)", dynamic), dynamic


symbols_file, library_12, library_13 = sys.argv[1:]
rows = [line.split() for line in open(symbols_file)]
check(rows, library_12, "12")
check(rows, library_13, "13")
