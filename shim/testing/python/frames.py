# SPDX-License-Identifier: Apache-2.0
"""Misuses cuMemMap in functions that are called in many different ways. A comment `# NAME` marks
each line that the finding's stack must show; frames_test.py compares them. Runs on CPython 3.9 and
later."""

import ctypes
import os
import signal
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuMemMap.argtypes = [ctypes.c_uint64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint64]


def misuse():
    cuda.cuMemMap(0x700000000000, 2 << 20, 4096, 1, 0)  # misuse


class Cache:
    def __init__(self):
        self.grow()  # init

    def grow(self):
        unused = 1
        misuse()  # grow


def produce():
    yield 1
    misuse()  # produce
    yield 2


def called():
    misuse()  # called
    Cache()  # called.Cache


def generator():
    for _ in produce():  # generator
        pass


def thread():
    worker = threading.Thread(target=misuse)
    worker.start()
    worker.join()


def recursion(depth=100):
    if depth == 0:
        misuse()  # recursion.end
    else:
        recursion(depth - 1)  # recursion


# A C function between two Python functions: it calls back.
libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


@COMPARE
def compare(_left, _right):
    misuse()  # compare
    return 0


def callback():
    numbers = (ctypes.c_int * 2)(2, 1)
    libc.qsort(numbers, ctypes.c_size_t(2), ctypes.c_size_t(4), compare)  # callback


def fork():
    child = os.fork()
    if child == 0:
        misuse()  # fork
        sys.exit(0)
    os.waitpid(child, 0)


def handle(_signal, _frame):
    misuse()  # handle


def handler():
    signal.signal(signal.SIGUSR1, handle)
    os.kill(os.getpid(), signal.SIGUSR1)  # handler


# Code objects that are freed before the next ones are made, mostly at equal addresses; only their
# file differs.
def reuse():
    for i in range(20):
        code = compile("cuda.cuMemMap(0x700000000000, 2 << 20, 4096, 1, 0)", f"<made {i:02}>", "exec")
        exec(code, {"cuda": cuda})
        del code


# A name and a path that must not reach a terminal unchanged.
def hostile():
    code = compile("def f():\n    misuse()\nf()", "\x1b[31mred\n\udcff<é漢😀>.py", "exec")
    exec(code, {"misuse": misuse})


if __name__ == "__main__":
    assert cuda.cuInit(0) == 0
    for case in sys.argv[1:]:
        globals()[case]()  # main
