#!/usr/bin/env python3
"""chaos.py BUILD SECONDS [SEED]: one seed of the program chaos after the other, bare on the emulator and under cuvmm.

Each time the output and the exit code must be the same, and cuvmm's report whole and without a finding: every call is
legal. The first seed that differs ends the run with exit code 1 and the command that repeats it. Without SEED the
seeds begin at the clock; with it only that one runs.
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
import time

WORKERS = 6
HANGS_AFTER_S = 60  # a seed takes a tenth of a second


def stuck(session: int) -> str:
    """The processes of a session, with what their threads wait for."""
    text = ""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) != session:
                continue
            text += f"{stat.parent.name} {(stat.parent / 'cmdline').read_text()!r} {fields[0]}\n"
            for task in (stat.parent / "task").iterdir():
                text += f"  {task.name}: {(task / 'wchan').read_text()} {(task / 'syscall').read_text()}"
            if shutil.which("gdb"):
                text += subprocess.run(["gdb", "-p", stat.parent.name, "-batch", "-ex", "thread apply all bt 16"],
                                       capture_output=True, text=True, timeout=60).stdout
        except (OSError, subprocess.TimeoutExpired):
            continue
    return text


def run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}
    process = subprocess.Popen(command, env=clean | environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=HANGS_AFTER_S)
    except subprocess.TimeoutExpired:
        where = stuck(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        return subprocess.CompletedProcess(command, "hangs", output, errors + where)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def differs(build: pathlib.Path, seed: int, folder: str) -> str:
    """What is not as it should be; "" when all is."""
    program = [str(build / "life" / "chaos"), str(seed)]
    report_file = pathlib.Path(folder, "report.json")
    bare = run(program, {"LD_LIBRARY_PATH": str(build / "lib" / "emulator")})
    checked = run([str(build / "bin" / "cuvmm"), "run", "--emulate", "--report", str(report_file), "--", *program], {})
    if (bare.returncode, bare.stdout) != (checked.returncode, checked.stdout):
        return f"bare {bare.returncode}:\n{bare.stdout}{bare.stderr}under cuvmm {checked.returncode}:\n{checked.stdout}{checked.stderr}"
    report = json.loads(report_file.read_text())
    if report["processes"] < WORKERS:
        return f"{report['processes']} processes in the report: {report['notes']}"
    found = [finding["rule"] for finding in report["findings"]]
    return f"findings in legal calls: {found}\n{checked.stderr}" if found else ""


def main() -> int:
    if len(sys.argv) not in (3, 4):
        print(__doc__)
        return 2
    build, seconds = pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2])
    seed, end = int(time.time()), time.monotonic() + seconds
    if len(sys.argv) == 4:
        seed, end = int(sys.argv[3]), 0
    runs = 0
    with tempfile.TemporaryDirectory(prefix="cuvmm-chaos-") as folder:
        while runs == 0 or time.monotonic() < end:
            fault = differs(build, seed + runs, folder)
            if fault:
                print(f"seed {seed + runs}: {fault}\nrepeat it by: {sys.argv[0]} {sys.argv[1]} 1 {seed + runs}")
                return 1
            runs += 1
    print(f"{runs} seeds from {seed}, {runs * WORKERS} workers: no difference, no finding")
    return 0


if __name__ == "__main__":
    sys.exit(main())
