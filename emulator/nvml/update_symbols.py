#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regenerates nvml_symbols.txt: the names of NVML's functions, facts only.

usage: update_symbols.py PYNVML_PY

The file comes from the wheel nvidia-ml-py (`pip download`), which looks each of them up by name.
"""
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parent / "nvml_symbols.txt"
# Names that other libraries and tools (NCCL, PyTorch) look up, and that file does not.
MORE = {
    "nvmlInit", "nvmlInit_v2", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetHandleByPciBusId", "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo", "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlSystemGetCudaDriverVersion",
}


def main(source):
    names = set(re.findall(r'_nvmlGetFunctionPointer\("(nvml[A-Z]\w+)"', pathlib.Path(source).read_text()))
    if len(names) < 300:
        sys.exit(f"{source} names only {len(names)} functions: is it pynvml.py?")
    TABLE.write_text("".join(name + "\n" for name in sorted(names | MORE)))


if __name__ == "__main__":
    main(*sys.argv[1:])
