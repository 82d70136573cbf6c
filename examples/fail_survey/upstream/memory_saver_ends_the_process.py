# SPDX-License-Identifier: Apache-2.0
"""torch_memory_saver (0.0.10, hook_mode "torch"): an allocation that is too large ends the process.

    cuvmm run --emulate -- python3 memory_saver_ends_the_process.py

PyTorch would give back what it has cached and try again, or raise torch.OutOfMemoryError. Needs no cuvmm on a machine
with a GPU.
"""

import os

import torch
from torch_memory_saver import torch_memory_saver

torch_memory_saver.hook_mode = "torch"
try:
    with torch_memory_saver.region(tag="kv_cache"):
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    print("1 TiB: out of memory, as it should be", flush=True)
    os._exit(0)
