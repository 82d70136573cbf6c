# SPDX-License-Identifier: Apache-2.0
"""vLLM's cumem_allocator (0.33.0): after one allocation was too large, every later one fails as well.

    VLLM_FOLDER=FOLDER_WITH_vllm cuvmm run --emulate -- python3 vllm_out_of_memory_for_ever.py

Needs no cuvmm on a machine with a GPU.
"""

import gc
import glob
import importlib.util
import os

import torch  # first: the extension needs its libraries

(path,) = glob.glob(os.path.join(os.environ["VLLM_FOLDER"], "vllm", "cumem_allocator*.so"))
spec = importlib.util.spec_from_file_location("cumem_allocator", path)
extension = importlib.util.module_from_spec(spec)
spec.loader.exec_module(extension)
known = {}


def allocated(handle: tuple) -> None:
    known[handle[2]] = handle


def freed(address: int) -> tuple:
    return known.pop(address)


extension.init_module(allocated, freed)
allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "my_malloc", "my_free")
pool = torch.cuda.memory.MemPool(allocator._allocator)


def allocate(mib: int):
    try:
        with torch.cuda.memory.use_mem_pool(pool):
            return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return None


first = allocate(32)
assert first is not None
print("32 MiB: allocated")
assert allocate(1 << 20) is None
print("1 TiB: out of memory, as it should be")
second = allocate(34)
free = torch.cuda.mem_get_info()[0] >> 20
print(f"34 MiB: {'allocated' if second is not None else 'OUT OF MEMORY'}, with {free} MiB free")
print(f"the allocator was told of {len(known)} allocations; {len([t for t in (first, second) if t is not None])} are there")
gc.collect()
os._exit(0 if second is not None else 1)
