# SPDX-License-Identifier: Apache-2.0
"""setuid_test.py PROGRAM LIBRARY: a set-user-ID program obeys no variable of the user who starts it.

The program loads no library that a variable names, and writes no file. Needs root, and a file
system on which set-user-ID has an effect; else exit code 77.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534


def main() -> int:
    program, library = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    if os.geteuid() != 0:
        print("needs root")
        return 77
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="cuvmm-setuid-"))
    try:
        scratch.chmod(0o755)
        theirs = scratch / "theirs"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        elevated = pathlib.Path(shutil.copy(program, scratch / "elevated"))
        elevated.chmod(0o4755)
        code = shutil.copy(library, scratch / "code.so")
        secret = scratch / "secret"
        secret.write_text("words of root\n")
        secret.chmod(0o600)
        variables = {"CUVMM_DRIVER": code, "CUVMM_REPORT": f"{theirs}/report", "CUVMM_REPORT_DIR": str(theirs),
                     "CUVMM_TRACE": f"{theirs}/trace", "CUVMM_SUPPRESSIONS": str(secret), "PATH": "/usr/bin:/bin"}
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        # Without additional rights the program does obey, which shows that the test can fail.
        plain = pathlib.Path(shutil.copy(program, scratch / "plain"))
        obeys = subprocess.run([plain], env=variables, capture_output=True, text=True, **as_nobody)
        if "loaded" not in obeys.stdout:
            print("this user cannot reach the program's libraries:", obeys.stdout, obeys.stderr)
            return 77
        for file in theirs.iterdir():
            file.unlink()
        run = subprocess.run([elevated], env=variables, capture_output=True, text=True, **as_nobody)
        print(run.stdout, run.stderr)
        if "euid 0" not in run.stdout:
            print("set-user-ID has no effect here")
            return 77
        assert "loaded" not in run.stdout, "a library of the user's ran with other rights"
        assert "words" not in run.stderr, "a file of the user's choice was read with other rights"
        assert list(theirs.iterdir()) == [], f"files were written with other rights: {list(theirs.iterdir())}"
        assert run.returncode == 0, run.returncode
    finally:
        shutil.rmtree(scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
