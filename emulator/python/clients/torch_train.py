# SPDX-License-Identifier: Apache-2.0
"""PyTorch trains small networks to the end of the loop: its allocator does all of its work, its kernels are skipped.

The loop computes garbage, which this script ignores. cuDNN does not start here, so it is disabled.
torch_train.py [expandable]: the environment enables the allocator's expandable segments.
"""

import sys

import torch

MIB = 1 << 20
EXPANDABLE = "expandable" in sys.argv


def networks() -> list[tuple[torch.nn.Module, tuple[int, ...]]]:
    nn = torch.nn
    linear = nn.Sequential(nn.Linear(256, 2048), nn.GELU(), nn.Dropout(0.1), nn.Linear(2048, 10))
    conv = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(16 * 15 * 15, 10))
    return [(linear, (256,)), (conv, (3, 32, 32))]


def train(model: torch.nn.Module, shape: tuple[int, ...], optimizer_type) -> None:
    model.cuda()
    optimizer = optimizer_type(model.parameters(), lr=1e-3)
    side = torch.cuda.Stream()
    for step in range(12):
        size = 16 * (1 + step % 5)
        given = torch.randn(size, *shape, device="cuda")
        wanted = torch.zeros(size, dtype=torch.long, device="cuda")
        loss = torch.nn.functional.cross_entropy(model(given), wanted)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.cuda.stream(side):
            scratch = torch.empty(50 * MIB, dtype=torch.uint8, device="cuda").fill_(1)
        scratch.record_stream(torch.cuda.current_stream())
        del scratch
        if step % 4 == 3:
            torch.cuda.empty_cache()
        loss.item()  # waits for the device


def graph(model: torch.nn.Module, shape: tuple[int, ...]) -> None:
    given = torch.randn(16, *shape, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        model(given)
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        model(given)
    for _ in range(5):
        captured.replay()
    torch.cuda.synchronize()


def check_snapshot() -> None:
    torch.cuda.empty_cache()
    kept = torch.empty(30 * MIB, dtype=torch.uint8, device="cuda")
    segments = torch.cuda.memory_snapshot()
    assert {segment["is_expandable"] for segment in segments} == {EXPANDABLE}
    used = sum(segment["allocated_size"] for segment in segments)
    held = sum(segment["total_size"] for segment in segments)
    assert used == torch.cuda.memory_allocated() >= 30 * MIB, used
    assert held == torch.cuda.memory_reserved() >= used, held
    free, total = torch.cuda.mem_get_info()
    assert total - free >= held, "the device does not know what the allocator holds"
    del kept


def exhaust() -> None:
    """The device runs out of memory as a GPU does, and the allocator then releases its cached
    memory."""
    total = torch.cuda.mem_get_info()[1]
    try:
        torch.empty(2 * total, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return
    raise AssertionError(f"there is more than {total >> 20} MiB")


def main() -> None:
    torch.backends.cudnn.enabled = False
    for (model, shape), optimizer in zip(networks(), (torch.optim.AdamW, torch.optim.SGD)):
        train(model, shape, optimizer)
        graph(model.eval(), shape)
    check_snapshot()
    exhaust()
    torch.cuda.synchronize()
    print("PyTorch", torch.__version__, "trains on the emulator, and computes nothing")


if __name__ == "__main__":
    main()
