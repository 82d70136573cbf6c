#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the Debian package of cuvmm in small systems, finds a mistake there, and builds a project against it.

Usage: package_test.py PACKAGE [--compilers CC,CXX...] [--packages NAME...] [--cmake VERSION] ROOT...

Each ROOT is the root folder of a system, as `mmdebstrap --variant=minbase bookworm ROOT` makes it; it stays as it is. As
root, and with the network: apt-get gets from it what the package depends on, and the compilers.
--compilers: the project is built with these as well; --packages: has apt-get install these for it; --cmake: a CMake of this
version from PyPI builds it instead of the system's.
"""
import argparse
import os
import re
import sys
import tempfile

from bare_root import BareRoot, Spent, output

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
RULE = "[cuMemRelease-pairing]"
MAY_DEPEND = {"libc6", "libdw1"}
WANTED = ("./usr/bin/cuvmm", "./usr/lib/cuvmm/libcuvmm-shim.so", "./usr/lib/cuvmm/links/libcuda.so.1",
          "./usr/lib/cuvmm/emulator/libcuda.so.1", "./usr/include/cuvmm/cuvmm.h", "./usr/lib/cmake/cuvmm/cuvmm-config.cmake",
          "./usr/share/man/man1/cuvmm.1.gz", "./usr/share/bash-completion/completions/cuvmm",
          "./usr/share/zsh/vendor-completions/_cuvmm", "./usr/share/fish/vendor_completions.d/cuvmm.fish",
          "./usr/share/doc/cuvmm/rules/map.md", "./usr/share/doc/cuvmm/copyright")


def cuda_include():
    """A folder with cuda.h, of this machine."""
    deps = os.path.join(SOURCE, ".deps")
    folders = ["/usr/local/cuda/include"] + sorted(f"{deps}/{name}/include" for name in os.listdir(deps) if name.startswith("cuda-"))
    return next(folder for folder in folders if os.path.exists(f"{folder}/cuda.h"))


def check_contents(package):
    listed = output("dpkg-deb", "--contents", package)
    names = {line.split(None, 5)[5].partition(" -> ")[0].replace("/x86_64-linux-gnu", "") for line in listed.splitlines()}
    missing = [name for name in WANTED if name not in names]
    assert not missing, f"the package lacks {missing}"
    strangers = [line for line in listed.splitlines() if " root/root " not in line]
    assert not strangers, strangers
    depends = set(re.findall(r"([\w.+-]+)(?: \([^)]*\))?(?:,|$)", output("dpkg-deb", "--field", package, "Depends").strip()))
    assert depends <= MAY_DEPEND, f"the package depends on {depends - MAY_DEPEND}"
    version = output("dpkg-deb", "--field", package, "Version").strip()
    with open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
        wanted = re.search(r"project\(cuvmm VERSION ([\d.]+)", file.read())[1]
    assert version == wanted + "-1", f"the package has the version {version}, CMakeLists.txt {wanted}"
    print(f"{os.path.basename(package)}: {os.path.getsize(package)} bytes, depends on {', '.join(sorted(depends))}")


def find_mistake(root):
    """Finds a mistake in a program text, and in a Python program if the system has Python."""
    text = "init()\nr0 = cuMemAddressReserve(2M)\ncuMemAddressFree(r0, 4M)\n"
    program = "cuvmm run --emulate --error-exitcode 99 -- cuvmm replay /tmp/mistake.txt"
    found = root.run(99, "sh", "-c", f"printf '{text}' > /tmp/mistake.txt && {program}")
    assert "[cuMemAddressFree-" in found, found
    if os.path.exists(os.path.join(root.root, "usr/bin/python3")):
        found = root.run(99, "cuvmm", "run", "--emulate", "--error-exitcode", "99", "--", "python3",
                         "/usr/share/doc/cuvmm/examples/first_finding.py")
        assert RULE in found and "done" in found, found
    assert "cuMemRelease" in root.run(0, "cuvmm", "explain", RULE[1:-1])


def build_project(root, compilers, cmake):
    """Builds examples/cmake_project and the clients of the headers with each pair of compilers."""
    tool = ""
    if cmake:
        with tempfile.TemporaryDirectory() as folder:  # downloaded on this machine, because a root has only its own certificates
            output(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--dest", folder, f"cmake=={cmake}")
            root.copy(folder, "/tmp/cmake-wheel")
        root.run(0, "sh", "-c", "python3 -m pip install -q --no-index /tmp/cmake-wheel/*.whl")
        tool = "/usr/local/bin/"
    print(f"  {root.run(0, tool + 'cmake', '--version').splitlines()[0]}")
    for c, cxx in compilers:
        made = f"/tmp/made-{cxx}"
        variables = {"CC": c, "CXX": cxx}
        root.run(0, tool + "cmake", "-S", "/tmp/cmake_project", "-B", made, "-DCUDA_INCLUDE=/tmp/cuda", environment=variables)
        root.run(0, tool + "cmake", "--build", made)
        good = root.run(0, tool + "ctest", "--test-dir", made, "--output-on-failure", "-E", "^broken$")
        assert "100% tests passed" in good and re.search(r"grows \.+ +Passed", good), good
        broken = root.run(8, tool + "ctest", "--test-dir", made, "--output-on-failure", "-R", "^broken$")
        assert RULE in broken, broken
        flags = "-Wall -Wextra -Werror -pedantic -isystem /tmp/cuda $(pkg-config --cflags --libs cuvmm-emulator) -ldl"
        for compiler, standard, source in ((c, "c89", "api_client.c"), (cxx, "c++11", "api_client_cxx.cc"), (cxx, "c++2b", "api_client_cxx.cc")):
            root.run(0, "sh", "-c", f"{compiler} -std={standard} /tmp/clients/{source} -o /tmp/client {flags}")
            root.run(0, "cuvmm", "run", "--emulate", "--", "/tmp/client")
        print(f"  built and tested by {root.run(0, cxx, '--version').splitlines()[0]}")


def purge(root, before):
    root.run(0, "dpkg", "--purge", "cuvmm")
    left = set(root.run(0, "find", "/usr", "-iname", "*cuvmm*").split()) - before
    assert not left, f"the package leaves {left}"


def try_in(folder, arguments):
    with BareRoot(folder) as root:
        print(f"{folder}: {root.name()}")
        package = "/tmp/" + os.path.basename(arguments.package)
        root.copy(arguments.package, package)
        for source, target in (("examples/cmake_project", "cmake_project"), ("include/testing", "clients")):
            root.copy(os.path.join(SOURCE, source), "/tmp/" + target)
        root.copy(cuda_include(), "/tmp/cuda")
        before = set(root.run(0, "find", "/usr", "-iname", "*cuvmm*").split())
        root.run(0, "apt-get", "-q", "update", network=True)
        spent = Spent()
        printed = root.run(0, "apt-get", "-q", "install", "-y", "--no-install-recommends", package, network=True)
        got = re.search(r"Need to get ([^\n]*) of archives", printed)
        print(f"  installed in {spent} ({got[1] if got else 'nothing'} of archives)")
        spent = Spent()
        find_mistake(root)
        print(f"  {root.run(0, 'cuvmm', '--version').strip()} found the mistakes in {spent}")
        if arguments.packages:
            root.apt(*arguments.packages)
            build_project(root, [pair.split(",") for pair in arguments.compilers or ["gcc,g++"]], arguments.cmake)
        purge(root, before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package")
    parser.add_argument("roots", nargs="*")
    parser.add_argument("--compilers", action="append")
    parser.add_argument("--packages", type=str.split)
    parser.add_argument("--cmake")
    arguments = parser.parse_intermixed_args()  # ROOTs may follow the options
    check_contents(arguments.package)
    for folder in arguments.roots:
        try_in(folder, arguments)


if __name__ == "__main__":
    sys.exit(main())
