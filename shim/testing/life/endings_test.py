#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The matrix of endings: one process for each way in which a process ends while it holds a leak.

    endings_test.py BUILD [--write]

Each ending runs bare and under cuvmm. The table, which must be that of docs/reliability.md, says
whether the leak was reported, whether the exit code or the signal stayed, and whether the calls were
counted; --write writes it there. Every cell but those of musl must be "yes".
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

# cuvmm keeps the last calls of a process that died, in a folder of TMPDIR. Other users may enter it.
KEPT = tempfile.TemporaryDirectory(prefix="cuvmm-kept-")
os.chmod(KEPT.name, 0o711)
os.environ["TMPDIR"] = KEPT.name

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "reliability.md"
BEGIN, END = "<!-- written by shim/testing/life/endings_test.py --write -->\n", "<!-- end -->\n"
LEAK = "cuMemCreate-released"
INTERRUPTED = """
import ctypes, os, signal, time
cuda = ctypes.CDLL("libcuda.so.1")
context, handle = ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuInit(0); cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0); cuda.cuCtxSetCurrent(context)
prop = (ctypes.c_int * 8)(1, 0, 1, 0)
assert cuda.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(2 << 20), prop, ctypes.c_uint64(0)) == 0
time.sleep(2)  # a process that is ended in the midst of its work may still need its memory
os.kill(os.getpid(), signal.SIGINT)
"""
MUSL = "int main(void) { return 3; }\n"
DEATHS = "{life}/deaths "
ENDINGS = {
    "`main` returns": DEATHS + "leak-and-return",
    "`exit` in two threads at once": "{life}/exits exit-twice 5000",
    "`quick_exit` in two threads at once": "{life}/exits quick-exit-twice 2000",
    "`exit` in another thread": DEATHS + "exit-from-thread",
    "`abort` in a handler of `atexit`": DEATHS + "abort-in-atexit",
    "SIGINT": DEATHS + f"signalled {int(signal.SIGINT)}",
    "SIGTERM": DEATHS + f"signalled {int(signal.SIGTERM)}",
    "SIGHUP": DEATHS + f"signalled {int(signal.SIGHUP)}",
    "SIGQUIT": DEATHS + f"signalled {int(signal.SIGQUIT)}",
    "SIGKILL": DEATHS + f"signalled {int(signal.SIGKILL)}",
    "SIGSEGV": DEATHS + f"signalled {int(signal.SIGSEGV)}",
    "SIGABRT": DEATHS + f"signalled {int(signal.SIGABRT)}",
    "`_exit` in a handler of SIGTERM": DEATHS + "handler-exits _exit",
    "exec": DEATHS + "leak-then-exec",
    "KeyboardInterrupt of CPython": "{python} {scratch}/interrupted.py",
    "a process of another user": "setpriv --reuid 65534 --regid 65534 --clear-groups {life}/deaths leak-and-return",
    "a program of musl": "{scratch}/musl",
}
# Two threads give two codes: either of them is right.
EITHER = {41, 70}


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}
    return subprocess.run(command, env=clean | environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300)


def shell(code: int) -> int:
    return 128 - code if code < 0 else code


def row(build: pathlib.Path, ending: str, scratch: pathlib.Path) -> str:
    words = ENDINGS[ending].format(life=build / "life", python=sys.executable, scratch=scratch).split()
    bare = run(words, LD_LIBRARY_PATH=str(build / "lib" / "emulator"))
    report = scratch / "report.json"
    checked = run([str(build / "bin" / "cuvmm"), "run", "--emulate", "--report", str(report), "--", *words])
    found = json.loads(report.read_text())
    codes = EITHER if "two threads" in ending else {shell(bare.returncode)}
    leak = any(finding["rule"] == LEAK for finding in found["findings"])
    if ending == "a program of musl":
        noted = any("not checked" in note for note in found["notes"])
        leak, counted = ("not checked, and said so", "-") if noted else ("no", "no")
    else:
        leak, counted = ("yes" if leak else "no"), ("yes" if sum(found["calls"].values()) else "no")
    kept = "yes" if shell(checked.returncode) in codes else f"no: {checked.returncode}"
    return f"| {ending} | {leak} | {kept} | {counted} |\n"


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    musl = shutil.which("musl-gcc")
    table = "| ending | leak reported | code or signal kept | calls counted |\n|---|---|---|---|\n"
    before = PAGE.read_text()
    begin, end = before.index(BEGIN) + len(BEGIN), before.index(END)
    written = {line.split(" | ")[0][2:]: line + "\n" for line in before[begin:end].splitlines()}
    with tempfile.TemporaryDirectory(prefix="cuvmm-endings-") as name:
        scratch = pathlib.Path(name)
        scratch.chmod(0o755)
        (scratch / "interrupted.py").write_text(INTERRUPTED)
        (scratch / "musl.c").write_text(MUSL)
        if musl:
            subprocess.run([musl, "-o", scratch / "musl", scratch / "musl.c"], check=True)
        for ending in ENDINGS:
            # Where this machine cannot try it, what another one found stays.
            impossible = ("musl" in ending and not musl) or ("user" in ending and os.geteuid() != 0)
            table += written.get(ending, "") if impossible else row(build, ending, scratch)
    wrong = [line for line in table.splitlines()[2:] if "no" in line.replace("not checked", "")
             .split(" | ", 1)[1]]
    if "--write" in sys.argv:
        PAGE.write_text(before[:begin] + table + before[end:])
    elif table != before[begin:end]:
        wrong.append(f"{PAGE.name} says something else; this run:\n{table}")
    print(f"{len(ENDINGS)} endings", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
