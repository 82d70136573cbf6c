# SPDX-License-Identifier: Apache-2.0
"""CuPy and RMM on the emulator: their wheels contain NVIDIA's runtime.

CuPy's files have symbol tables, so the emulator's runtime takes the place of NVIDIA's (emulator/redirect/), and kernels
that CuPy compiles to PTX run. RMM's are stripped: its import works, and its first call fails with a message.

linked_runtime.py MODULE
"""

import importlib
import os
import sys


def compute_with_cupy() -> None:
    os.environ["CUPY_COMPILE_WITH_PTX"] = "1"
    os.environ["CUPY_ACCELERATORS"] = ""  # CUB's kernels in the wheel are machine code
    cupy = importlib.import_module("cupy")
    assert cupy.cuda.runtime.getDeviceCount() > 0
    numbers = cupy.arange(1000, dtype=cupy.float32)
    assert float((numbers * 2 + 1).sum()) == 1000 * 1000
    assert cupy.get_default_memory_pool().total_bytes() > 0
    print("cupy", cupy.__version__, "computes")


def refuse_rmm() -> None:
    rmm = importlib.import_module("rmm")
    try:
        rmm.DeviceBuffer(size=1)
    except Exception as refused:
        # The runtime's own answer where the driver lacks a table that it needs.
        assert "cudaErrorSymbolNotFound" in str(refused), refused
        print("rmm", rmm.__version__, "has NVIDIA's runtime inside, and cannot use the emulator")
        return
    raise AssertionError("rmm works: say so in the docs")


def main() -> None:
    try:
        compute_with_cupy() if sys.argv[1] == "cupy" else refuse_rmm()
    except ModuleNotFoundError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)


if __name__ == "__main__":
    main()
