# SPDX-License-Identifier: Apache-2.0
"""A Python program with a mistake: it gives memory back twice. No GPU, and nothing to install but cuvmm:

    cuvmm run --emulate -- python3 first_finding.py
"""
import ctypes
import sys

try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    me = f"-m {__spec__.name}" if __spec__ else sys.argv[0]
    sys.exit(f"no CUDA driver can be loaded ({error}); cuvmm has one. Type: cuvmm run --emulate -- python3 {me}")


def must(result):
    assert result == 0, f"CUresult {result}"


class Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location_type", ctypes.c_int),
                ("location_id", ctypes.c_int), ("meta", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]


def main():
    device, context, handle, size = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t()
    must(cuda.cuInit(0))
    must(cuda.cuDeviceGet(ctypes.byref(device), 0))
    must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    must(cuda.cuCtxSetCurrent(context))
    pinned_on_device = Properties(type=1, location_type=1, location_id=device.value)
    must(cuda.cuMemGetAllocationGranularity(ctypes.byref(size), ctypes.byref(pinned_on_device), 0))
    must(cuda.cuMemCreate(ctypes.byref(handle), size, ctypes.byref(pinned_on_device), ctypes.c_uint64(0)))
    must(cuda.cuMemRelease(handle))
    cuda.cuMemRelease(handle)  # and again; nobody looks at the answer
    print("done")


main()
