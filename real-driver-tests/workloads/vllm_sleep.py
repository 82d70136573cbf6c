# SPDX-License-Identifier: Apache-2.0
"""vLLM's allocator (its extension cumem_allocator alone, from the wheel): use, sleep, wake up, free.

The flow is that of vLLM's sleep mode: every allocation of a pool is unmapped and released, made and mapped again at the
same address, and its contents brought back.
"""

import gc

import torch  # first: the extension needs its libraries

import cumem_allocator
import stopwatch

allocations: dict[int, tuple] = {}


def allocated(handle: tuple) -> None:
    allocations[handle[2]] = handle


def freed(address: int) -> tuple:
    return allocations.pop(address)


def main() -> None:
    cumem_allocator.init_module(allocated, freed)
    allocator = torch.cuda.memory.CUDAPluggableAllocator(cumem_allocator.__file__, "my_malloc", "my_free")
    pool = torch.cuda.memory.MemPool(allocator._allocator)
    with stopwatch.work():
        with torch.cuda.memory.use_mem_pool(pool):
            tensors = [torch.full((1 << power,), power, device="cuda", dtype=torch.int32) for power in range(16, 27, 2)]
        assert allocations, "nothing came from the extension"
        for _ in range(5):
            contents_before = [tensor.cpu() for tensor in tensors]
            torch.cuda.synchronize()
            for handle in allocations.values():
                cumem_allocator.python_unmap_and_release(*handle)
            for handle in allocations.values():
                cumem_allocator.python_create_and_map(*handle)
            for tensor, contents in zip(tensors, contents_before):
                tensor.copy_(contents)
            torch.cuda.synchronize()
            assert all(bool((t == p).all()) for t, p in zip(tensors, range(16, 27, 2))), "other contents"
        del tensors, tensor
        gc.collect()
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
