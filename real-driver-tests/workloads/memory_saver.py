# SPDX-License-Identifier: Apache-2.0
"""torch_memory_saver: regions that are paused and resumed, with and without a backup on the host."""

import os

import stopwatch
import torch
from torch_memory_saver import torch_memory_saver


def main() -> None:
    torch_memory_saver.hook_mode = "torch"  # by an allocator of its own, not by LD_PRELOAD
    with stopwatch.work():
        with torch_memory_saver.region(tag="kept", enable_cpu_backup=True):
            kept = torch.full((32 << 20,), 7, device="cuda", dtype=torch.uint8)
        with torch_memory_saver.region(tag="lost"):
            lost = torch.full((64 << 20,), 9, device="cuda", dtype=torch.uint8)
        for _ in range(5):
            address = lost.data_ptr()
            torch.cuda.synchronize()
            torch_memory_saver.pause()
            torch_memory_saver.resume()
            assert lost.data_ptr() == address
            lost.fill_(9)
            assert bool((kept == 7).all()) and bool((lost == 9).all()), "other contents"
            torch_memory_saver.pause("lost")
            torch_memory_saver.resume("lost")
        torch.cuda.synchronize()
    # The library's pools end with the interpreter, outside a region; it then ends the process with
    # 1, shim or not.
    os._exit(0)


if __name__ == "__main__":
    main()
