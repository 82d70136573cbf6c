# SPDX-License-Identifier: Apache-2.0
"""PyTorch: torch.profiler, which subscribes to the driver's callbacks (CUPTI), around allocations."""

import stopwatch
import torch
import torch_expandable
from torch.profiler import ProfilerActivity, profile


def main() -> None:
    torch.zeros(1, device="cuda")
    with stopwatch.work():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as run:
            for step in range(50):
                a = torch.randn(256 * (1 + step % 8), 1024, device="cuda")
                (a @ a.T).sum().item()
            torch.cuda.synchronize()
    torch_expandable.require()
    events = run.key_averages()
    assert sum(event.device_time_total for event in events) > 0, "the profiler saw no work on the device"


if __name__ == "__main__":
    main()
