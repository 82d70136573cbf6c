# SPDX-License-Identifier: Apache-2.0
"""PyTorch on two devices: tensors copied both ways, so that segments are opened to the peer."""

import stopwatch
import torch
import torch_expandable


def main() -> None:
    assert torch.cuda.can_device_access_peer(0, 1), "the devices are no peers"
    with stopwatch.work():
        for step in range(60):
            here = torch.full((1 << (10 + step % 16),), float(step), device="cuda:0")
            there = here.to("cuda:1")
            back = (there + 1).to("cuda:0")
            assert bool((back == step + 1).all()), f"step {step}: wrong contents"
            if step % 20 == 19:
                del here, there, back
                torch.cuda.empty_cache()
        here = torch.arange(1 << 22, device="cuda:0")  # grows segments that a peer has access to
        there = torch.arange(1 << 24, device="cuda:1")
        assert here.to("cuda:1").sum().item() == here.sum().item()
        assert there.to("cuda:0").sum().item() == there.sum().item()
    torch_expandable.require(0)
    torch_expandable.require(1)


if __name__ == "__main__":
    main()
