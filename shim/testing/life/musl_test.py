# SPDX-License-Identifier: Apache-2.0
"""musl_test.py BUILD: programs of another C library than glibc run under cuvmm as without it, and
cuvmm reports that it did not check them.

Needs musl-gcc (Debian's package musl-tools); else exit code 77.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  printf("%d words, %s\n", count, getenv("LD_PRELOAD") ? "preload" : "no preload");
  fflush(stdout);
  if (count > 1) execv(words[1], words + 1);
  return 3;
}
"""
SAID = "not checked, because cuvmm's shim and CUDA drivers need glibc"


def asked_for(library: pathlib.Path) -> list[str]:
    """The libraries that a library needs, and its undefined symbols."""
    text = subprocess.run(["readelf", "-dW", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
    return [line for line in text.splitlines() if "(NEEDED)" in line or " GLOBAL " in line and " UND " in line]


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    assert asked_for(build / "lib" / "libcuvmm-other-libc.so") == [], "what it asks for may be missing"
    assert asked_for(build / "lib" / "libcuvmm-shim.so"), "the test can fail"
    compiler = shutil.which("musl-gcc")
    if not compiler:
        print("there is no musl-gcc")
        return 77
    misuse = [build / "life" / "endings", "late"]
    with tempfile.TemporaryDirectory(prefix="cuvmm-musl-") as name:
        scratch = pathlib.Path(name)
        (scratch / "program.c").write_text(PROGRAM)
        program = scratch / "a musl program"
        subprocess.run([compiler, "-o", program, scratch / "program.c"], check=True)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}

        def cuvmm(*command: object, options: tuple = ()) -> tuple[int, str, str, dict]:
            report = scratch / "report.json"
            words = [build / "bin" / "cuvmm", "run", "--emulate", "--report", report, *options, "--", *command]
            done = subprocess.run([str(word) for word in words], env=clean, capture_output=True, text=True, timeout=100)
            print(command, done.returncode, done.stdout, done.stderr)
            assert "ld.so" not in done.stderr and "Error" not in done.stderr, "no loader complains"
            return done.returncode, done.stdout, done.stderr, json.loads(report.read_text())

        code, out, err, report = cuvmm(program)
        assert (code, out) == (3, "1 words, preload\n")
        assert err.count(str(program)) >= 2 and SAID in err, "before it starts, and at the end"
        assert "nothing was checked" in err.splitlines()[-1]
        assert any(SAID in note and str(program) in note for note in report["notes"])

        code, out, err, _ = cuvmm("sh", "-c", f"'{program}'; '{program}'; env -i '{program}'; exit 0",
                                  options=("--error-exitcode", "9"))
        assert (code, out) == (122, "1 words, preload\n" * 2 + "1 words, no preload\n")
        assert err.count(SAID) == 1 and err.count(str(program)) == 1, "each program once"

        # A glibc program that the musl program becomes, or starts, is checked again.
        code, out, err, report = cuvmm(program, *misuse, options=("--error-exitcode", "9"))
        assert code == 9 and SAID in err, "the program is checked, and this one still named"
        assert [f["rule"] for f in report["findings"]] == ["cuMemUnmap-size-nonzero"]

        # A `cuvmm run` inside of a `cuvmm run` does not preload twice.
        code, out, err, _ = cuvmm(build / "bin" / "cuvmm", "run", "--emulate", "--", "sh", "-c", 'echo "$LD_PRELOAD"')
        words = out.strip().split(":")
        assert code == 0 and len(words) == len(set(words)) and out.count("libcuvmm-shim.so") == 1, out
        assert "$LIB" in words[0], "or musl's loader would find the shim"
    return 0


if __name__ == "__main__":
    sys.exit(main())
