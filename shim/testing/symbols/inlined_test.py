# SPDX-License-Identifier: Apache-2.0
"""Functions that the compiler inlined are frames of their own, each at its own line.

Usage: inlined_test.py CUVMM. Needs the shim and the emulator in place."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

CUVMM = sys.argv[1]
SKIPPED = 77
SOURCE = """#include <dlfcn.h>
typedef unsigned long long u64;
typedef int (*Reserve)(u64*, unsigned long, unsigned long, u64, u64);
static Reserve reserve;
static inline __attribute__((always_inline)) int innermost(u64* at) {
  int result = reserve(at, 3, 0, 0, 0);  /* line 6 */
  return result + 1;
}
static inline __attribute__((always_inline)) int middle(u64* at) {
  return innermost(at) * 2;  /* line 10 */
}
__attribute__((noinline)) int outer(u64* at) {
  return middle(at) + 3;  /* line 13 */
}
int main(void) {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  ((int (*)(int))dlsym(cuda, "cuInit"))(0);
  reserve = (Reserve)dlsym(cuda, "cuMemAddressReserve");
  u64 at = 0;
  return outer(&at) == 0;
}
"""


def main() -> int:
    if not shutil.which("cc"):
        print("skipped: no cc")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="cuvmm-inlined-") as folder:
        source, program, report = (pathlib.Path(folder, name) for name in ("program.c", "program", "r.json"))
        source.write_text(SOURCE)
        subprocess.run(["cc", "-O2", "-g", str(source), "-o", str(program), "-ldl"], check=True)
        subprocess.run([CUVMM, "run", "--emulate", "--quiet", "--report", str(report), "--", str(program)], check=True)
        finding = next(one for one in json.loads(report.read_text())["findings"] if one["call"] == "cuMemAddressReserve")
        frames = [(frame["function"], pathlib.Path(frame.get("file", "")).name, frame.get("line"))
                  for frame in finding["stack"][:4]]
        wanted = [("innermost", "program.c", 6), ("middle", "program.c", 10), ("outer", "program.c", 13),
                  ("main", "program.c", 20)]
        assert frames == wanted, frames
    return 0


if __name__ == "__main__":
    sys.exit(main())
