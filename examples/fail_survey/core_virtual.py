# SPDX-License-Identifier: Apache-2.0
"""cuda.core's VirtualMemoryResource: allocate, grow in place, grow by moving, close.

An error is told and survived, as a service would; then what the library promises of errors is looked at: "the original
buffer is not modified". Exit code: 0, or 3 after an error that was survived.
"""

import sys

from cuda.bindings import driver
from cuda.core import Device, VirtualMemoryResource, VirtualMemoryResourceOptions

MIB = 1 << 20
failed = 0


def attempt(what, function, *arguments):
    global failed
    try:
        result = function(*arguments)
        print(what, flush=True)
        return result
    except Exception as error:
        failed = 3
        print(f"{what}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return None


def usable(buffer) -> None:
    """The first and the last byte can still be written and read."""
    for offset in (0, buffer.size - 1):
        (code,) = driver.cuMemsetD8(int(buffer.handle) + offset, 7, 1)
        assert code == driver.CUresult.CUDA_SUCCESS, f"the buffer cannot be used: {code.name}"


def main() -> None:
    device = Device(0)
    device.set_current()
    resource = VirtualMemoryResource(device, VirtualMemoryResourceOptions(handle_type=None))
    first = attempt("allocate", resource.allocate, 2 * MIB)
    if first:
        usable(first)
        grown = attempt("grow in place", resource.modify_allocation, first, 4 * MIB)
        usable(grown or first)
        first = grown or first
    # The second allocation takes the addresses behind the first, so growth has to move.
    second = attempt("allocate another", resource.allocate, 2 * MIB)
    if second:
        neighbour = int(second.handle) + 2 * MIB
        code, taken = driver.cuMemAddressReserve(2 * MIB, 0, neighbour, 0)
        grown = attempt("grow by moving", resource.modify_allocation, second, 4 * MIB)
        usable(grown or second)
        second = grown or second
        if code == driver.CUresult.CUDA_SUCCESS:
            driver.cuMemAddressFree(taken, 2 * MIB)
    for what, buffer in (("close", first), ("close the other", second)):
        if buffer:
            attempt(what, buffer.close)
    driver.cuCtxSynchronize()  # a call after all: what is left now is a leak
    sys.exit(failed)


if __name__ == "__main__":
    main()
