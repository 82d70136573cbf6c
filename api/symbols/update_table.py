#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regenerates driver_symbols.txt; facts only, no declarations.

usage: update_table.py INCLUDE_DIR [EXPORTS_FILE]

INCLUDE_DIR holds the newest cuda.h and cuda*Typedefs.h. EXPORTS_FILE lists, one a line, the symbols
that a real libcuda.so.1 exports (`nm -D --defined-only`); without it the present list is extended.
The typedefs name each function's versions (PFN_<query>_v<version>[_ptsz|_ptds]); the n-th version of
a query is its n-th exported symbol (cuX, cuX_v2, ...). A line is a symbol, the version and flags under
which cuGetProcAddress hands it out, and how many parameters it has; or a symbol alone, if cuGetProcAddress
never hands it out. The query is the symbol up to its first underscore. Newer headers only add lines, so that the lines of the newest headers
hold for every version.
"""
import glob
import pathlib
import re
import sys

SYMBOLS = pathlib.Path(__file__).with_name("driver_symbols.txt")
NOT_LINUX = {"cuWGLGetDevice"}
HEADERS = ("cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfiler.h")


def ordinal(symbol):
    found = re.search(r"_v(\d+)(_pt[ds]s?z?)?$", symbol)
    return int(found[1]) if found else 1


def top_level_commas(parameters):
    """Commas between parameters: those inside a parameter's own parentheses (a callback's) are not."""
    while "(" in parameters:
        parameters, before = re.sub(r"\([^()]*\)", "", parameters), parameters
        if parameters == before:
            sys.exit(f"parentheses without their pair: {before}")
    return parameters.count(",")


def main(include, exports=SYMBOLS):
    symbols = {s for s in pathlib.Path(exports).read_text().split() if re.match(r"cu[A-Z]", s)}
    for header in HEADERS:
        if not (pathlib.Path(include) / header).exists():
            continue  # wheels leave some out; their functions are among the exports
        text = (pathlib.Path(include) / header).read_text()
        symbols |= set(re.findall(r"CUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\(", text))
    versions = {}
    for file in glob.glob(f"{include}/cuda*Typedefs.h"):
        pattern = r"\bPFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\)\s*\(([^;]*)\)\s*;"
        for query, version, suffix, parameters in re.findall(pattern, pathlib.Path(file).read_text()):
            count = 0 if parameters.strip() in ("", "void") else top_level_commas(parameters) + 1
            versions.setdefault((query, suffix), {})[int(version)] = count
    symbols -= NOT_LINUX
    rows = []
    for (query, suffix), found in sorted(versions.items()):
        if query in NOT_LINUX:
            continue
        pattern = re.escape(query) + r"(_v\d+)?" + suffix
        known = sorted((s for s in symbols if re.fullmatch(pattern, s)), key=ordinal)
        # The headers do not declare the per-thread names of new functions: cuX[_vN]_ptsz.
        while suffix and len(known) < len(found):
            known.append(query + (f"_v{len(known) + 1}" if known else "") + suffix)
        if len(known) != len(found):
            sys.exit(f"{query}{suffix}: versions {sorted(found)} but symbols {known}")
        symbols.update(known)
        rows += [(s, query, v, 2 if suffix else 0, found[v]) for s, v in zip(known, sorted(found))]
    known = {row[0]: "{} {} {} {}".format(row[0], *row[2:]) for row in rows}
    SYMBOLS.write_text("".join(known.get(symbol, symbol) + "\n" for symbol in sorted(symbols)))


if __name__ == "__main__":
    main(*sys.argv[1:])
