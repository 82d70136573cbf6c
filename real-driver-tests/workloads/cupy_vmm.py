# SPDX-License-Identifier: Apache-2.0
"""CuPy on a VMM allocator of its own: each array is one reservation with one mapping."""

import cupy
import stopwatch
from cuda.bindings import driver

ALLOCATIONS: dict[int, int] = {}  # address -> mapped bytes


def check(result):
    code, *values = result
    assert code == driver.CUresult.CUDA_SUCCESS, f"the driver answered {code.name}"
    return values[0] if values else None


def allocate(size: int, ordinal: int) -> int:
    prop = driver.CUmemAllocationProp()
    prop.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    prop.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    prop.location.id = ordinal
    minimum = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    granularity = check(driver.cuMemGetAllocationGranularity(prop, minimum))
    size = max(1, (size + granularity - 1) // granularity) * granularity
    address = int(check(driver.cuMemAddressReserve(size, 0, 0, 0)))
    handle = check(driver.cuMemCreate(size, prop, 0))
    check(driver.cuMemMap(address, size, 0, handle, 0))
    check(driver.cuMemRelease(handle))
    access = driver.CUmemAccessDesc()
    access.location = prop.location
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    check(driver.cuMemSetAccess(address, size, [access], 1))
    ALLOCATIONS[address] = size
    return address


def free(address: int, ordinal: int) -> None:
    del ordinal
    size = ALLOCATIONS.pop(address)
    check(driver.cuCtxSynchronize())  # unlike cudaFree, cuMemUnmap does not wait
    check(driver.cuMemUnmap(address, size))
    check(driver.cuMemAddressFree(address, size))


def work() -> None:
    for step in range(1, 30):
        a = cupy.random.default_rng(step).standard_normal((64 * step, 256))
        b = cupy.asarray(cupy.asnumpy(a))
        assert bool((a == b).all())
        product = a.T @ b
        cupy.testing.assert_allclose(cupy.linalg.norm(a) ** 2, cupy.trace(product), rtol=1e-6)
        spectrum = cupy.fft.ifft(cupy.fft.fft(a, axis=1), axis=1).real
        cupy.testing.assert_allclose(spectrum, a, atol=1e-8)


def main() -> None:
    cupy.zeros(1)
    cupy.cuda.set_allocator(cupy.cuda.PythonFunctionAllocator(allocate, free).malloc)
    with stopwatch.work():
        work()
    # The interpreter's end frees CuPy's caches (FFT plans, library work areas).
    print(f"{len(ALLOCATIONS)} arrays are still alive")


if __name__ == "__main__":
    main()
