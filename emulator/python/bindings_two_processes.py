# SPDX-License-Identifier: Apache-2.0
"""One allocation in two processes: its descriptor goes through a socket, both write and read it."""

import os
import socket
import subprocess
import sys

import numpy
from cuda.bindings import driver

from client import FD, check, granularity, mapped, properties, start


def write(address: int, value: int, count: int) -> None:
    check(driver.cuMemsetD8(address, value, count))
    check(driver.cuCtxSynchronize())  # a fill may still run when its call returns, and an unmap would not wait for it


def read(address: int, count: int) -> numpy.ndarray:
    back = numpy.zeros(count, dtype=numpy.uint8)
    check(driver.cuMemcpyDtoH(back.ctypes.data, address, count))
    return back


def importer(peer: socket.socket) -> None:
    start()
    size = granularity(properties())
    _, (fd,), _, _ = socket.recv_fds(peer, 1, 1)
    handle = check(driver.cuMemImportFromShareableHandle(fd, FD))
    os.close(fd)  # the import has a reference of its own
    with mapped(handle, size) as address:
        assert (read(address, size) == 11).all(), "the exporter's bytes are not seen"
        write(address, 22, size)
        peer.sendall(b"w")
        peer.recv(1)  # the exporter has released the memory and its handle
        assert (read(address, size) == 33).all(), "the memory does not outlive its exporter's handle"
    check(driver.cuMemRelease(handle))
    peer.sendall(b"d")


def exporter() -> None:
    here, there = socket.socketpair()
    child = subprocess.Popen([sys.executable, __file__, str(there.fileno())], pass_fds=[there.fileno()])
    there.close()
    here.settimeout(60)
    start()
    size = granularity(properties())
    handle = check(driver.cuMemCreate(size, properties(handle_type=FD), 0))
    fd = check(driver.cuMemExportToShareableHandle(handle, FD, 0))
    with mapped(handle, size) as address:
        write(address, 11, size)
        socket.send_fds(here, [b"f"], [fd])
        os.close(fd)
        assert here.recv(1) == b"w", "the importer failed"
        assert (read(address, size) == 22).all(), "the importer's bytes are not seen"
        write(address, 33, size)
    check(driver.cuMemRelease(handle))
    here.sendall(b"r")
    assert here.recv(1) == b"d", "the importer failed"
    assert child.wait(60) == 0
    print("cuda.bindings: two processes share an allocation")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        importer(socket.socket(fileno=int(sys.argv[1])))
    else:
        exporter()
