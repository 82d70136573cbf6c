# SPDX-License-Identifier: Apache-2.0
"""Launches the kernels of bank.tsv by the driver's functions, each in a context of its own, because a
mistake about memory ends the context. usage: client.py PTX bank | PTX vmm"""
import ctypes
import lzma
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
MIB = 1 << 20
GRANULE = 2 * MIB
cuda = ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments) -> int:
    return getattr(cuda, name)(*arguments)


def ok(name: str, *arguments) -> None:
    result = call(name, *arguments)
    assert result == 0, (name, result)


def u64(value: int = 0) -> ctypes.c_uint64:
    return ctypes.c_uint64(value)


class Own:
    """A context of a device, with the module and some memory in it."""

    def __init__(self, ptx: bytes, device: int = 0):
        self.context, self.module = ctypes.c_void_p(), ctypes.c_void_p()
        ok("cuCtxCreate_v2", ctypes.byref(self.context), 0, device)
        ok("cuModuleLoadData", ctypes.byref(self.module), ptx)

    def memory(self, size: int) -> int:
        address = u64()
        ok("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def run(self, kernel: str, a: int, b: int, n: int, blocks: int = 1, threads: int = 1, shared: int = 0) -> None:
        function = ctypes.c_void_p()
        ok("cuModuleGetFunction", ctypes.byref(function), self.module, kernel.encode())
        values = (u64(a), u64(b), ctypes.c_int(n))
        pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
        ok("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, shared, None, pointers, None)

    def end(self) -> None:
        call("cuCtxSynchronize")  # answers the kernel's fault
        ok("cuCtxDestroy_v2", self.context)


def bank(ptx: bytes) -> None:
    for line in (HERE / "bank.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        pair, blocks, threads, shared, how, count, _ = line.split("\t")
        for kernel in (pair + "_bug", pair + "_ok"):
            own, n = Own(ptx), int(count)
            a, b = own.memory(4 * n), own.memory(4 * n)
            if how != "fresh":
                ok("cuMemsetD8_v2", u64(a), 0, ctypes.c_size_t(2 * n if how == "half" else 4 * n))
            if how == "zero":
                ok("cuMemsetD8_v2", u64(b), 0, ctypes.c_size_t(4 * n))
            if pair == "freed":
                ok("cuMemFree_v2", u64(b))
            own.run(kernel, a, b, n, int(blocks), int(threads), int(shared))
            own.end()


class Range:
    """A reservation, with pages of physical memory in it."""

    def __init__(self, size: int, *pages: tuple[int, int]):
        """`pages`: offset and size of each mapping."""
        address = u64()
        ok("cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(size), ctypes.c_size_t(0), u64(), u64())
        self.base, self.size, self.pages = address.value, size, pages
        for offset, length in pages:
            prop = (ctypes.c_int * 8)(1, 0, 1, 0)
            handle = u64()
            ok("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(length), prop, u64())
            ok("cuMemMap", u64(self.base + offset), ctypes.c_size_t(length), ctypes.c_size_t(0), handle, u64())
            ok("cuMemRelease", handle)

    def access(self, device: int = 0, flags: int = 3) -> "Range":
        for offset, length in self.pages:
            desc = (ctypes.c_int * 3)(1, device, flags)
            ok("cuMemSetAccess", u64(self.base + offset), ctypes.c_size_t(length), desc, ctypes.c_size_t(1))
        return self

    def unmap(self) -> None:
        for offset, length in self.pages:
            ok("cuMemUnmap", u64(self.base + offset), ctypes.c_size_t(length))

    def free(self) -> None:
        ok("cuMemAddressFree", u64(self.base), ctypes.c_size_t(self.size))

    def end(self) -> None:
        self.unmap()
        self.free()


def vmm(ptx: bytes) -> None:
    """Each step writes one word by a kernel of its own, because findings about one line are one."""
    kernels = iter("null host freed far static count grid lane sides".split())

    def write(address: int, device: int = 0, kernel: str = "") -> None:
        kernel = kernel or next(kernels) + "_ok"
        own = Own(ptx, device)
        own.run(kernel, address, address, 64, threads=64 if kernel == "past_ok" else 1)
        own.end()

    base = Own(ptx)
    whole = Range(3 * GRANULE, (0, GRANULE), (2 * GRANULE, GRANULE)).access()
    write(whole.base + GRANULE)  # hole
    write(whole.base + 2 * GRANULE, kernel="null_ok")  # legal
    write(whole.base + 3 * GRANULE)  # behind
    whole.unmap()
    write(whole.base)  # unmapped
    whole.free()
    write(whole.base + 2 * GRANULE)  # freed
    closed = Range(GRANULE, (0, GRANULE))
    write(closed.base)  # no access
    closed.access(0, 1)
    write(closed.base)  # read only
    closed.access(0, 3)
    write(closed.base, kernel="null_ok")  # legal
    write(closed.base, 1)  # other device
    closed.end()
    seam = Range(2 * GRANULE, (0, GRANULE), (GRANULE, GRANULE)).access()
    write(seam.base + GRANULE - 128, kernel="past_ok")  # legal: two adjacent mappings
    seam.end()
    other = Own(ptx, 1)
    far = other.memory(4096)
    write(far)  # no peer
    other.end()
    again = Own(ptx)
    pooled = u64()
    ok("cuMemAllocAsync", ctypes.byref(pooled), ctypes.c_size_t(4096), None)
    again.run("null_ok", pooled.value, pooled.value, 64)  # legal
    ok("cuMemFreeAsync", pooled, None)
    call("cuCtxSynchronize")
    again.end()
    write(pooled.value)  # of a pool
    base.end()


if __name__ == "__main__":
    ok("cuInit", 0)
    text = lzma.open(sys.argv[1]).read() + b"\0"
    {"bank": bank, "vmm": vmm}[sys.argv[2]](text)
