# SPDX-License-Identifier: Apache-2.0
"""cuda.bindings.runtime and cuda.core's calls of it, led to the emulator's libcudart by emulator/python/hook."""

import numpy
from cuda.bindings import runtime
from cuda.core import Device

from client import require_emulator_if_asked


def check(result: tuple):
    code, *values = result
    assert code == runtime.cudaError_t.cudaSuccess, f"the runtime answered {code.name}"
    return values[0] if len(values) == 1 else tuple(values) or None


def main() -> None:
    assert check(runtime.cudaGetDeviceCount()) > 1
    require_emulator_if_asked()
    size = 1 << 16
    sent = numpy.arange(size, dtype=numpy.uint8)
    received = numpy.zeros_like(sent)
    pointer = check(runtime.cudaMalloc(size))
    kind = runtime.cudaMemcpyKind
    check(runtime.cudaMemcpy(pointer, sent.ctypes.data, size, kind.cudaMemcpyHostToDevice))
    check(runtime.cudaMemcpy(received.ctypes.data, pointer, size, kind.cudaMemcpyDeviceToHost))
    assert (sent == received).all(), "the runtime's copies brought other bytes"
    check(runtime.cudaFree(pointer))
    assert check(runtime.cudaGetDeviceProperties(0)).multiProcessorCount > 1
    code, *_ = runtime.cudaEventCreateWithFlags(1 << 20)
    assert code == runtime.cudaError_t.cudaErrorInvalidValue
    assert check(runtime.cudaDeviceGetPCIBusId(13, 1)).rstrip(b"\0").decode() == Device(1).pci_bus_id

    device = Device(0)
    device.set_current()
    device.sync()
    print("cuda.bindings.runtime and cuda.core: led to the emulator's libcudart")


if __name__ == "__main__":
    main()
