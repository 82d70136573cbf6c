# SPDX-License-Identifier: Apache-2.0
"""cuda.core compiles CUDA C++ to PTX (NVRTC), launches it on memory of a pool, and the results are right."""

import importlib.util
import sys

import numpy
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
template <typename T>
__global__ void add(const T* left, const T* right, T* out, unsigned count) {
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    out[i] = left[i] + right[i];
  }
}
"""


def main() -> None:
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    for kind, name in ((numpy.float32, "float"), (numpy.int64, "long long")):
        program = Program(SOURCE, "c++", ProgramOptions(arch="sm_90"))
        kernel = program.compile("ptx", name_expressions=(f"add<{name}>",)).get_kernel(f"add<{name}>")
        values = numpy.arange(1000, dtype=kind)
        left, right, out = (device.allocate(values.nbytes, stream=stream) for _ in range(3))
        for buffer in (left, right):
            driver.cuMemcpyHtoD(int(buffer.handle), values.ctypes.data, values.nbytes)
        launch(stream, LaunchConfig(grid=4, block=128), kernel, left, right, out, numpy.uint32(values.size))
        stream.sync()
        received = numpy.zeros_like(values)
        driver.cuMemcpyDtoH(received.ctypes.data, int(out.handle), values.nbytes)
        assert numpy.array_equal(received, values * 2), f"the sums of {name} are wrong"
        for buffer in (left, right, out):
            buffer.close(stream)
    stream.sync()
    print("cuda.core", __import__("cuda.core").core.__version__, "compiles and runs kernels")


if __name__ == "__main__":
    if importlib.util.find_spec("nvidia") is None:
        print("skipped: there is no NVRTC")
        sys.exit(77)
    main()
