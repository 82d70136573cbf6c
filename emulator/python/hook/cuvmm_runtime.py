# SPDX-License-Identifier: Apache-2.0
"""Leads cuda.bindings.runtime to the emulator's libcudart, and cuda.core's linker to its libcuda. Opt-in: `cuvmm run --emulate --python`, or this folder on PYTHONPATH.

cuda-python's wheels have NVIDIA's runtime inside (statically linked), which starts on a real driver
only. Their Cython modules find each other's functions in a table of capsules, `__pyx_capi__`: this
hook replaces the capsules of the module that holds the runtime, after its import and before that of
the modules that use it, by capsules with an equal signature and the address of a function of the
emulator's libcudart. Functions that this libcudart does not export are unchanged.

nvJitLink makes cubins of PTX, which the emulator skips. Where it is not installed, cuda.core asks
the driver to link (cuLink*), and the emulator passes the PTX on: kernels of numba-cuda then run.
Therefore the hook makes nvJitLink appear not to be installed.

The hook does nothing unless the process's libcuda is the emulator.
"""

from __future__ import annotations

import ctypes
import functools
import pathlib

from cuvmm_start import EMULATOR, after_import, on_the_emulator

# The modules that contain the runtime: of cuda-bindings 13.2 and later, and of earlier versions;
# and the suffixes of their functions' names in libcudart (with per-thread default streams, stream 0
# is the thread's own).
_HOLDERS = {
    "cuda.bindings._internal.runtime": ("",),
    "cuda.bindings._internal.runtime_ptds": ("_ptsz", "_ptds", ""),
    "cuda.bindings._bindings.cyruntime": ("",),
    "cuda.bindings._bindings.cyruntime_ptds": ("_ptsz", "_ptds", ""),
}
# CUDA 12's header maps these names to other functions.
_RENAMED_IN_12 = {
    name: name + "_v2"
    for name in (
        "cudaGetDeviceProperties", "cudaSignalExternalSemaphoresAsync", "cudaWaitExternalSemaphoresAsync",
        "cudaStreamGetCaptureInfo",
    )
}
_LINKER = "cuda.bindings._internal.nvjitlink"

_api = ctypes.pythonapi
_api.PyCapsule_GetName.restype = ctypes.c_void_p  # an address, because a capsule does not copy its name
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]


def _runtime() -> tuple[ctypes.CDLL, int] | None:
    from cuda.bindings import __version__

    major = int(__version__.split(".")[0])
    path = pathlib.Path(EMULATOR, f"libcudart.so.{major}")
    return (ctypes.CDLL(str(path)), major) if path.exists() else None


def _address(library: ctypes.CDLL, major: int, name: str, endings: tuple[str, ...]) -> int | None:
    if major == 12:
        name = _RENAMED_IN_12.get(name, name)
    for ending in endings:
        function = getattr(library, name + ending, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value
    return None


def lead(module, endings: tuple[str, ...]) -> int:
    """Replaces the capsules of a module that has just been imported; returns the number of those
    replaced."""
    if not on_the_emulator() or (found := _runtime()) is None:
        return 0
    library, major = found
    table = module.__pyx_capi__
    count = 0
    for key, capsule in list(table.items()):
        if not key.startswith("_cuda"):
            continue
        address = _address(library, major, key[1:], endings)
        if address is not None:
            # The capsule's name is its signature, a literal in the module, which is never unloaded.
            table[key] = _api.PyCapsule_New(address, _api.PyCapsule_GetName(capsule), None)
            count += 1
    return count


def hide_linker(module) -> None:
    """cuda.core calls this function to find out whether a function of nvJitLink is available."""
    if on_the_emulator():
        module._inspect_function_pointer = lambda name: 0


def install() -> None:
    """Replaces the capsules of each of these modules when it is imported from now on."""
    changes = {name: functools.partial(lead, endings=endings) for name, endings in _HOLDERS.items()}
    after_import({**changes, _LINKER: hide_linker})
