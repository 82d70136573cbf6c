# SPDX-License-Identifier: Apache-2.0
"""PyTorch on an allocator that unmaps a tensor's memory while kernels still use it (vllm 43020).

torch_early_unmap.py LIBRARY: the library of early_unmap.cc. With EARLY_UNMAP_WAITS=1 it waits first,
and then nothing is wrong.
"""

import os
import sys

import torch


def main(library: str) -> None:
    waits = "EARLY_UNMAP_WAITS" in os.environ
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, "early_malloc", "early_free")
    torch.cuda.memory.change_current_allocator(allocator)
    result = torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    data = torch.ones(1 << 20, device="cuda")
    result.add_(data)  # once before, because loading a kernel may wait for the GPU
    torch.cuda.synchronize()
    torch.cuda._sleep(1 << 28)  # keeps the GPU busy without touching memory
    result.add_(data)
    del data  # frees the memory before the sum has begun
    try:
        torch.cuda.synchronize()
        faulted = False
    except RuntimeError as error:
        faulted = "illegal memory access" in str(error)
    print("the kernel faulted" if faulted else f"the sum is {result.sum().item()}", flush=True)
    # After a fault, no destructor can free its object.
    os._exit(0 if faulted != waits else 1)


if __name__ == "__main__":
    main(sys.argv[1])
