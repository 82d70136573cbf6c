# SPDX-License-Identifier: Apache-2.0
"""Reads a function's parameters, and the versions of its ABI, from the CUDA headers of this machine."""
import collections
import glob
import os
import re

# version: in the form of CUDA_VERSION. suffix: "", "ptsz" or "ptds". parameters: (type, name).
Abi = collections.namedtuple("Abi", "version suffix parameters")


def folders(root):
    """The folders in which the build looks for cuda.h and cudaTypedefs.h, and those of `./dev headers`, newest first."""
    found = {}
    for folder in [os.path.join(os.environ.get("CUDA_HOME") or "/usr/local/cuda", "include"), "/usr/local/cuda/include",
                   *glob.glob(os.path.join(root, ".deps", "cuda-*", "include"))]:
        if os.path.exists(os.path.join(folder, "cudaTypedefs.h")):
            found[os.path.realpath(folder)] = version(folder)
    return sorted(found, key=found.get, reverse=True)


def text_of(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def version(folder):
    found = re.search(r"^#define CUDA_VERSION (\d+)", text_of(folder, "cuda.h"), re.M)
    return int(found.group(1)) if found else 0


def parameters(text):
    """(type, name) of each parameter, with the types that users write: CUdeviceptr, not CUdeviceptr_v2."""
    found = []
    for parameter in filter(None, (part.strip() for part in text.split(","))):
        if parameter == "void":
            continue
        split = re.fullmatch(r"(.*?)\s*(\w+)", parameter, re.S)
        kind = re.sub(r"\b(CU\w+?)_v[2-9]\d*\b|\b(CU\w+?)_v1\b", lambda m: m.group(1) or plain(m.group(2)), split.group(1))
        found.append((re.sub(r"\s*\*\s*", "*", kind).strip(), split.group(2)))
    return found


def plain(name):
    """CUdevice_v1 -> CUdevice; but CUdeviceptr_v1 is an old type of 32 bits, and not CUdeviceptr."""
    return name + "_v1" if name in ("CUdeviceptr", "CUDA_MEMCPY2D", "CUDA_MEMCPY3D", "CUDA_ARRAY_DESCRIPTOR") else name


def abis(folder, function):
    """The ABIs of a function, oldest first, as cudaTypedefs.h lists them."""
    pattern = r"typedef CUresult \(CUDAAPI \*PFN_%s_v(\d+)(?:_(ptsz|ptds))?\)\(([^;]*?)\);" % function
    found = [Abi(int(v), suffix or "", parameters(text))
             for v, suffix, text in re.findall(pattern, text_of(folder, "cudaTypedefs.h"))]
    return sorted(set_of(found), key=lambda abi: (abi.version, abi.suffix))


def set_of(abis_found):
    """Each (version, suffix) once, because the header has some in two branches of an #if."""
    return {(abi.version, abi.suffix): abi for abi in abis_found}.values()


def similar(folder, function, most=6):
    """Names of functions that share their first or last words with a name that does not exist."""
    known = sorted(set(re.findall(r"PFN_(cu\w+?)_v\d+\b", text_of(folder, "cudaTypedefs.h"))))
    return [name for name in known if name.startswith(function[:8])][:most]


def knows_type(folder, kind):
    return re.search(r"\b%s\b" % re.escape(kind.replace("const", "").replace("*", "").strip().split(" ")[0]),
                     text_of(folder, "cuda.h")) is not None
