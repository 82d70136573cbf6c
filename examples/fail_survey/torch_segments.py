# SPDX-License-Identifier: Apache-2.0
"""PyTorch's expandable segments: grow, give back holes, fill them, on two streams; no kernels.

An error is told and survived, as by programs that catch torch.OutOfMemoryError and make do with less. Exit code: 0, or 3
after an error that was survived.
"""

import os
import sys

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import torch

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


def tensor(mib: int):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def main() -> None:
    blocks = [attempt(f"{mib} MiB", lambda mib=mib: tensor(mib)) for mib in (1, 30, 30, 30)]
    blocks[2] = None  # a hole
    attempt("give the hole back", torch.cuda.empty_cache)
    blocks.append(attempt("fill the hole", lambda: tensor(20)))
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        blocks.append(attempt("another stream", lambda: tensor(40)))
    again = attempt("after all", lambda: tensor(30))
    assert again is not None or failed
    del again
    blocks.clear()
    attempt("give all back", torch.cuda.empty_cache)
    again = attempt("again", lambda: tensor(10))
    del again
    attempt("give that back", torch.cuda.empty_cache)
    if torch.cuda.memory_allocated() != 0:
        print("memory is in use that nobody holds", file=sys.stderr)
        sys.exit(4)
    sys.exit(failed)


if __name__ == "__main__":
    main()
