# SPDX-License-Identifier: Apache-2.0
"""Installs cuvmm, moves the installation, and uses it as users do: it needs no file of the build tree, and has no absolute path.

Usage: install_test.py CMAKE BUILD_FOLDER SOURCE_FOLDER
"""
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = "init()\nr0 = cuMemAddressReserve(2M)\ncuMemAddressFree(r0, 2M)  # CUDA_SUCCESS\n"


def run(*command, status=0, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == status, f"{command} ended with {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def check_command(prefix, folder):
    cuvmm = os.path.join(prefix, "bin", "cuvmm")
    program, report = os.path.join(folder, "p.txt"), os.path.join(folder, "r.json")
    with open(program, "w") as file:
        file.write(PROGRAM)
    run(cuvmm, "run", "--emulate", "--report", report, "--", cuvmm, "replay", program)
    with open(report) as file:
        value = json.load(file)
    assert value["calls"]["cuMemAddressReserve"] == 1, value
    assert value["driver"]["path"].startswith(prefix), value["driver"]

    emulator = os.path.dirname(value["driver"]["path"])
    wanted = ("libcudart.so.12", "libcudart.so.13", "libcuvmm-blas.so", "libnvidia-ml.so.1",
              "python/sitecustomize.py", "python/cuvmm_runtime.py")
    if platform.machine() == "x86_64":
        wanted += ("libcuvmm-static-cudart.so",)
    assert all(os.path.exists(f"{emulator}/{name}") for name in wanted), os.listdir(emulator)

    needed = run("readelf", "-d", cuvmm)
    libraries = re.findall(r"NEEDED.*\[(.*)\]", needed)
    foreign = [name for name in libraries if not re.match(r"(libc|libm|libdl|libpthread|ld-linux.*)\.so", name)]
    sanitized = any("san" in name for name in foreign)
    assert sanitized or not foreign, f"cuvmm needs {foreign}"
    if not sanitized:  # a build runs no sanitized program, so it has no generated pages
        page = re.search(r"^  page +(\S+)#", run(cuvmm, "explain", "cuMemMap-offset-zero"), re.M)[1]
        assert page.startswith(prefix) and os.path.isfile(page), page
    assert "RUNPATH" not in needed and "RPATH" not in needed, needed
    return sanitized


def check_texts(prefix, places):
    """Checks that no installed text names the folder of the build or of the first installation."""
    for path in glob.glob(f"{prefix}/**/*", recursive=True):
        if path.endswith((".cmake", ".pc", ".py", ".1", "/cuvmm", ".fish", "/_cuvmm", ".h")) and os.path.isfile(path):
            with open(path, "rb") as file:
                text = file.read()
            assert text[:4] == b"\x7fELF" or not any(place.encode() in text for place in places), path


def check_project(cmake, prefix, source, folder):
    """Builds examples/cmake_project with only the installation."""
    project, build = os.path.join(folder, "project"), os.path.join(folder, "project-build")
    shutil.copytree(os.path.join(source, "examples", "cmake_project"), project)
    include = [f"-DCUDA_INCLUDE={os.environ['CUDA_INCLUDE']}"] if os.environ.get("CUDA_INCLUDE") else []
    run(cmake, "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Debug", *include)
    run(cmake, "--build", build)
    ctest = os.path.join(os.path.dirname(cmake), "ctest")
    output = run(ctest, "--test-dir", build, "--output-on-failure", "-E", "^broken$")
    # Without a real driver, the test of that is skipped.
    assert "100% tests passed" in output, output
    for name in ("grows", "on_two_devices", "known_bug"):
        assert re.search(rf"{name} \.+ +Passed", output), output
    broken = run(ctest, "--test-dir", build, "--output-on-failure", "-R", "^broken$", status=8)
    assert "[cuMemRelease-pairing]" in broken, broken

    # CMake reports a wrong argument at once.
    with open(os.path.join(project, "CMakeLists.txt"), "a") as file:
        file.write("cuvmm_add_test(NAME wrong COMMAND grow ALLOW cuMemMap-no-such-rule)\n")
    wrong = subprocess.run([cmake, build], capture_output=True, text=True)
    assert wrong.returncode != 0 and "no rule is called 'cuMemMap-no-such-rule'" in re.sub(r"\s+", " ", wrong.stderr), wrong.stderr


def check_folders(prefix):
    command = glob.glob(f"{prefix}/bin/cuvmm")[0]
    assert os.path.exists(os.path.join(run(command, "--cmakedir").strip(), "cuvmm-config.cmake"))
    assert os.path.exists(os.path.join(run(command, "--pkgconfigdir").strip(), "cuvmm.pc"))


def check_pkgconfig(prefix):
    if not shutil.which("pkg-config"):
        print("no pkg-config here: not tried")
        return
    environment = {**os.environ, "PKG_CONFIG_PATH": os.pathsep.join(glob.glob(f"{prefix}/share/pkgconfig"))}
    shim = run("pkg-config", "--variable=shim", "cuvmm", env=environment).strip()
    assert os.path.samefile(shim, glob.glob(f"{prefix}/lib*/cuvmm/libcuvmm-shim.so")[0]), shim
    flags = run("pkg-config", "--libs", "cuvmm-emulator", env=environment).split()
    assert any(os.path.exists(os.path.join(flag[2:], "libcuda.so.1")) for flag in flags if flag.startswith("-L")), flags


def main(cmake, build, source):
    with tempfile.TemporaryDirectory(prefix="cuvmm-install-test-") as folder:
        first, prefix = os.path.join(folder, "first"), os.path.join(folder, "moved", "away")
        run(cmake, "--install", build, "--prefix", first)
        os.makedirs(os.path.dirname(prefix))
        os.rename(first, prefix)
        sanitized = check_command(prefix, folder)
        check_texts(prefix, (first, os.path.realpath(build)))
        check_folders(prefix)
        check_pkgconfig(prefix)
        if not sanitized:  # a program without a sanitizer cannot load libraries with it
            check_project(cmake, prefix, source, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
