# SPDX-License-Identifier: Apache-2.0
"""PyTorch's expandable segments (2.15.0): after one refused mapping, the segment never allocates again.

    cuvmm run --emulate --fail cuMemMap@1 -- python3 torch_segment_broken_for_ever.py
    cuvmm run --emulate --fail cuMemSetAccess@1 -- python3 torch_segment_broken_for_ever.py
"""

import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch

worked = False
for attempt in range(3):
    try:
        torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
        worked = True
        print("attempt", attempt, "worked")
    except Exception as error:
        print("attempt", attempt, type(error).__name__, str(error).splitlines()[0])
torch.cuda.empty_cache()
in_use = (torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0]) >> 20
print(f"the allocator holds {torch.cuda.memory_reserved() >> 20} MiB; the device says that {in_use} MiB are in use")
os._exit(0 if worked else 1)
