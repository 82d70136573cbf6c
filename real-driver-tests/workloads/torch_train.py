# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a small training loop with batches of changing size."""

import stopwatch
import torch
import torch_expandable


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 2048), torch.nn.GELU(),
        torch.nn.Linear(2048, 1),
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    with stopwatch.work():
        for step in range(200):
            x = torch.randn(64 * (1 + step % 29), 256, device="cuda")
            loss = torch.nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True) / 16)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
            if step % 50 == 49:
                torch.cuda.empty_cache()
        torch.cuda.synchronize()
    torch_expandable.require()
    first, last = torch.stack(losses[:20]).mean().item(), torch.stack(losses[-20:]).mean().item()
    assert last < first / 2, f"the loss went from {first} to {last}"


if __name__ == "__main__":
    main()
