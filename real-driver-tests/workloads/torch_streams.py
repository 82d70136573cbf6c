# SPDX-License-Identifier: Apache-2.0
"""PyTorch: two streams that hand tensors to each other and free them while work is under way."""

import stopwatch
import torch
import torch_expandable


def main() -> None:
    makes, uses = torch.cuda.Stream(), torch.cuda.Stream()
    sums = []
    with stopwatch.work():
        for step in range(300):
            with torch.cuda.stream(makes):
                data = torch.full((1 + step % 17, 1 << 18), float(step), device="cuda")
                ready = torch.cuda.Event()
                ready.record()
            with torch.cuda.stream(uses):
                uses.wait_event(ready)
                sums.append((data * 2).mean())
                data.record_stream(uses)
            del data
            if step % 100 == 99:
                torch.cuda.empty_cache()
        torch.cuda.synchronize()
    torch_expandable.require()
    for step, value in enumerate(sums):
        # A mean is a sum of many terms: equal only up to rounding.
        assert abs(value.item() - 2.0 * step) <= 1e-5 * step, f"step {step} gave {value.item()}"


if __name__ == "__main__":
    main()
