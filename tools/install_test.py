# SPDX-License-Identifier: Apache-2.0
"""Installs into an empty folder and runs the installed command: nothing of the build tree is needed.

Usage: install_test.py CMAKE BUILD_FOLDER
"""
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = "init()\nr0 = cuMemAddressReserve(2M)\ncuMemAddressFree(r0, 2M)  # CUDA_SUCCESS\n"


def main(cmake, build):
    with tempfile.TemporaryDirectory(prefix="cuvmm-install-test-") as prefix:
        subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        cuvmm = os.path.join(prefix, "bin", "cuvmm")
        program, report = os.path.join(prefix, "p.txt"), os.path.join(prefix, "r.json")
        with open(program, "w") as file:
            file.write(PROGRAM)
        run = subprocess.run([cuvmm, "run", "--emulate", "--report", report, "--", cuvmm, "replay", program],
                             capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        with open(report) as file:
            value = json.load(file)
        assert value["calls"]["cuMemAddressReserve"] == 1, value
        assert value["driver"]["path"].startswith(prefix), value["driver"]

        folder = os.path.dirname(value["driver"]["path"])
        wanted = ("libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1", "python/sitecustomize.py", "python/cuvmm_runtime.py")
        assert all(os.path.exists(f"{folder}/{name}") for name in wanted), os.listdir(folder)

        needed = subprocess.run(["readelf", "-d", cuvmm], capture_output=True, text=True, check=True).stdout
        libraries = re.findall(r"NEEDED.*\[(.*)\]", needed)
        foreign = [name for name in libraries if not re.match(r"(libc|libm|libdl|libpthread|ld-linux.*)\.so", name)]
        sanitized = any("san" in name for name in foreign)
        assert sanitized or not foreign, f"cuvmm needs {foreign}"
        assert "RUNPATH" not in needed and "RPATH" not in needed, needed


if __name__ == "__main__":
    main(*sys.argv[1:])
