#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes libraries to link with, so that what is linked needs no newer glibc than a given one.

Usage: stubs.py VERSION FOLDER CC

Each is this machine's own library without code: the same names, each in its newest version that is not newer than
VERSION. What this glibc has under newer versions alone is in compat.c, find_object.c and start.c, an archive beside them.
"""
import os
import re
import subprocess
import sys

# Since glibc 2.34 libc.so.6 has what the others had. Programs for an older glibc still name them.
EMPTY = ("libpthread.so.0", "libdl.so.2", "librt.so.1")
SYMBOL = re.compile(r"^\s*\d+:\s+[0-9a-f]+\s+(\d+|0x[0-9a-f]+)\s+(\w+)\s+(GLOBAL|WEAK)\s+DEFAULT\s+(\w+)\s+"
                    r"([\w.]+)@@?GLIBC_([\d.]+)(?:\s.*)?$")


def number(version):
    return tuple(int(part) for part in version.split("."))


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(library, newest):
    """Name to (version, kind, size), each in its newest version up to `newest`."""
    found = {}
    for line in run("readelf", "-W", "--dyn-syms", library).splitlines():
        match = SYMBOL.match(line)
        if not match or match[4] in ("UND", "ABS") or match[2] == "TLS":
            continue
        size, kind, _, _, name, version = match.groups()
        if number(version) <= newest and (name not in found or number(version) > number(found[name][0])):
            found[name] = (version, "object" if kind == "OBJECT" else "function", int(size, 0))
    return found


def write_stub(cc, folder, soname, found):
    """One shared library that has these symbols, with nothing behind them but their size."""
    source, script = os.path.join(folder, soname + ".s"), os.path.join(folder, soname + ".map")
    versions = sorted({version for version, _, _ in found.values()}, key=number)
    with open(script, "w") as file:
        file.writelines(f"GLIBC_{version} {{ }};\n" for version in versions)
    with open(source, "w") as file:
        file.write('.section .note.GNU-stack,"",@progbits\n')
        for index, (name, (version, kind, size)) in enumerate(sorted(found.items())):
            file.write(f".section .{'bss' if kind == 'object' else 'text'}.s{index}"
                       + (',"aw",@nobits\n.balign 32\n' if kind == "object" else ',"ax",@progbits\n')
                       + f".globl s{index}\n.type s{index},@{kind}\n.size s{index},{size}\ns{index}: .zero {max(size, 1)}\n"
                       + f".symver s{index},{name}@@@GLIBC_{version}\n")
    run(cc, "-shared", "-nostdlib", "-Wl,--build-id=none", f"-Wl,-soname,{soname}",
        *([f"-Wl,--version-script={script}"] if found else []), "-o", os.path.join(folder, soname), source)


def main(version, folder, cc):
    newest = number(version)
    os.makedirs(folder, exist_ok=True)
    for soname in ("libc.so.6", "libm.so.6"):
        found = symbols(os.path.realpath(run(cc, f"-print-file-name={soname}").strip()), newest)
        if len(found) < 100:
            sys.exit(f"stubs.py: {soname} of this machine has {len(found)} symbols up to GLIBC_{version}; expected hundreds")
        write_stub(cc, folder, soname, found)
    for soname in EMPTY:
        write_stub(cc, folder, soname, {})
    here = os.path.dirname(os.path.abspath(__file__))
    archive, objects = os.path.join(folder, "libcompat.a"), []
    for part in ("compat", "find_object", "start"):
        objects.append(os.path.join(folder, part + ".o"))
        run(cc, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-fno-builtin",
            f"-ffile-prefix-map={here}=.", "-c", os.path.join(here, part + ".c"), "-o", objects[-1])
    if os.path.exists(archive):
        os.remove(archive)
    run("ar", "rcsD", archive, *objects)
    rest = run(cc, "-print-file-name=libc_nonshared.a").strip()
    loader = run(cc, "-print-file-name=ld-linux-x86-64.so.2").strip()
    with open(os.path.join(folder, "libc.so"), "w") as file:
        file.write(f"GROUP ( {archive} {rest} {folder}/libc.so.6 {folder}/libpthread.so.0 {folder}/libdl.so.2 "
                   f"AS_NEEDED ( {loader} ) )\n")
    with open(os.path.join(folder, "libm.so"), "w") as file:
        file.write(f"GROUP ( {folder}/libm.so.6 )\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
