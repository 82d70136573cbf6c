# SPDX-License-Identifier: Apache-2.0
"""PyTorch: torch.compile of forward and backward, against the same model uncompiled."""

import stopwatch
import torch
import torch_expandable


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 1024), torch.nn.SiLU(), torch.nn.LayerNorm(1024), torch.nn.Linear(1024, 64)
    ).cuda()
    compiled = torch.compile(model)
    x = torch.randn(2048, 512, device="cuda")
    with stopwatch.work():
        for _ in range(5):
            model.zero_grad()
            compiled(x).square().mean().backward()
        torch.cuda.synchronize()
    torch_expandable.require()
    got = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).square().mean().backward()
    for mine, wanted in zip(got, (p.grad for p in model.parameters()), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-2, atol=1e-4)


if __name__ == "__main__":
    main()
