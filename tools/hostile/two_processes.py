# SPDX-License-Identifier: Apache-2.0
"""Two processes that share memory and print all values that the driver chose, for tests that a seed gives equal runs."""
import array
import ctypes
import os
import socket

cuda = ctypes.CDLL("libcuda.so.1")
GRANULE = 8 << 20
Address, Size, Handle, Pointer = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_void_p


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Properties(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", Location), ("security", Pointer),
                ("flags", ctypes.c_ubyte * 8)]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


class Process:
    def __init__(self, name):
        self.lines = [name]

    def call(self, name, *arguments):
        for _ in range(2):  # the emulator never refuses twice in a row
            code = getattr(cuda, name)(*arguments)
            if code != 2:
                break
            self.lines.append(f"{name} refused")
        assert code == 0, (name, code)

    def start(self):
        context, total, peer = Pointer(), Size(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        for device in range(3):
            self.call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
            self.call("cuDeviceCanAccessPeer", ctypes.byref(peer), 0, device)
            self.lines.append(f"device {device}: {total.value} {peer.value}")

    def reserve(self):
        address = Address()
        self.call("cuMemAddressReserve", ctypes.byref(address), Size(GRANULE), Size(0), Address(0), Address(0))
        self.lines.append(f"reserved {address.value:#x}")
        return address.value

    def map(self, address, handle):
        self.call("cuMemMap", Address(address), Size(GRANULE), Size(0), handle, Address(0))
        self.call("cuMemSetAccess", Address(address), Size(GRANULE), ctypes.byref(Access(Location(1, 0), 3)), Size(1))

    def create(self):
        handle = Handle()
        properties = Properties(type=1, handle_types=1, location=Location(1, 0))
        self.call("cuMemCreate", ctypes.byref(handle), Size(GRANULE), ctypes.byref(properties), Address(0))
        self.lines.append(f"handle {handle.value:#x}")
        return handle

    def first_bytes(self, address):
        host = ctypes.create_string_buffer(8)
        self.call("cuMemcpyDtoH_v2", host, Address(address), Size(8))
        self.lines.append(f"holds {host.raw.hex()}")


def child(link):
    me = Process("child")
    me.start()
    for _ in range(6):
        me.map(me.reserve(), me.create())
    _, data, _, _ = socket.recv_fds(link, 1, 1)
    handle = Handle()
    me.call("cuMemImportFromShareableHandle", ctypes.byref(handle), Pointer(data[0]), 1)
    me.lines.append(f"import {handle.value:#x}")
    address = me.reserve()
    me.map(address, handle)
    me.first_bytes(address)
    link.sendall("\n".join(me.lines).encode())
    link.close()
    os._exit(0)


def main():
    parent_end, child_end = socket.socketpair()
    if os.fork() == 0:
        parent_end.close()
        child(child_end)
    child_end.close()
    me = Process("parent")
    me.start()
    for _ in range(6):
        address, handle = me.reserve(), me.create()
        me.map(address, handle)
        me.first_bytes(address)
    descriptor = ctypes.c_int()
    me.call("cuMemExportToShareableHandle", ctypes.byref(descriptor), handle, 1, Address(0))
    me.lines.append(f"descriptor {descriptor.value}")
    socket.send_fds(parent_end, [b"x"], array.array("i", [descriptor.value]))
    received = b""
    while part := parent_end.recv(65536):
        received += part
    os.wait()
    print("\n".join(me.lines + [received.decode()]))


if __name__ == "__main__":
    main()
