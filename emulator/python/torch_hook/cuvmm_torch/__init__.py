# SPDX-License-Identifier: Apache-2.0
"""PyTorch's CUDA operators, computed by its CPU operators on the emulator's memory.

libtorch_cuda.so has machine code only, which the emulator cannot run. But PyTorch has each operator for the CPU
as well. After the import of torch, this package registers kernels for CUDA tensors that copy the tensors to the
host, call the CPU's operator, and copy the results back. `cuvmm run --emulate` puts this folder on PYTHONPATH;
`--torch=skip`, or CUVMM_TORCH=skip, leaves PyTorch as it is. Nothing happens unless the process's libcuda is
the emulator.
"""

from __future__ import annotations

import os
import sys

from cuvmm_start import after_import, on_the_emulator


def _register(torch) -> None:
    if torch.version.cuda is None or not on_the_emulator():
        return
    try:
        from . import register

        register.install()
    except Exception as error:  # noqa: BLE001 - a PyTorch that this package does not know must start all the same
        sys.stderr.write(f"cuvmm: PyTorch {torch.__version__} computes nothing, because cuvmm does not know it: "
                         f"{type(error).__name__}: {error}\n")


def _change_compiler(module) -> None:
    if on_the_emulator():
        from . import compiled

        compiled.change(module)


def install() -> None:
    """Registers the kernels when torch is imported from now on."""
    if os.environ.get("CUVMM_TORCH", "compute") != "skip":
        after_import({"torch": _register, "torch._inductor.compile_fx": _change_compiler})
