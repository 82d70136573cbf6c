# SPDX-License-Identifier: Apache-2.0
"""Memory runs out on a real GPU: the refusal names who else holds it.

Usage: neighbours_test.py CUVMM. Needs a GPU with 16 GiB free. Two processes hold memory, one of them under cuvmm;
a third one asks for more than the device has. NVML must list processes: in some containers it does not, and then
the test expects only the process that runs under cuvmm.
"""
import json
import os
import subprocess
import sys
import tempfile

GIB = 1 << 30
HOLDS = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
for result in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
               cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(int(sys.argv[1])))):
    assert result == 0, result
print("holds", flush=True)
sys.stdin.readline()
"""
ASKS = "init()\nh0 = cuMemCreate(4096G, device=0)\n"


def hold(command, size):
    process = subprocess.Popen([*command, sys.executable, "-c", HOLDS, str(size)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "holds\n"
    return process


def main(cuvmm):
    with tempfile.TemporaryDirectory() as folder:
        live, report, program = (os.path.join(folder, name) for name in ("live", "report.json", "asks.txt"))
        with open(program, "w", encoding="utf-8") as file:
            file.write(ASKS)
        plain = hold([], 4 * GIB)
        shown = hold([cuvmm, "run", "--live", live, "--"], 2 * GIB)
        asked = subprocess.run([cuvmm, "run", "--live", live, "--report", report, "--", cuvmm, "replay", program],
                               capture_output=True, text=True, timeout=300, check=False)
        print(asked.stderr)
        for process in (plain, shown):
            process.communicate("\n", timeout=60)
        with open(report, encoding="utf-8") as file:
            (refusal,) = json.load(file)["refusals"]
    facts = refusal["facts"]
    print(json.dumps({name: facts.get(name) for name in ("device", "free", "total", "held", "others")}, indent=1))
    others = facts["others"]
    held = [other["held"]["plain"] for other in others if "held" in other]
    assert held == [2 * GIB], held
    listed = {other["pid"]: other["bytes"] for other in others if "bytes" in other}
    if not listed:
        return print("NVML lists nobody here")
    assert listed.get(plain.pid, 0) >= 4 * GIB, listed
    return print("both are named")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]))
