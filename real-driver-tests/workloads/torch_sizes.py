# SPDX-License-Identifier: Apache-2.0
"""PyTorch: allocations of many sizes, freed in another order, with empty_cache between the rounds."""

import random

import stopwatch
import torch
import torch_expandable


def one_round(rng: random.Random) -> None:
    tensors = {}
    for step in range(400):
        size = int(2 ** rng.uniform(0, 28))  # bytes, 1 to 256 MiB, as many small as large
        tensors[step] = (torch.full((size,), step % 251, dtype=torch.uint8, device="cuda"), step % 251)
        while sum(t.numel() for t, _ in tensors.values()) > 8 << 30:
            del tensors[rng.choice(list(tensors))]
        if step % 3 == 0 and len(tensors) > 1:
            del tensors[rng.choice(list(tensors))]
    torch_expandable.require()
    for tensor, value in tensors.values():
        assert bool((tensor[:: max(1, tensor.numel() // 1000)] == value).all()), "contents changed"


def main() -> None:
    rng = random.Random(1)
    torch.zeros(1, device="cuda")
    with stopwatch.work():
        for _ in range(6):
            one_round(rng)
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        # Nearly all of the device's memory at once, after the small pieces are freed.
        free, _ = torch.cuda.mem_get_info()
        large = torch.empty(int(free * 0.8), dtype=torch.uint8, device="cuda")
        large[-1] = 3
        assert large[-1].item() == 3
        del large
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
