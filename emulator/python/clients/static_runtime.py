# SPDX-License-Identifier: Apache-2.0
"""What CuPy and RMM do on the emulator: NVIDIA's runtime is inside of their wheels, and starts on a real driver alone.

static_runtime.py MODULE: its import works, and what it asks of the runtime first is refused, in words.
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
        # The runtime's own answer where a table of the driver's is not there.
        assert "cudaErrorSymbolNotFound" in str(refused), refused
        print(name, module.__version__, "has NVIDIA's runtime inside, and cannot use the emulator")
        return
    raise AssertionError(f"{name} works: say so in the docs")


if __name__ == "__main__":
    main()
