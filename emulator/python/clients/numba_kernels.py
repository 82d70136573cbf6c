# SPDX-License-Identifier: Apache-2.0
"""numba-cuda compiles kernels, the emulator runs them, and the results are right: sums, shared memory, atomics, branches.

With the start-up hook (`cuvmm run --emulate --python`), by which the PTX reaches the emulator.
"""

import numpy
from numba import cuda

BLOCK = 128


@cuda.jit
def add(left, right, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = left[i] + right[i]


@cuda.jit
def total(values, out):
    shared = cuda.shared.array(BLOCK, dtype=numpy.float32)
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    shared[thread] = values[i] if i < values.size else 0
    cuda.syncthreads()
    width = BLOCK // 2
    while width:
        if thread < width:
            shared[thread] += shared[thread + width]
        cuda.syncthreads()
        width //= 2
    if thread == 0:
        cuda.atomic.add(out, 0, shared[0])


@cuda.jit
def collatz(numbers, steps):
    i = cuda.grid(1)
    if i < numbers.size:
        n, count = numbers[i], 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        steps[i] = count


def collatz_here(n: int) -> int:
    count = 0
    while n != 1:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


def main() -> None:
    values = numpy.arange(1000, dtype=numpy.float32)
    grid = (values.size + BLOCK - 1) // BLOCK
    left, right, out = cuda.to_device(values), cuda.to_device(values * 2), cuda.device_array_like(values)
    add[grid, BLOCK](left, right, out)
    assert numpy.array_equal(out.copy_to_host(), values * 3), "the sums are wrong"
    sums = cuda.to_device(numpy.zeros(1, numpy.float32))
    total[grid, BLOCK](left, sums)
    assert sums.copy_to_host()[0] == values.sum(), "the total is wrong"
    numbers = numpy.arange(1, 65, dtype=numpy.int64)
    steps = cuda.device_array_like(numbers)
    collatz[1, 64](cuda.to_device(numbers), steps)
    assert steps.copy_to_host().tolist() == [collatz_here(int(n)) for n in numbers]
    print("numba", __import__("numba_cuda").__version__, "runs its kernels")


if __name__ == "__main__":
    main()
