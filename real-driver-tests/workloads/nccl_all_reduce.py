# SPDX-License-Identifier: Apache-2.0
"""One process for each of two devices (torchrun): NCCL all-reduce and send/recv on cuMem memory."""

import os

import stopwatch
import torch
import torch.distributed as dist
import torch_expandable


def main() -> None:
    for name, value in (("NCCL_NVLS_ENABLE", "0"), ("NCCL_CUMEM_ENABLE", "1")):
        assert os.environ.get(name) == value, f"{name} must be {value}"
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    world = dist.get_world_size()
    with stopwatch.work():
        for power in range(4, 27):
            data = torch.full((1 << power,), float(rank + 1), device="cuda")
            dist.all_reduce(data)
            assert bool((data == world * (world + 1) / 2).all()), f"wrong sum at 2^{power}"
        other = torch.zeros(1 << 20, device="cuda")
        mine = torch.full_like(other, float(rank))
        peer = (rank + 1) % world
        for request in dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, mine, peer), dist.P2POp(dist.irecv, other, peer)]
        ):
            request.wait()
        assert bool((other == peer).all()), "send/recv brought wrong contents"
        torch.cuda.synchronize()
    torch_expandable.require(rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
