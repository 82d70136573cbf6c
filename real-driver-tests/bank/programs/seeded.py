# SPDX-License-Identifier: Apache-2.0
"""PyTorch, set up so that two runs of a program give equal bytes as far as it can promise that."""

import os

import torch

torch.manual_seed(39)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.backends.cudnn.benchmark = False
# (PyTorch would fill new memory, which costs kernels that programs do not have.)
torch.utils.deterministic.fill_uninitialized_memory = False
if os.environ.get("CUVMM_TEST_EMULATED"):  # cuDNN does not start on the emulator (docs/testing/pytorch.md)
    torch.backends.cudnn.enabled = False
    torch.backends.cuda.enable_cudnn_sdp(False)


def on_device(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Random numbers from the CPU, so that each GPU gets equal ones."""
    return torch.randn(*shape).to("cuda", dtype)


def train(model: torch.nn.Module, loss_of, steps: int = 4, rate: float = 1e-3) -> list[torch.Tensor]:
    """Some steps of AdamW; the losses, and the last parameters of the model."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    losses = []
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, step)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *model.parameters()]
