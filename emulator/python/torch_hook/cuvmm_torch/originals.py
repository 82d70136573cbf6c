# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own CUDA kernels of the operators that this package replaces."""

from __future__ import annotations

import torch

_kernels: dict[str, object] = {}
_CUDA = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)


def keep(name: str) -> bool:
    """Remembers the CUDA kernel of an operator, before it is replaced; False if this PyTorch cannot (before 2.9)."""
    get_kernel = getattr(torch.library, "get_kernel", None)
    if get_kernel is None:
        return False
    _kernels[name] = get_kernel(name, "CUDA")
    return True


def call(name: str, *args, **kwargs):
    """Runs the kernel that keep() remembered."""
    return _kernels[name].call_boxed(_CUDA, *args, **kwargs)


# aten::copy_ has one kernel for all devices that have none of their own. The HPU's entry in the table of
# kernels leads to it in every version of PyTorch.
_ANY = torch._C.DispatchKeySet(torch._C.DispatchKey.HPU)


def copy(target: torch.Tensor, source: torch.Tensor, non_blocking: bool) -> torch.Tensor:
    """target.copy_(source) without a kernel: the driver copies the bytes. Both have the same type and layout."""
    return torch.ops.aten.copy_.default.redispatch(_ANY, target, source, non_blocking)
