# SPDX-License-Identifier: Apache-2.0
"""PyPI's nvidia-ml-py: it and cuda.bindings.driver see the same devices, and NVML starts no driver."""

import uuid

import pynvml
from cuda.bindings import driver

from client import check, require_emulator_if_asked, start


def device_facts(count: int) -> None:
    for ordinal in range(count):
        bus = check(driver.cuDeviceGetPCIBusId(32, ordinal)).split(b"\0")[0].decode()
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(bus)
        assert pynvml.nvmlDeviceGetIndex(handle) == ordinal
        own = uuid.UUID(bytes=check(driver.cuDeviceGetUuid(ordinal)).bytes)
        assert pynvml.nvmlDeviceGetUUID(handle) == f"GPU-{own}"
        assert pynvml.nvmlDeviceGetPciInfo(handle).busId.upper() == "0000" + bus.upper()
        name = check(driver.cuDeviceGetName(96, ordinal)).split(b"\0")[0].decode()
        assert pynvml.nvmlDeviceGetName(handle) == name
        total = check(driver.cuDeviceTotalMem(ordinal))
        assert pynvml.nvmlDeviceGetMemoryInfo(handle).total == total
        assert pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2).total == total


def main() -> None:
    pynvml.nvmlInit()
    count = pynvml.nvmlDeviceGetCount()
    code, *_ = driver.cuDeviceGetCount()
    assert code == driver.CUresult.CUDA_ERROR_NOT_INITIALIZED, "NVML started the driver; the process could not fork"
    start()
    require_emulator_if_asked()
    assert check(driver.cuDeviceGetCount()) == count > 1
    device_facts(count)
    first, second = (pynvml.nvmlDeviceGetHandleByIndex(i) for i in (0, 1))
    assert pynvml.nvmlDeviceGetP2PStatus(first, second, pynvml.NVML_P2P_CAPS_INDEX_NVLINK) == pynvml.NVML_P2P_STATUS_OK

    before = pynvml.nvmlDeviceGetMemoryInfo(first).used
    address = check(driver.cuMemAlloc(8 << 20))
    assert pynvml.nvmlDeviceGetMemoryInfo(first).used - before >= 8 << 20
    check(driver.cuMemFree(address))
    assert pynvml.nvmlDeviceGetMemoryInfo(first).used == before
    try:
        pynvml.nvmlDeviceGetMigMode(first)
        raise AssertionError("there is no MIG here")
    except pynvml.NVMLError_NotSupported:
        pass
    pynvml.nvmlShutdown()
    print("nvidia-ml-py: the same devices as libcuda's")


if __name__ == "__main__":
    main()
