#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wall time of an allocation-heavy PyTorch loop on expandable segments, as cuvmm-bench's JSON."""

import argparse
import json
import os
import random
import time

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
import torch  # noqa: E402  (reads the variable)

ROUNDS, TENSORS, MIB = 40, 64, 1 << 20


def loop(chooser):
    """Blocks grow, die in any order, and all segments are given back every few rounds."""
    tensors = []
    for turn in range(ROUNDS):
        for _ in range(TENSORS):
            tensors.append(torch.empty(chooser.randint(1, 48) * MIB, dtype=torch.uint8, device="cuda"))
            if len(tensors) > TENSORS // 2:
                tensors.pop(chooser.randrange(len(tensors)))
        if turn % 4 == 3:
            tensors.clear()
            torch.cuda.empty_cache()
    torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="bare")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    torch.zeros(1, device="cuda")
    loop(random.Random(1))
    times = []
    for seed in range(5):
        start = time.perf_counter()
        loop(random.Random(seed))
        times.append((time.perf_counter() - start) * 1e3)
    times.sort()
    result = {"name": f"wall/torch-expandable-segments/{arguments.name}", "run_type": "iteration",
              "iterations": len(times), "real_time": times[2], "cpu_time": times[2], "time_unit": "ms", "p99": times[-1]}
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"context": {"torch": torch.__version__}, "benchmarks": [result]}, file, indent=1)


if __name__ == "__main__":
    main()
