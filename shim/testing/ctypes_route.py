# SPDX-License-Identifier: Apache-2.0
"""Python's ctypes finds libcuda.so.1 and misuses cuMemMap; the stack is libffi's and Python's."""

import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuMemMap.argtypes = [ctypes.c_uint64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint64]
assert cuda.cuInit(0) == 0
assert cuda.cuMemMap(0x700000000000, 2 << 20, 4096, 1, 0) == 1
