# SPDX-License-Identifier: Apache-2.0
"""CuPy and RMM on the emulator: their wheels contain NVIDIA's runtime, which starts on a real
driver only.

static_runtime.py MODULE: its import works, and its first call of the runtime fails with a message.
"""

import importlib
import sys


def first_use(name: str) -> None:
    if name == "cupy":
        importlib.import_module("cupy").cuda.runtime.getDeviceCount()
    else:
        importlib.import_module("rmm").DeviceBuffer(size=1)


def main() -> None:
    name = sys.argv[1]
    try:
        module = importlib.import_module(name)
        first_use(name)
    except ModuleNotFoundError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    except Exception as refused:
        # The runtime's own answer where the driver lacks a table that it needs.
        assert "cudaErrorSymbolNotFound" in str(refused), refused
        print(name, module.__version__, "has NVIDIA's runtime inside, and cannot use the emulator")
        return
    raise AssertionError(f"{name} works: say so in the docs")


if __name__ == "__main__":
    main()
