# SPDX-License-Identifier: Apache-2.0
"""PyTorch's CUDA graphs in private pools: captured, replayed, shared between graphs, given back."""

import gc

import stopwatch
import torch
import torch_expandable


def capture(pool, size: int) -> tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]:
    given = torch.zeros(size, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # the warm-up must not run in the capture
        (given * 2 + 1).sum()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        result = (given * 2 + 1).sum()
    return graph, given, result


def main() -> None:
    with stopwatch.work():
        shared = torch.cuda.graph_pool_handle()
        for pools in ((None, None), (shared, shared)):
            graphs = [capture(pool, 1 << (16 + 4 * i)) for i, pool in enumerate(pools)]
            for step in range(5):
                for graph, given, result in graphs:
                    given.fill_(step)
                    graph.replay()
                    torch.cuda.synchronize()
                    assert result.item() == given.numel() * (2 * step + 1), "a replay gave another sum"
            del graphs, graph, given, result
            gc.collect()
            torch.cuda.empty_cache()
        torch.zeros(1 << 20, device="cuda")
    torch_expandable.require()


if __name__ == "__main__":
    main()
