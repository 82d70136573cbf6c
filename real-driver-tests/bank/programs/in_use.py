# SPDX-License-Identifier: Apache-2.0
"""Checks that PyTorch uses the allocator that the environment names, so that no program tests another one unnoticed."""

import os
import sys


def require() -> None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return
    asked = os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
    backend = torch.cuda.memory.get_allocator_backend()
    if backend != ("cudaMallocAsync" if "cudaMallocAsync" in asked else "native"):
        sys.exit(f"the allocator is {backend}; asked for: {asked or 'nothing'}")
    if backend == "native":
        expandable = {segment["is_expandable"] for segment in torch.cuda.memory_snapshot()}
        if expandable - {"expandable_segments:True" in asked}:
            sys.exit(f"segments are {'not ' if False in expandable else ''}expandable; asked for: {asked or 'nothing'}")
