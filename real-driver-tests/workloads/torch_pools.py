# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own pools (torch.cuda.MemPool): filled, used from two streams, given back, filled again."""

import gc

import stopwatch
import torch


def main() -> None:
    with stopwatch.work():
        for round_ in range(3):
            pool = torch.cuda.MemPool()
            other = torch.cuda.Stream()
            with torch.cuda.use_mem_pool(pool):
                tensors = [torch.full((1 << power,), float(power), device="cuda") for power in range(8, 25, 2)]
            with torch.cuda.stream(other):
                other.wait_stream(torch.cuda.default_stream())
                sums = [tensor.sum() for tensor in tensors]
            for tensor in tensors:
                tensor.record_stream(other)
            torch.cuda.synchronize()
            assert [s.item() / t.numel() for s, t in zip(sums, tensors)] == [float(p) for p in range(8, 25, 2)]
            assert len(pool.snapshot()) > 0, "the pool holds nothing"
            del tensors, tensor, sums, pool
            gc.collect()
            if round_ == 1:
                torch.cuda.empty_cache()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
