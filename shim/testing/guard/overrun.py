#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program with one mistake of memory, for `cuvmm run --guard`, `--quarantine` and `--poison`.

Usage: overrun.py MISTAKE, on the emulator or a real GPU. The program prints its answers: `MISTAKE
CODE` and more numbers.
"""
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
GRANULE = 2 << 20
Address, Size, Handle, Pointer = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_void_p

# Writes `count` words, beginning at `out`.
KERNEL = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry fill(.param .u64 .ptr out, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r5;
DONE:
  ret;
}
"""


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Properties(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", Location), ("security", Pointer),
                ("flags", ctypes.c_ubyte * 8)]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        sys.exit(f"{name} answered {code}")


def reserve(size, hint=0, alignment=0):
    address = Address()
    call("cuMemAddressReserve", ctypes.byref(address), Size(size), Size(alignment), Address(hint), Address(0))
    return address.value


def create(size, handle_types=0):
    handle = Handle()
    properties = Properties(type=1, handle_types=handle_types, location=Location(1, 0))
    call("cuMemCreate", ctypes.byref(handle), Size(size), ctypes.byref(properties), Address(0))
    return handle


def allow(address, size):
    call("cuMemSetAccess", Address(address), Size(size), ctypes.byref(Access(Location(1, 0), 3)), Size(1))


def map_at(address, size, handle=None):
    handle = handle or create(size)
    call("cuMemMap", Address(address), Size(size), Size(0), handle, Address(0))
    allow(address, size)
    return handle


def unmap(address, size):
    call("cuMemUnmap", Address(address), Size(size))


def free(address, size):
    call("cuMemAddressFree", Address(address), Size(size))


def words(address, count):
    host = (ctypes.c_uint32 * count)()
    call("cuMemcpyDtoH_v2", host, Address(address), Size(4 * count))
    return list(host)


def launch(address, count):
    module, function = Pointer(), Pointer()
    call("cuModuleLoadData", ctypes.byref(module), KERNEL)
    call("cuModuleGetFunction", ctypes.byref(function), module, b"fill")
    out, number = Address(address), ctypes.c_uint32(count)
    parameters = (Pointer * 2)(ctypes.addressof(out), ctypes.addressof(number))
    code = cuda.cuLaunchKernel(function, (count + 255) // 256, 1, 1, 256, 1, 1, 0, None, parameters, None)
    return code or cuda.cuCtxSynchronize()


def neighbours():
    """Two reservations that lie side by side, both mapped; the first word of the second is 7."""
    # A driver fills its holes first, and may go upwards or downwards.
    every = sorted(reserve(GRANULE) for _ in range(16))
    pairs = [pair for pair in zip(every, every[1:]) if pair[1] - pair[0] == GRANULE]
    ranges = pairs[0] if pairs else min(zip(every, every[1:]), key=lambda pair: pair[1] - pair[0])
    for address in ranges:
        map_at(address, GRANULE)
    call("cuMemsetD32_v2", Address(ranges[1]), 7, Size(1))
    return ranges


def overrun(write):
    low, high = neighbours()
    apart = high - low - GRANULE
    code = write(low)
    print(apart // GRANULE, code, end=" ")
    # After a fault no memory can be read.
    print(words(high, 1)[0] if code in (0, 1) else "?")


def copy_over(address):
    source = ctypes.create_string_buffer(b"\1" * (GRANULE + 4))
    return cuda.cuMemcpyHtoD_v2(Address(address), source, Size(GRANULE + 4))


def fill_over(address):
    return cuda.cuMemsetD8_v2(Address(address), 1, Size(GRANULE + 4))


def kernel_over(address):
    return launch(address, GRANULE // 4 + 1)


def freed():
    """A range is freed and another owner reserves its place; the old address then reaches the new
    owner's bytes."""
    old = reserve(GRANULE)
    handle = map_at(old, GRANULE)
    unmap(old, GRANULE)
    call("cuMemRelease", handle)
    free(old, GRANULE)
    new = reserve(GRANULE)
    map_at(new, GRANULE)
    # Behind the kernel's fault no call works any more.
    again = ["-", "-"]
    if new != old:
        again = [cuda.cuMemAddressFree(Address(old), Size(GRANULE)),
                 cuda.cuMemMap(Address(old), Size(GRANULE), Size(0), Handle(0), Address(0))]
    print(int(new == old), launch(old, 1), *again)


def pointers():
    """The driver's answers about a range, and about the addresses beside it."""
    size = 3 * GRANULE
    base = reserve(size, alignment=4 * GRANULE)
    map_at(base, GRANULE)
    start, length = Address(), Size()
    call("cuMemGetAddressRange_v2", ctypes.byref(start), ctypes.byref(length), Address(base + 5))
    printed = [start.value - base, length.value]
    for number in (11, 12):  # RANGE_START_ADDR, RANGE_SIZE
        value = Address()
        call("cuPointerGetAttribute", ctypes.byref(value), number, Address(base + 5))
        printed.append(value.value - (base if number == 11 else 0))
    # cuPointerGetAttributes also knows parts of reservations where nothing is mapped.
    for address in (base + GRANULE, base + size, base - 1):
        start, length = Address(1), Size(1)
        numbers = (ctypes.c_int * 2)(11, 12)
        data = (Pointer * 2)(ctypes.addressof(start), ctypes.addressof(length))
        call("cuPointerGetAttributes", 2, numbers, data, Address(address))
        printed += [start.value - base if start.value != 1 else "?", length.value]
    print(base % (4 * GRANULE), printed)


def poison():
    """The contents of new memory, of memory that was mapped elsewhere before, and of shared
    memory."""
    base = reserve(4 * GRANULE)
    handle = map_at(base, GRANULE)
    new = words(base, 2)
    call("cuMemsetD32_v2", Address(base), 5, Size(1))
    unmap(base, GRANULE)
    map_at(base + GRANULE, GRANULE, handle)
    moved = words(base + GRANULE, 2)
    # Exported before it is mapped, so that another process may have written to it.
    shared, descriptor = create(GRANULE, handle_types=1), ctypes.c_int()
    call("cuMemExportToShareableHandle", ctypes.byref(descriptor), shared, 1, Address(0))
    map_at(base + 2 * GRANULE, GRANULE, shared)
    # Its handle is released already, so that the unmapping ends the memory.
    ends = map_at(base + 3 * GRANULE, GRANULE)
    call("cuMemRelease", ends)
    unmap(base + 3 * GRANULE, GRANULE)
    print([hex(word) for word in new + moved + words(base + 2 * GRANULE, 1)])


def large():
    """The range is as large as a range may be, so that the address space has no room for guards."""
    reserve(GRANULE)
    size = 1 << 46
    print("free", cuda.cuMemAddressFree(Address(reserve(size)), Size(size)))


MISTAKES = {"copy": lambda: overrun(copy_over), "fill": lambda: overrun(fill_over),
            "kernel": lambda: overrun(kernel_over), "freed": freed, "pointers": pointers, "poison": poison,
            "large": large}


def main():
    context = Pointer()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    print(sys.argv[1], end=" ")
    MISTAKES[sys.argv[1]]()


if __name__ == "__main__":
    main()
