# SPDX-License-Identifier: Apache-2.0
"""cuda.core launches a kernel of PTX on a mapped buffer; the emulator runs it."""

import numpy
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, ObjectCode, VirtualMemoryResource, VirtualMemoryResourceOptions, launch

from client import check, require_emulator_if_asked

SCALE = b"""
.version 8.0
.target sm_80
.address_size 64

.visible .entry scale(
    .param .u64 values,
    .param .f32 by,
    .param .u32 count
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<5>;

    ld.param.u64 %rd1, [values];
    ld.param.f32 %f1, [by];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mov.u32 %r5, %nctaid.x;
    mad.lo.u32 %r6, %r2, %r3, %r4;
    mul.lo.u32 %r7, %r5, %r3;
next:
    setp.ge.u32 %p1, %r6, %r1;
    @%p1 ret;
    mul.wide.u32 %rd2, %r6, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd3], %f3;
    add.u32 %r6, %r6, %r7;
    bra next;
}
"""


def main() -> None:
    device = Device(0)
    device.set_current()
    require_emulator_if_asked()
    size = 4 << 20
    resource = VirtualMemoryResource(device, VirtualMemoryResourceOptions(handle_type=None))
    buffer = resource.allocate(size)
    sent = numpy.arange(size // 4, dtype=numpy.float32)
    check(driver.cuMemcpyHtoD(int(buffer.handle), sent.ctypes.data, size))
    kernel = ObjectCode.from_ptx(SCALE).get_kernel("scale")
    stream = device.create_stream()
    launch(stream, LaunchConfig(grid=24, block=256), kernel, int(buffer.handle), numpy.float32(0.5),
           numpy.uint32(sent.size))
    check(driver.cuStreamSynchronize(int(stream.handle)))
    received = numpy.zeros_like(sent)
    check(driver.cuMemcpyDtoH(received.ctypes.data, int(buffer.handle), size))
    assert (received == sent / 2).all(), "the kernel left other numbers"
    buffer.close()
    print("cuda.core: a kernel of PTX ran")


if __name__ == "__main__":
    main()
