# SPDX-License-Identifier: Apache-2.0
"""The shim exports exactly the listed symbols, needs only libc, libm and the loader, and is
libcuda.so.1.

It has no symbol versions, so that its wrappers of runtime functions satisfy the versioned
references to any libcudart.
"""

import re
import subprocess
import sys

shim, symbols_file, twins_file = sys.argv[1:]


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


listed = {line for line in open(symbols_file).read().split() if re.fullmatch(r"cu[A-Z]\w*", line)}
assert len(listed) > 600, len(listed)
twins = set(re.findall(r"^CUVMM_TWIN\((cuda\w+),", open(twins_file).read(), re.MULTILINE))
assert len(twins) > 20, twins
wanted = listed | twins | {"cuvmmShimVersion", "cuvmmLeaks", "cuvmmGetApi", "InitializeInjectionNvtx2",
                          "InitializeInjectionNvtxExtension", "close", "dup", "dup2", "dup3", "fcntl", "fcntl64", "exit", "quick_exit", "_exit", "_Exit"}
exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only", shim).splitlines()}
assert exported == wanted, (exported - wanted, wanted - exported)
assert not [name for name in exported if name.startswith("cudbg")]

dynamic = output("readelf", "-dW", shim)
needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
allowed = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"}
assert {n for n in needed if not n.startswith("ld-linux")} <= allowed, needed
assert re.findall(r"\(SONAME\).*\[(.+)\]", dynamic) == ["libcuda.so.1"], dynamic
