# SPDX-License-Identifier: Apache-2.0
"""The functions that the client scripts share: the check of a result, the properties, the check of
the loaded libcuda."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

from cuda.bindings import driver

FD = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


def check(result: tuple):
    """The values of a cuda.bindings call, None, one or several; raises with the code's name if it failed."""
    code, *values = result
    if code != driver.CUresult.CUDA_SUCCESS:
        raise AssertionError(f"the driver answered {code.name}")
    return values[0] if len(values) == 1 else tuple(values) or None


def require_emulator_if_asked() -> None:
    """With CUVMM_TEST_EMULATED=1, fails unless the libcuda in this process is the emulator or a shim."""
    if os.environ.get("CUVMM_TEST_EMULATED") != "1":
        return
    with open("/proc/self/maps") as maps:
        loaded = {line.split()[-1] for line in maps if "libcuda.so" in line}
    mode = os.RTLD_NOLOAD | os.RTLD_LAZY
    if not any(hasattr(ctypes.CDLL(path, mode), "cuvmmEmulatorVersion") for path in loaded):
        raise AssertionError(f"the emulator is not loaded; libcuda is {sorted(loaded) or 'absent'}")


def start(ordinal: int = 0) -> None:
    """Calls cuInit, and makes the device's primary context current."""
    check(driver.cuInit(0))
    require_emulator_if_asked()
    device = check(driver.cuDeviceGet(ordinal))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(device))))


def properties(ordinal: int = 0, handle_type=None) -> driver.CUmemAllocationProp:
    prop = driver.CUmemAllocationProp()
    prop.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    prop.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    prop.location.id = ordinal
    if handle_type is not None:
        prop.requestedHandleTypes = handle_type
    return prop


def granularity(prop: driver.CUmemAllocationProp) -> int:
    flag = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    return check(driver.cuMemGetAllocationGranularity(prop, flag))


@contextlib.contextmanager
def mapped(handle, size: int, ordinals: tuple[int, ...] = (0,)) -> Iterator[int]:
    """Maps `handle` for the given devices and yields the address; unmaps and frees it
    afterwards."""
    address = int(check(driver.cuMemAddressReserve(size, 0, 0, 0)))
    check(driver.cuMemMap(address, size, 0, handle, 0))
    descs = []
    for ordinal in ordinals:
        desc = driver.CUmemAccessDesc()
        desc.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        desc.location.id = ordinal
        desc.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        descs.append(desc)
    check(driver.cuMemSetAccess(address, size, descs, len(descs)))
    try:
        yield address
    finally:
        check(driver.cuMemUnmap(address, size))
        check(driver.cuMemAddressFree(address, size))
