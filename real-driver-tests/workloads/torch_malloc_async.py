# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the driver's stream-ordered allocator (backend:cudaMallocAsync): training, and two streams that hand
tensors to each other.

With POOL_USE_EARLY=1 one stream clears a tensor without waiting for the stream that allocates it.
"""

import os

import stopwatch
import torch


def hand_over(early: bool) -> list:
    makes, uses = torch.cuda.Stream(), torch.cuda.Stream()
    sums = []
    if early:
        # Loading a kernel waits for a busy GPU.
        (torch.full((1, 1 << 18), 0.0, device="cuda").zero_() * 2).mean()
        torch.cuda.synchronize()
    for step in range(100):
        with torch.cuda.stream(makes):
            if early:
                torch.cuda._sleep(1 << 31)  # a second
            data = torch.full((1 + step % 17, 1 << 18), float(step), device="cuda")
            ready = torch.cuda.Event()
            ready.record()
        with torch.cuda.stream(uses):
            if early:
                data.zero_()
            else:
                uses.wait_event(ready)
            sums.append((data * 2).mean())
            data.record_stream(uses)
        del data
        if early:
            break
    torch.cuda.synchronize()
    return [each.item() for each in sums]


def train() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(100):
        x = torch.randn(64 * (1 + step % 29), 256, device="cuda")
        loss = torch.nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True) / 16)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()


def main() -> None:
    assert torch.cuda.memory.get_allocator_backend() == "cudaMallocAsync"
    early = "POOL_USE_EARLY" in os.environ
    with stopwatch.work():
        sums = hand_over(early)
        if not early:
            assert all(abs(each - 2 * step) < 1e-3 for step, each in enumerate(sums)), sums
            train()


if __name__ == "__main__":
    main()
