# SPDX-License-Identifier: Apache-2.0
"""cuda.core's VirtualMemoryResource: allocate, fill, grow, read back, close.

With 1.2.0 to 1.2.2 each buffer that is closed leaks its memory: deallocate releases the reference
that it retained itself and never the one of cuMemCreate (NVIDIA/cuda-python issue 2882); growing
leaks a retained one as well. The buffer that growing replaced is then "freed" again, at address 0.
"""

import numpy
from cuda.bindings import driver
from cuda.core import Device, VirtualMemoryResource, VirtualMemoryResourceOptions

from client import check, require_emulator_if_asked


def main() -> None:
    device = Device(0)
    device.set_current()
    require_emulator_if_asked()
    resource = VirtualMemoryResource(device, VirtualMemoryResourceOptions(handle_type=None))
    small, large = 4 << 20, 16 << 20
    buffer = resource.allocate(small)
    sent = numpy.arange(small // 4, dtype=numpy.uint32)
    check(driver.cuMemcpyHtoD(int(buffer.handle), sent.ctypes.data, small))
    # The range behind the buffer is taken, so growing has to move: reserve, remap, free.
    blocker = check(driver.cuMemAddressReserve(large, 0, int(buffer.handle) + small, 0))
    grown = resource.modify_allocation(buffer, large)
    received = numpy.zeros_like(sent)
    check(driver.cuMemcpyDtoH(received.ctypes.data, int(grown.handle), small))
    assert grown.size == large and (sent == received).all(), "growing lost the contents"
    check(driver.cuMemsetD8(int(grown.handle) + small, 1, large - small))
    grown.close()
    check(driver.cuMemAddressFree(blocker, large))
    print("cuda.core: a buffer grows and keeps its contents")


if __name__ == "__main__":
    main()
