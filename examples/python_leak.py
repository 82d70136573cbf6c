# SPDX-License-Identifier: Apache-2.0
"""A cache in Python that leaks memory: it unmaps an unused block, but does not release it.

    cuvmm run --emulate -- python3 python_leak.py
"""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")


class Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location_type", ctypes.c_int),
                ("location_id", ctypes.c_int), ("meta", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]


def must(result):
    assert result == 0, f"CUresult {result}"


class Cache:
    BLOCK = 2 << 20

    def __init__(self, blocks):
        self.base = ctypes.c_uint64()
        must(cuda.cuMemAddressReserve(ctypes.byref(self.base), ctypes.c_size_t(blocks * self.BLOCK), ctypes.c_size_t(0),
                                      ctypes.c_uint64(0), ctypes.c_uint64(0)))

    def address(self, block):
        return ctypes.c_uint64(self.base.value + block * self.BLOCK)

    def fill(self, block):
        handle, device = ctypes.c_uint64(), Properties(type=1, location_type=1)
        must(cuda.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(self.BLOCK), ctypes.byref(device), ctypes.c_uint64(0)))
        must(cuda.cuMemMap(self.address(block), ctypes.c_size_t(self.BLOCK), ctypes.c_size_t(0), handle, ctypes.c_uint64(0)))

    def evict(self, block):
        must(cuda.cuMemUnmap(self.address(block), ctypes.c_size_t(self.BLOCK)))  # cuMemRelease is missing

    def close(self, blocks):
        must(cuda.cuMemAddressFree(self.base, ctypes.c_size_t(blocks * self.BLOCK)))


context = ctypes.c_void_p()
must(cuda.cuInit(0))
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
must(cuda.cuCtxSetCurrent(context))
cache = Cache(blocks=4)
for number in range(4):
    cache.fill(number)
for number in range(4):
    cache.evict(number)
cache.close(blocks=4)
must(cuda.cuDevicePrimaryCtxRelease(0))
print("done")
