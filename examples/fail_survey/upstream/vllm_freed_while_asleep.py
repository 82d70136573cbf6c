# SPDX-License-Identifier: Apache-2.0
"""vLLM's CuMemAllocator (0.33.0): a tensor that is freed while the allocator sleeps is unmapped and released again.

    VLLM_FOLDER=FOLDER_WITH_vllm cuvmm run --emulate -- python3 vllm_freed_while_asleep.py

sleep() has released the handle. _python_free_callback() leaves out the second release on ROCm, but not on CUDA.
"""

import gc
import os
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from vllm_sleep import prepare  # noqa: E402

allocator = prepare()
with allocator.use_memory_pool("weights"):
    weights = torch.empty(32 << 20, dtype=torch.uint8, device="cuda")
allocator.sleep("weights")
print("asleep:", allocator.get_current_usage() >> 20, "MiB are known")
del weights
gc.collect()
allocator.release_pools()  # frees what the pool has kept, as at the end of the process
torch.cuda.synchronize()
print("the end:", allocator.get_current_usage() >> 20, "MiB are known")
sys.stdout.flush()
os._exit(0)
