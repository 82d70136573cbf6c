# SPDX-License-Identifier: Apache-2.0
"""NCCL with a pool of its own memory that is registered (torchrun, two devices): all-reduce in place."""

import os

import stopwatch
import torch
import torch.distributed as dist


def main() -> None:
    assert os.environ.get("NCCL_NVLS_ENABLE") == "0"
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    backend = dist.group.WORLD._get_backend(device)
    world = dist.get_world_size()
    dist.all_reduce(torch.zeros(1, device=device))  # the communicator begins with the first call
    with stopwatch.work():
        for step in range(3):
            pool = torch.cuda.MemPool(backend.mem_allocator)
            with torch.cuda.use_mem_pool(pool):
                data = torch.full((1 << 22,), float(rank + 1), device=device)
            backend.register_mem_pool(pool)
            for _ in range(5):
                data.fill_(float(rank + 1))
                dist.all_reduce(data)
                assert bool((data == world * (world + 1) / 2).all()), f"step {step}: wrong sum"
            torch.cuda.synchronize()
            backend.deregister_mem_pool(pool)
            del data, pool
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
