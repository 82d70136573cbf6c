# SPDX-License-Identifier: Apache-2.0
"""vLLM's sleep mode: its CuMemAllocator allocates, sleeps, wakes up and frees; no kernels.

VLLM_FOLDER has what lies in vllm's wheel: vllm/cumem_allocator*.so and vllm/device_allocator/. The rest of vLLM that
these import is stood in for here. An error is told and survived: the engine goes on without that memory, and later
sleeps and wakes up again. Exit code: 0, or 3 after an error that was survived.
"""

import ctypes
import gc
import logging
import os
import sys
import types

import torch

MIB = 1 << 20
failed = 0


def stand_in(name: str, **members) -> None:
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


class Runtime:
    """vllm.distributed's CudaRTLibrary, as far as the allocator uses it."""

    def __init__(self):
        self._library = ctypes.CDLL(None)

    def cudaMemcpy(self, to, source, size):
        code = self._library.cudaMemcpy(ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size), 4)
        if code:
            raise RuntimeError(f"CUDART error: {code}")


def find_loaded_library(name: str) -> str | None:
    with open("/proc/self/maps") as maps:
        return next((line.split()[-1] for line in maps if name in line and line.split()[-1].startswith("/")), None)


def prepare():
    folder = os.environ["VLLM_FOLDER"]
    package = types.ModuleType("vllm")
    package.__path__ = [os.path.join(folder, "vllm")]
    sys.modules["vllm"] = package
    stand_in("vllm.logger", init_logger=logging.getLogger)
    platform = types.SimpleNamespace(is_rocm=lambda: False, is_cuda_alike=lambda: True, is_xpu=lambda: False)
    stand_in("vllm.platforms", current_platform=platform)
    stand_in("vllm.utils")
    stand_in("vllm.utils.system_utils", find_loaded_library=find_loaded_library)
    stand_in("vllm.utils.torch_utils", PIN_MEMORY=True)
    for name in ("vllm.distributed", "vllm.distributed.device_communicators"):
        stand_in(name)
    stand_in("vllm.distributed.device_communicators.cuda_wrapper", CudaRTLibrary=Runtime)
    from vllm.device_allocator.cumem import CuMemAllocator

    return CuMemAllocator.get_instance()


def attempt(what, function):
    global failed
    try:
        result = function()
        print(what, flush=True)
        return result
    except Exception as error:
        failed = 3
        print(f"{what}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
        return None


def main() -> None:
    allocator = prepare()
    kept = []

    def fill(tag: str, mib: int):
        with allocator.use_memory_pool(tag):
            kept.append(torch.empty(mib * MIB, dtype=torch.uint8, device="cuda"))

    attempt("weights", lambda: fill("weights", 32))
    attempt("cache", lambda: fill("kv_cache", 64))
    # By now any single failure is over: memory is there again.
    attempt("more cache", lambda: fill("kv_cache", 30))
    for turn in ("first", "second"):
        attempt(f"{turn} sleep", lambda: allocator.sleep("weights"))
        attempt(f"{turn} waking of weights", lambda: allocator.wake_up(["weights"]))
        attempt(f"{turn} waking", allocator.wake_up)
    kept.clear()
    gc.collect()
    attempt("end", allocator.release_pools)
    torch.cuda.synchronize()
    sys.exit(failed)


if __name__ == "__main__":
    main()
