# SPDX-License-Identifier: Apache-2.0
"""Two processes with a device each, started by torchrun."""

import os

import seeded
import torch
import torch.distributed as dist


def _begin() -> int:
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    return rank


def _net() -> torch.nn.Module:
    torch.manual_seed(39)
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    return torch.nn.Sequential(linear(128, 512), relu(), linear(512, 512), relu(), linear(512, 8)).cuda()


def _steps(model: torch.nn.Module, rank: int) -> list[torch.Tensor]:
    torch.manual_seed(rank)
    x, labels = seeded.on_device(32, 128), (torch.arange(32) % 8).cuda()
    return seeded.train(model, lambda net, _: torch.nn.functional.cross_entropy(net(x), labels))


def ddp():
    rank = _begin()
    trained = _steps(torch.nn.parallel.DistributedDataParallel(_net(), device_ids=[rank]), rank)
    dist.barrier()
    dist.destroy_process_group()
    return trained if rank == 0 else None


def fsdp():
    """Each process keeps half of every layer; the whole ones are gathered when they are needed."""
    from torch.distributed.fsdp import fully_shard

    rank = _begin()
    net = _net()
    for layer in net:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer)
    fully_shard(net)
    losses = _steps(net, rank)[:4]
    whole = [parameter.full_tensor().detach().cpu() for parameter in net.parameters()]
    dist.barrier()
    dist.destroy_process_group()
    return (losses, whole) if rank == 0 else None
