# SPDX-License-Identifier: Apache-2.0
"""PyTorch's symmetric memory on two devices (torchrun), without multicast: buffers of the peer, read and written."""

import os

import stopwatch
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric


def main() -> None:
    assert os.environ.get("TORCH_SYMM_MEM_DISABLE_MULTICAST") == "1"
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    group = dist.group.WORLD
    peer = (rank + 1) % dist.get_world_size()
    with stopwatch.work():
        for step in range(20):
            mine = symmetric.empty(1 << (10 + step % 10), dtype=torch.float32, device=f"cuda:{rank}")
            handle = symmetric.rendezvous(mine, group)
            theirs = handle.get_buffer(peer, mine.shape, mine.dtype)
            theirs.fill_(float(rank + step))
            handle.barrier()
            torch.cuda.synchronize()
            assert bool((mine == float(peer + step)).all()), f"step {step}: the peer's write is not seen"
            dist.barrier()
            if step % 5 == 0:
                mine.fill_(float(rank + 1))
                handle.barrier()
                total = torch.ops.symm_mem.one_shot_all_reduce(mine, "sum", group.group_name)
                assert bool((total == 3.0).all()), f"step {step}: wrong sum"
            dist.barrier()
            del mine, theirs, handle
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
