# SPDX-License-Identifier: Apache-2.0
"""An emulator that was built with CUVMM_KERNELS=OFF: memory works; modules and launches are
refused, which the emulator reports once.

usage: absent_check.py LIBCUDA_SO_1
"""
import ctypes
import os
import subprocess
import sys

NOT_SUPPORTED = 801
SAID = "cuvmm emulator: this emulator was built without kernels (CUVMM_KERNELS=OFF): "


def program(path: str) -> None:
    cuda = ctypes.CDLL(path)
    context, module, address = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    back = ctypes.create_string_buffer(5)
    for result in (
            cuda.cuInit(0), cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0),
            cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)),
            cuda.cuMemcpyHtoD_v2(address, b"bytes", ctypes.c_size_t(5)),
            cuda.cuMemcpyDtoH_v2(back, address, ctypes.c_size_t(5))):
        assert result == 0, result
    assert back.raw == b"bytes", back.raw
    text = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing()\n{\n  ret;\n}\n\0"
    for _ in range(2):
        assert cuda.cuModuleLoadData(ctypes.byref(module), text) == NOT_SUPPORTED
        function, none = ctypes.c_void_p(4096), ctypes.c_void_p()
        assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, none, none, none) == NOT_SUPPORTED


if __name__ == "__main__":
    if len(sys.argv) == 3:
        program(sys.argv[1])
        sys.exit(0)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUVMM_")}
    ended = subprocess.run([sys.executable, __file__, sys.argv[1], "here"], env=environment, capture_output=True, text=True,
                           check=False)
    assert ended.returncode == 0, ended
    assert ended.stderr.count(SAID) == 1 and len(ended.stderr.splitlines()) == 1, ended.stderr
