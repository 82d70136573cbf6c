# SPDX-License-Identifier: Apache-2.0
"""The few functions of libcuda that the allocator needs, by ctypes alone."""

from __future__ import annotations

import ctypes

_cuda = ctypes.CDLL("libcuda.so.1")
_U64, _SIZE, _INT = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int
_DEVICE, _PINNED, _READ_WRITE, _RECOMMENDED = 1, 1, 3, 1


class _Location(ctypes.Structure):
    _fields_ = [("type", _INT), ("id", _INT)]


class _Properties(ctypes.Structure):
    _fields_ = [("type", _INT), ("handle_types", _INT), ("location", _Location), ("win32", ctypes.c_void_p),
                ("flags", ctypes.c_ubyte * 8), ("reserved", _U64 * 8)]


class _Access(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", _INT)]


class CudaError(RuntimeError):
    """A call was refused."""


def _must(name: str, *arguments: object) -> None:
    result = getattr(_cuda, name)(*arguments)
    if result != 0:
        raise CudaError(f"{name} answered {result}")


def start() -> None:
    """Makes the first device's context current."""
    context = ctypes.c_void_p()
    _must("cuInit", 0)
    _must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    _must("cuCtxSetCurrent", context)


def granularity() -> int:
    size, properties = _SIZE(), _Properties(type=_PINNED, location=_Location(_DEVICE, 0))
    _must("cuMemGetAllocationGranularity", ctypes.byref(size), ctypes.byref(properties), _RECOMMENDED)
    return size.value


def reserve(size: int) -> int:
    address = _U64()
    _must("cuMemAddressReserve", ctypes.byref(address), _SIZE(size), _SIZE(0), _U64(0), _U64(0))
    return address.value


def free_address(address: int, size: int) -> None:
    _must("cuMemAddressFree", _U64(address), _SIZE(size))


def create(size: int) -> int:
    handle, properties = _U64(), _Properties(type=_PINNED, location=_Location(_DEVICE, 0))
    _must("cuMemCreate", ctypes.byref(handle), _SIZE(size), ctypes.byref(properties), _U64(0))
    return handle.value


def release(handle: int) -> None:
    _must("cuMemRelease", _U64(handle))


def map_at(address: int, size: int, handle: int) -> None:
    access = _Access(_Location(_DEVICE, 0), _READ_WRITE)
    _must("cuMemMap", _U64(address), _SIZE(size), _SIZE(0), _U64(handle), _U64(0))
    _must("cuMemSetAccess", _U64(address), _SIZE(size), ctypes.byref(access), _SIZE(1))


def unmap(address: int, size: int) -> None:
    _must("cuMemUnmap", _U64(address), _SIZE(size))
