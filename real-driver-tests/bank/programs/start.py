# SPDX-License-Identifier: Apache-2.0
"""Starts a program of the bank: `start.py MODULE FUNCTION`. Prints `digest=...` of what the function returns.

Ends with 77 and `skipped: not installed: ...` where a package is missing.
"""

import importlib
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import digest  # noqa: E402
import in_use  # noqa: E402
import skip  # noqa: E402

FOR_ALL = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}


def main() -> int:
    module, function = sys.argv[1:]
    for name, value in FOR_ALL.items():  # multicast can disturb GPUs that others share
        if os.environ.get(name) != value:
            sys.exit(f"{name} must be {value}: start this by real-driver-tests/bank/run")
    try:
        result = getattr(importlib.import_module(module), function)()
    except skip.Skipped as why:
        print(f"skipped: {why}", flush=True)
        return 77
    except ModuleNotFoundError as error:
        print(f"skipped: not installed: {error.name}", flush=True)
        return 77
    in_use.require()
    if result is not None:  # only one of several processes has the result
        print(f"digest={digest.of(result)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
