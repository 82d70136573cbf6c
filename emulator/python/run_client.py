# SPDX-License-Identifier: Apache-2.0
"""Runs a client script with the emulator as its libcuda, bare or under the shim.

Under the shim the rules of its findings must be exactly those given by --expects. Exit code 77 when
the virtual environment of the clients is missing.
"""

import argparse
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import expectation  # noqa: E402
import under_shim  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build tree")
    parser.add_argument("--shim", action="store_true", help="run it under the shim")
    parser.add_argument("--led", action="store_true", help="with the start-up hook for cuda.bindings.runtime")
    parser.add_argument("--expects", action="append", default=[], metavar="RULE")
    options = parser.parse_args()
    python = pathlib.Path(os.environ.get("CUVMM_PYTHON", ROOT / ".deps/venv/bin/python3"))
    if not python.exists():
        print(f"skipped: there is no {python}; `./dev` makes it from emulator/python/requirements.txt")
        return 77
    build = under_shim.Build(options.build)
    if not (build.emulator / "libcuda.so.1").exists():
        print(f"there is no emulator in {build.emulator}")
        return 1
    environment = {"CUVMM_TEST_EMULATED": "1"}
    if options.led:
        environment["PYTHONPATH"] = str(build.emulator / "python")
    run = build.run([str(python), str(options.script)], emulate=True, shim=options.shim,
                    environment=environment, timeout=100)
    print(run.output)
    faults = [] if run.code == 0 else [run.end()]
    if options.shim:
        faults += expectation.Expectation(tuple(options.expects)).difference(run.findings)
        if not run.calls:
            faults.append("no call was intercepted")
    print("\n".join(faults) or "as expected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
