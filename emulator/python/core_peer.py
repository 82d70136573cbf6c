# SPDX-License-Identifier: Apache-2.0
"""cuda.core: a VirtualMemoryResource that grants a peer access; each device uses the other's memory."""

import numpy
from cuda.bindings import driver
from cuda.core import Device, VirtualMemoryResource, VirtualMemoryResourceOptions

from client import check, require_emulator_if_asked


def main() -> None:
    first, second = Device(0), Device(1)
    first.set_current()
    require_emulator_if_asked()
    here = VirtualMemoryResource(first, VirtualMemoryResourceOptions(handle_type=None, peers=[1]))
    there = VirtualMemoryResource(second, VirtualMemoryResourceOptions(handle_type=None, peers=[0]))
    size = 8 << 20
    sent = numpy.arange(size // 4, dtype=numpy.uint32)
    received = numpy.zeros_like(sent)
    a, b = here.allocate(size), there.allocate(size)
    check(driver.cuMemcpyHtoD(int(a.handle), sent.ctypes.data, size))
    check(driver.cuMemcpyDtoD(int(b.handle), int(a.handle), size))  # device 0 writes device 1's memory
    second.set_current()
    check(driver.cuMemcpyDtoH(received.ctypes.data, int(a.handle), size))  # device 1 reads device 0's memory
    assert (sent == received).all(), "the peer reads other bytes"
    received[:] = 0
    check(driver.cuMemcpyDtoH(received.ctypes.data, int(b.handle), size))
    assert (sent == received).all(), "the copy between the devices brought other bytes"
    a.close()
    b.close()
    print("cuda.core: peers use each other's buffers")


if __name__ == "__main__":
    main()
