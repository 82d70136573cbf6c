# SPDX-License-Identifier: Apache-2.0
"""torch_memory_saver: regions that are paused and resumed, with and without a backup on the host; no kernels.

An error is told and survived. Exit code: 0, or 3 after an error that was survived.
"""

import os
import sys

import torch
from torch_memory_saver import torch_memory_saver

MIB = 1 << 20
failed = 0


def attempt(what, function):
    global failed
    try:
        result = function()
        print(what, flush=True)
        return result
    except Exception as error:
        failed = 3
        print(f"{what}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
        return None


def region(tag: str, backup: bool, mib: int):
    with torch_memory_saver.region(tag=tag, enable_cpu_backup=backup):
        return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def main() -> None:
    torch_memory_saver.hook_mode = "torch"  # by an allocator of its own, not by LD_PRELOAD
    kept = [attempt("kept", lambda: region("kept", True, 32)), attempt("lost", lambda: region("lost", False, 64))]
    for turn in ("first", "second"):
        attempt(f"{turn} pause", torch_memory_saver.pause)
        attempt(f"{turn} resume of kept", lambda: torch_memory_saver.resume("kept"))
        attempt(f"{turn} resume of lost", lambda: torch_memory_saver.resume("lost"))
    kept.clear()
    torch.cuda.synchronize()
    sys.stdout.flush()
    # Its pools end with the interpreter, outside a region, and it then ends the process with 1, shim or not.
    os._exit(failed)


if __name__ == "__main__":
    main()
