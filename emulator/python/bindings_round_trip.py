# SPDX-License-Identifier: Apache-2.0
"""cuda.bindings from reserve to free: properties, data there and back, aliases, refusals, queries."""

import numpy
from cuda.bindings import driver

from client import check, granularity, mapped, properties, start


def data_round_trip(size: int) -> None:
    handle = check(driver.cuMemCreate(size, properties(), 0))
    sent = numpy.random.default_rng(1).integers(0, 256, size, dtype=numpy.uint8)
    received = numpy.zeros_like(sent)
    with mapped(handle, size) as address, mapped(handle, size) as alias:
        check(driver.cuMemcpyHtoD(address, sent.ctypes.data, size))
        check(driver.cuMemcpyDtoH(received.ctypes.data, alias, size))
        assert (sent == received).all(), "another address of the same memory shows other bytes"
        check(driver.cuMemsetD8(alias, 7, size))
        check(driver.cuMemcpyDtoH(received.ctypes.data, address, size))
        assert (received == 7).all(), "a fill through the alias is not seen"
    check(driver.cuMemRelease(handle))


def copies_on_a_stream(size: int) -> None:
    stream = check(driver.cuStreamCreate(0))
    first = check(driver.cuMemCreate(size, properties(), 0))
    second = check(driver.cuMemCreate(size, properties(), 0))
    numbers = numpy.arange(size // 4, dtype=numpy.uint32)
    back = numpy.zeros_like(numbers)
    with mapped(first, size) as a, mapped(second, size) as b:
        check(driver.cuMemcpyHtoDAsync(a, numbers.ctypes.data, size, stream))
        check(driver.cuMemcpyDtoDAsync(b, a, size, stream))
        check(driver.cuMemcpyDtoHAsync(back.ctypes.data, b, size, stream))
        check(driver.cuStreamSynchronize(stream))
        assert (numbers == back).all(), "copies in stream order do not arrive"
    check(driver.cuMemRelease(first))
    check(driver.cuMemRelease(second))
    check(driver.cuStreamDestroy(stream))


def queries(size: int) -> None:
    handle = check(driver.cuMemCreate(size, properties(), 0))
    with mapped(handle, size) as address:
        prop = check(driver.cuMemGetAllocationPropertiesFromHandle(handle))
        assert prop.location.id == 0
        location = driver.CUmemLocation()
        location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        location.id = 0
        assert check(driver.cuMemGetAccess(location, address)) == 3
        retained = check(driver.cuMemRetainAllocationHandle(address + 4096))
        assert int(retained) == int(handle), "an allocation has one handle value"
        check(driver.cuMemRelease(retained))
        base, length = check(driver.cuMemGetAddressRange(address + 4096))
        assert (int(base), length) == (address, size)
        kind = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        memory_type = check(driver.cuPointerGetAttribute(kind, address))
        assert memory_type == driver.CUmemorytype.CU_MEMORYTYPE_DEVICE, memory_type
    check(driver.cuMemRelease(handle))


def memory_is_given_back(size: int) -> None:
    before, total = check(driver.cuMemGetInfo())
    handle = check(driver.cuMemCreate(size, properties(), 0))
    during, _ = check(driver.cuMemGetInfo())
    check(driver.cuMemRelease(handle))
    after, _ = check(driver.cuMemGetInfo())
    assert 0 < before <= total and before - during == size and after == before, (before, during, after)


def main() -> None:
    start()
    size = 3 * granularity(properties())
    data_round_trip(size)
    copies_on_a_stream(size)
    queries(size)
    memory_is_given_back(size)
    print("cuda.bindings: reserve to free works")


if __name__ == "__main__":
    main()
