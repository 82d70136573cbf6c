# SPDX-License-Identifier: Apache-2.0
"""The common part of the PyTorch workloads: proof that expandable segments, and with them VMM, are in use."""

import torch


def require(device: int = 0) -> None:
    """Fails unless the caching allocator of `device` holds expandable segments and no others."""
    segments = [s for s in torch.cuda.memory_snapshot() if s["device"] == device]
    assert segments, f"device {device} holds no segment"
    assert all(s["is_expandable"] for s in segments), "PYTORCH_CUDA_ALLOC_CONF did not take effect"
