# SPDX-License-Identifier: Apache-2.0
"""A stripped program whose debug information lies in a file beside it: the finding has the source's lines.

Takes the shim, a driver and a program with debug information that misuses cuMemMap."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SHIM, DRIVER, PROGRAM = sys.argv[1:4]
SKIPPED = 77


def finding(program: pathlib.Path) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "DEBUGINFOD_"))}
    env |= {"LD_PRELOAD": SHIM, "CUVMM_DRIVER": DRIVER}
    run = subprocess.run([str(program)], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert "cuMemMap-offset-zero" in run.stderr, run.stderr
    return run.stderr


def main() -> int:
    if not shutil.which("objcopy"):
        print("skipped: no objcopy")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="cuvmm-debug-") as folder:
        program, debug = pathlib.Path(folder, "program"), pathlib.Path(folder, "program.debug")
        subprocess.run(["objcopy", "--only-keep-debug", PROGRAM, str(debug)], check=True)
        subprocess.run(["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id",
                        f"--add-gnu-debuglink={debug}", PROGRAM, str(program)], check=True)
        text = finding(program)
        assert "linked.cc:" in text, text
        debug.unlink()
        text = finding(program)
        assert "linked.cc:" not in text, text
    return 0


if __name__ == "__main__":
    sys.exit(main())
