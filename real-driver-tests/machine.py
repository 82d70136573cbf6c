# SPDX-License-Identifier: Apache-2.0
"""The machine of a result: the driver, the devices, the versions of the software."""

from __future__ import annotations

import json
import pathlib
import platform
import re
import subprocess
import sys

import under_shim

PACKAGES = ("torch", "torchvision", "transformers", "triton", "jax", "lightning",
            "cupy-cuda13x", "cuda-bindings", "cuda-core", "nvidia-nccl-cu13", "numpy")

# Runs in a process of its own, because a CUDA context in this process would hold memory for
# nobody's use.
_PROBE = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
count, version = ctypes.c_int(), ctypes.c_int()
code = cuda.cuInit(0)
cuda.cuDriverGetVersion(ctypes.byref(version))
names = []
if code == 0:
    cuda.cuDeviceGetCount(ctypes.byref(count))
    for ordinal in range(count.value):
        name = ctypes.create_string_buffer(128)
        cuda.cuDeviceGetName(name, 128, ordinal)
        names.append(name.value.decode())
emulator = ""
if hasattr(cuda, "cuvmmEmulatorVersion"):
    cuda.cuvmmEmulatorVersion.restype = ctypes.c_char_p
    emulator = cuda.cuvmmEmulatorVersion().decode()
print(json.dumps({"code": code, "api": version.value, "devices": names, "emulator": emulator}))
"""


def driver(build: under_shim.Build, emulate: bool) -> dict:
    """{"version", "api", "devices": [names], "emulated"}; the devices are empty where none works."""
    run = build.run([sys.executable, "-c", _PROBE], emulate=emulate, shim=False, timeout=60)
    try:
        seen = json.loads(run.output.splitlines()[-1])
    except (IndexError, ValueError):
        return {"version": "none", "api": 0, "devices": [], "emulated": emulate, "error": run.output.strip()}
    version = f"emulator-{seen['emulator']}" if seen["emulator"] else _kernel_module_version()
    return {"version": version, "api": seen["api"], "devices": seen["devices"], "emulated": bool(seen["emulator"])}


def _kernel_module_version() -> str:
    """"580.159.04", or "unknown"."""
    try:
        text = pathlib.Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        try:
            text = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                                  capture_output=True, text=True, timeout=60, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            return "unknown"
    match = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", text)
    return match[0] if match else "unknown"


def software(python: str, root: pathlib.Path) -> dict:
    """Versions of `python`'s packages, of the system, and the commit of this tree where git knows it."""
    code = ("import importlib.metadata as m, json, sys\nout = {'python': sys.version.split()[0]}\n"
            f"for name in {PACKAGES!r}:\n    try: out[name] = m.version(name)\n"
            "    except m.PackageNotFoundError: pass\nprint(json.dumps(out))")
    try:
        probe = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=120, check=False)
        versions = json.loads(probe.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        versions = {}
    versions |= {"system": platform.platform(), "libc": " ".join(platform.libc_ver())}
    try:
        git = subprocess.run(["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"], capture_output=True,
                             text=True, timeout=20, check=False)
        versions |= {"commit": git.stdout.strip()} if git.returncode == 0 else {}
    except OSError:
        pass
    return versions
