#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes api/documented_results/documented_results.def: which result codes cuda.h documents for each function.

Usage: update_documented_results.py CUDA_H...   (later headers win)

Only the names of codes are taken, which are facts; no sentence is.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Codes that a function's description names, but not its list.
BESIDE = {"cuLogicalEndpointAddDevice": ["INVALID_DEVICE"], "cuMemPoolImportFromShareableHandle": ["NOT_PERMITTED"]}
ENTRIES = os.path.join(HERE, "..", "entry_points.def")


def documented(header):
    """function -> the codes of its return list, without CUDA_ERROR_."""
    with open(header, encoding="utf-8") as file:
        text = file.read()
    found = {}
    for comment, name in re.findall(r"/\*\*((?:(?!\*/).)*?)\*/\s*CUresult CUDAAPI (cu\w+)\(", text, re.S):
        codes = []
        for part in re.findall(r"\\returns?\b(.*?)(?=\\(?!ref)\w+ |\n \*\s*\n|$)", comment, re.S):
            codes += re.findall(r"CUDA_ERROR_(\w+)", part)
        found[name] = list(dict.fromkeys(codes))
    return found


def main():
    known = {}
    for header in sys.argv[1:]:
        known.update({name: codes for name, codes in documented(header).items() if codes})
    with open(ENTRIES, encoding="utf-8") as file:
        names = re.findall(r"^CUVMM_ENTRY\((\w+)", file.read(), re.M)
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// The result codes that cuda.h documents for each intercepted function, without CUDA_ERROR_.",
        "// Written by api/documented_results/update_documented_results.py; a function that is not here has no such list.",
        "// clang-format off",
    ]
    for name in names:
        # The header documents a later ABI of a function under the function's plain name.
        codes = known.get("cu" + name) or known.get("cu" + re.sub(r"(_v\d+|WithFlags)$", "", name))
        if codes:
            codes += [code for code in BESIDE.get("cu" + name, []) if code not in codes]
            lines.append(f'CUVMM_DOCUMENTED({name}, "{" ".join(codes)}")')
    lines += ["// clang-format on", "#undef CUVMM_DOCUMENTED"]
    with open(os.path.join(HERE, "documented_results.def"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
