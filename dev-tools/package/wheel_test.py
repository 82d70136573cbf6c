#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at a wheel of cuvmm, installs it, and finds a mistake in a Python program with it. Nothing is downloaded.

Usage: wheel_test.py WHEEL [ROOT...]

Each ROOT is the root folder of a small system with python3 and pip, as mmdebstrap --include=python3-pip makes them: the
wheel is installed and tried there, as root and without a network; the folder stays as it is. Without one: in a virtual
environment of this Python.
"""
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile

from bare_root import BareRoot, Spent, output

MOST_BYTES = 12 << 20
OLDEST_GLIBC = (2, 28)
MAY_NEED = re.compile(r"(lib(c|m|dl|pthread|rt)\.so\.\d|ld-linux-x86-64\.so\.2)$")
HERE = os.path.dirname(os.path.abspath(__file__))
RULE = "[cuMemRelease-pairing]"


def check_object(path):
    """Checks that the file needs no newer glibc and no other library, and has no debug information."""
    needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", path))
    assert all(MAY_NEED.match(name) for name in needed), f"{path} needs {needed}"
    versions = {tuple(map(int, version.split("."))) for version in
                re.findall(r"\bGLIBC_(\d+\.\d+)", output("readelf", "-VW", path))}
    newer = sorted(version for version in versions if version > OLDEST_GLIBC)
    assert not newer, f"{path} needs glibc {newer[-1]}"
    assert ".debug_info" not in output("readelf", "-SW", path), f"{path} has debug information in it"
    return max(versions, default=(0, 0))  # libcuvmm-other-libc.so needs no glibc


def check_exports(libraries):
    """Runs the tests of the build's exported symbols on the wheel's libraries."""
    source, emulator = os.path.join(HERE, "..", ".."), os.path.join(libraries, "emulator")
    tests = (
        ("shim/testing/exports_test.py", f"{libraries}/libcuvmm-shim.so", f"{source}/api/symbols/driver_symbols.txt",
         f"{source}/shim/intercept/runtime_twins.def"),
        ("emulator/runtime/testing/exports_test.py", f"{source}/emulator/runtime/runtime_symbols.txt",
         f"{emulator}/libcudart.so.12", f"{emulator}/libcudart.so.13"),
        ("emulator/nvml/exports_test.py", f"{source}/emulator/nvml/nvml_symbols.txt", f"{emulator}/libnvidia-ml.so.1"),
        ("emulator/blas/exports_test.py", f"{source}/emulator/blas/compute_symbols.txt", f"{emulator}/libcuvmm-blas.so"),
    )
    for script, *arguments in tests:
        output(sys.executable, os.path.join(source, script), *arguments)
    output("cmake", f"-DLIBRARY={emulator}/libcuda.so.1", f"-DSYMBOLS={source}/api/symbols/driver_symbols.txt", "-DNM=nm",
           "-DREADELF=readelf", "-P", f"{source}/emulator/entry/check_exports.cmake")


def check_debug_information(wheel, objects):
    """Checks that the archive beside the wheel, if there is one, has the debug information of all its libraries and programs."""
    archive = re.sub(r"-py3-none-.*", "-debug.tar.gz", wheel)
    if not os.path.exists(archive):
        print(f"{archive} is not there: not checked")
        return
    with tarfile.open(archive) as file:
        there = set(file.getnames())
    for path in objects:
        build_id = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", path))[1]
        assert f".build-id/{build_id[:2]}/{build_id[2:]}.debug" in there, f"{archive} has nothing of {path}"


def check_contents(wheel, folder):
    assert re.search(r"/cuvmm-[\d.]+-py3-none-manylinux_2_28_x86_64\.whl$", os.path.abspath(wheel)), wheel
    assert os.path.getsize(wheel) <= MOST_BYTES, f"{wheel} has {os.path.getsize(wheel)} bytes, more than {MOST_BYTES}"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(folder)
    wanted = ["bin/cuvmm", "lib/cuvmm/libcuvmm-shim.so", "lib/cuvmm/libcuvmm-symbolize.so", "_command.py",
              "lib/cuvmm/emulator/python/sitecustomize.py", "lib/cuvmm/emulator/torch/cuvmm_torch/register.py", "share/doc/cuvmm/rules/map.md", "include/cuvmm/cuvmm.h", "pytest_plugin.py", "first_finding.py"]
    wanted += [f"lib/cuvmm/emulator/{name}" for name in ("libcuda.so.1", "libcudart.so.12", "libcudart.so.13",
                                                         "libcuvmm-blas.so", "libcuvmm-static-cudart.so",
                                                         "libnvidia-ml.so.1")]
    missing = [name for name in wanted if f"cuvmm/{name}" not in names]
    assert not missing, f"the wheel lacks {missing}"
    for name in ("man/man1/cuvmm.1.gz", "bash-completion/completions/cuvmm"):
        assert any(path.endswith(".data/data/share/" + name) for path in names), f"the wheel lacks {name} for the environment"
    paths = [os.path.join(folder, name) for name in names]
    objects = [path for path in paths if os.path.isfile(path) and open(path, "rb").read(4) == b"\x7fELF"]
    oldest = max(check_object(path) for path in objects)
    check_debug_information(wheel, objects)
    check_exports(os.path.join(folder, "cuvmm", "lib", "cuvmm"))
    print(f"{os.path.basename(wheel)}: {os.path.getsize(wheel)} bytes, {len(names)} files, glibc {'.'.join(map(str, oldest))}")


def find_mistake(where, run):
    """Tries an installed wheel. `run` starts a command in its environment."""
    spent = Spent()
    found = run(99, "cuvmm", "run", "--emulate", "--error-exitcode", "99", "--", "python3", "-m", "cuvmm.first_finding")
    assert RULE in found and "done" in found, found
    spent = str(spent)
    version = run(0, "cuvmm", "--version").strip()
    assert "cuMemRelease" in run(0, "cuvmm", "explain", RULE[1:-1])
    # The Python API, under the shim and without it.
    assert run(0, "python3", "-c", "import cuvmm; print(cuvmm.active())").strip() == "False"
    within = run(0, "cuvmm", "run", "--emulate", "--", "python3", "-c", "import cuvmm; print(cuvmm.active())")
    assert "True" in within, within
    print(f"{where}: {version} found the mistake in {spent}")


def try_here(wheel, folder):
    python = os.path.join(folder, "venv", "bin", "python3")
    output(sys.executable, "-m", "venv", os.path.join(folder, "venv"))
    output(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", wheel)
    environment = {**os.environ, "PATH": os.path.dirname(python) + os.pathsep + os.environ["PATH"]}

    def run(status, *command):
        return output(*command, status=status, env=environment)

    find_mistake("here", run)
    run(0, "python3", "-m", "cuvmm", "--version")
    if shutil.which("man"):
        environment.pop("MANPATH", None)
        page = run(0, "man", "-w", "cuvmm").strip()
        assert page == os.path.join(os.path.realpath(folder), "venv", "share", "man", "man1", "cuvmm.1.gz"), page


def try_in(folder, wheel):
    with BareRoot(folder) as root:
        root.copy(wheel, "/tmp/" + os.path.basename(wheel))
        version = root.run(0, "python3", "--version").strip()
        spent = Spent()
        root.run(0, "python3", "-m", "pip", "install", "-q", "--no-index", "--no-deps", "/tmp/" + os.path.basename(wheel))
        print(f"{folder}: {root.name()}, {version}, installed in {spent}")
        find_mistake(folder, root.run)
        root.run(0, "python3", "-m", "pip", "uninstall", "-q", "-y", "cuvmm")


def main(wheel, *roots):
    with tempfile.TemporaryDirectory(prefix="cuvmm-wheel-test-") as folder:
        check_contents(wheel, os.path.join(folder, "contents"))
        for root in roots:
            try_in(os.path.abspath(root), wheel)
        if not roots:
            try_here(wheel, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
