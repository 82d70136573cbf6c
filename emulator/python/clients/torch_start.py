# SPDX-License-Identifier: Apache-2.0
"""PyTorch starts, allocates (expandable segments too), copies, shares with another process; its kernels are skipped."""

import sys

import torch
import torch.multiprocessing


def child(given, answer) -> None:
    tensor = given.get()
    same = bool((tensor.cpu() == torch.arange(1000)).all())
    del tensor
    answer.put(same)


def share() -> None:
    context = torch.multiprocessing.get_context("spawn")
    given, answer = context.Queue(), context.Queue()
    process = context.Process(target=child, args=(given, answer))
    process.start()
    tensor = torch.arange(1000).cuda()
    given.put(tensor)
    assert answer.get(timeout=90), "the other process sees other contents"
    process.join()
    assert process.exitcode == 0


def main() -> None:
    assert torch.cuda.is_available() and torch.cuda.device_count() >= 2
    assert torch.cuda.get_device_capability(0) == (9, 0)
    numbers = torch.arange(1 << 20)
    here = numbers.cuda()
    assert torch.equal(here.clone().cpu(), numbers)
    assert torch.equal(here.to("cuda:1").cpu(), numbers)
    stream, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        there = torch.empty_like(numbers, device="cuda").copy_(numbers.pin_memory(), non_blocking=True)
        event.record()
    event.synchronize()
    assert torch.equal(there.cpu(), numbers)
    blocks = [torch.empty(size << 20, dtype=torch.uint8, device="cuda") for size in (1, 30, 3, 200)]
    assert torch.cuda.memory_allocated() >= 234 << 20
    expandable = {segment["is_expandable"] for segment in torch.cuda.memory_snapshot()}
    assert expandable == {"expandable" in sys.argv}, f"segments that are expandable: {expandable}"
    del blocks
    torch.cuda.empty_cache()
    share()
    (here + 1).cpu()  # the kernel is skipped
    print("PyTorch", torch.__version__, "works but for its kernels")


if __name__ == "__main__":
    main()
