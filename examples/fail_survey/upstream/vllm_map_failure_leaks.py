# SPDX-License-Identifier: Apache-2.0
"""vLLM's cumem_allocator (0.33.0): an allocation whose mapping is refused keeps its memory, and its record.

    VLLM_FOLDER=FOLDER_WITH_vllm cuvmm run --emulate --fail cuMemMap@1 -- python3 vllm_map_failure_leaks.py
    VLLM_FOLDER=FOLDER_WITH_vllm cuvmm run --emulate --fail cuMemSetAccess@1 -- python3 vllm_map_failure_leaks.py

create_and_map() returns without cuMemRelease (and cuMemUnmap); my_malloc() then frees the addresses, which are still
mapped in the second case, and the memory that holds the handle. Python was told of the allocation before it was made
and is not told that it failed: sleep() would unmap it and use the freed memory.
"""

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
before = torch.cuda.mem_get_info()[0]
try:
    with torch.cuda.memory.use_mem_pool(pool):
        torch.empty(32 << 20, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    print("32 MiB: out of memory")
lost = (before - torch.cuda.mem_get_info()[0]) >> 20
print(f"{lost} MiB are gone, and {len(known)} allocation is known that does not exist")
# CuMemAllocator.sleep() does this with each allocation that it knows.
for handle in known.values():
    try:
        extension.python_unmap_and_release(*handle)
        print("sleep: unmapped and released")
    except RuntimeError as error:
        print("sleep:", error)
torch.cuda.synchronize()
os._exit(1 if lost or known else 0)
