#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chaos.py [--valgrind] BUILD SECONDS [SEED]: runs the program chaos with one seed after the other,
bare and under cuvmm.

A bare run uses the emulator. Each time both outputs and exit codes must be equal, and cuvmm's
report whole. Every call is legal, and every second worker plants a leak: the report must have each
of these leaks, and no other finding. Memory that a thread may still work with when it is killed is
no leak: a note names it, as in flight or as perhaps leaked. The first seed that differs ends the run with exit
code 1 and the command that repeats it. Without SEED the first seed comes from the clock; with SEED
only that one runs.

With --valgrind memcheck watches cuvmm and every process under it. In a sanitized build each
process's sanitizer watches. Any report of either is a fault.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# cuvmm keeps the last calls of a process that died, in a folder of TMPDIR. Other users may enter it.
KEPT = tempfile.TemporaryDirectory(prefix="cuvmm-kept-")
os.chmod(KEPT.name, 0o711)
os.environ["TMPDIR"] = KEPT.name

WORKERS = 6
PLANTED = 6 << 20  # bytes of a planted leak; all other memory has 2 MiB
HANGS_AFTER_S = 300  # a seed takes a tenth of a second, under valgrind 5, under ThreadSanitizer up to 60
# The crash that the program causes on purpose.
CRASH = "{\n   on purpose\n   Memcheck:Addr4\n   fun:*end*\n}\n"


def stuck(session: int) -> str:
    """The processes of a session, and the calls in which their threads wait."""
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


# After a fatal signal, once the report is written, the shim looks up symbols, under a timer and
# with signal handlers (docs/reliability.md).
GUARDED = "signal:cuvmm::shim::Process::tell_with_symbols\n"


def watchers(folder: pathlib.Path) -> dict[str, str]:
    """The sanitizers' settings: the program handles its faults itself, and the sanitizers' reports
    go into files."""
    (folder / "tsan.supp").write_text(GUARDED)
    options = f"log_path={folder}/sanitizer:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0"
    return {
        # The shim is preloaded, and so comes before AddressSanitizer's library.
        "ASAN_OPTIONS": options + ":detect_leaks=0:verify_asan_link_order=0",
        "TSAN_OPTIONS": options + f":die_after_fork=0:suppressions={folder}/tsan.supp",
        "UBSAN_OPTIONS": options + ":print_stacktrace=1",
    }


def valgrind(folder: pathlib.Path) -> list[str]:
    suppressions = folder / "crash.supp"
    suppressions.write_text(CRASH)
    return ["valgrind", "-q", "--trace-children=yes", "--trace-children-skip=*/true", f"--suppressions={suppressions}",
            f"--log-file={folder}/valgrind.%p"]


def complaints(folder: pathlib.Path) -> str:
    """The reports of valgrind and the sanitizers, without those about the program's intended
    faults."""
    no_fault = r"(==\d+== \n)*==\d+== Process terminating with.*\n(==\d+==  .*\n)*|.*WARNING: ASan doesn't fully support makecontext.*\n"
    text = ""
    for log in [*folder.glob("valgrind.*"), *folder.glob("sanitizer.*")]:
        text += re.sub(no_fault, "", log.read_text())
        log.unlink()
    return text


@dataclasses.dataclass
class Tally:
    """The sums of all seeds so far."""
    endings: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    planted: int = 0
    reported: int = 0
    in_flight: int = 0  # processes with memory that a thread was at work with
    perhaps: int = 0  # objects of which nobody knows whether they are leaks

    def __str__(self) -> str:
        endings = ", ".join(f"{count} {how}" for how, count in sorted(self.endings.items()))
        return (f"{self.endings.total()} workers ended: {endings}\n{self.planted} leaks were planted, "
                f"{self.reported} reported, 0 others reported; {self.in_flight} processes had memory in flight, "
                f"{self.perhaps} objects were perhaps leaked")


def wrong_leaks(report: dict, planted: int, tally: Tally) -> str:
    """The wrong or missing leaks in a report; "" if it is right."""
    def is_planted(finding: dict) -> bool:
        return finding["rule"] == "cuMemCreate-released" and finding["objects"][0]["size"] == PLANTED

    invented = [finding for finding in report["findings"] if not is_planted(finding)]
    if invented:
        return f"findings in legal calls: {json.dumps(invented, indent=1)}\nnotes: {report['notes']}"
    reporters = {finding["pid"] for finding in report["findings"]}
    if len(reporters) != planted or sum(finding["count"] for finding in report["findings"]) != planted:
        return f"{planted} leaks were planted, {sorted(reporters)} have one: {report['notes']}"
    tally.planted += planted
    tally.reported += len(reporters)
    tally.in_flight += sum("in flight, not leaked" in note for note in report["notes"])
    tally.perhaps += report.get("perhaps_leaked", 0)
    return ""


def differs(build: pathlib.Path, seed: int, folder: pathlib.Path, watcher: list[str], tally: Tally) -> str:
    """The difference between the runs, or a fault of a report; "" if all is right."""
    program = [str(build / "life" / "chaos"), str(seed)]
    report_file = folder / "report.json"
    bare = run(program, watchers(folder) | {"LD_LIBRARY_PATH": str(build / "lib" / "emulator")})
    checked = run([*watcher, str(build / "bin" / "cuvmm"), "run", "--emulate", "--report", str(report_file), "--",
                   *program], watchers(folder))
    if (bare.returncode, bare.stdout) != (checked.returncode, checked.stdout):
        return f"bare {bare.returncode}:\n{bare.stdout}{bare.stderr}under cuvmm {checked.returncode}:\n{checked.stdout}{checked.stderr}"
    report = json.loads(report_file.read_text())
    if report["processes"] < WORKERS:
        return f"{report['processes']} processes in the report: {report['notes']}"
    tally.endings.update(re.findall(r"worker \d+: (.*)", bare.stdout))
    return wrong_leaks(report, bare.stdout.count("planted"), tally) or complaints(folder)


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if argument != "--valgrind"]
    if len(arguments) not in (2, 3):
        print(__doc__)
        return 2
    build, seconds = pathlib.Path(arguments[0]).resolve(), float(arguments[1])
    seed, end = int(time.time()), time.monotonic() + seconds
    if len(arguments) == 3:
        seed, end = int(arguments[2]), 0
    runs, tally = 0, Tally()
    with tempfile.TemporaryDirectory(prefix="cuvmm-chaos-") as name:
        folder = pathlib.Path(name)
        watcher = valgrind(folder) if "--valgrind" in sys.argv else []
        while runs == 0 or time.monotonic() < end:
            fault = differs(build, seed + runs, folder, watcher, tally)
            if fault:
                again = " ".join(["--valgrind"] * bool(watcher) + [arguments[0], "1", str(seed + runs)])
                print(f"seed {seed + runs}: {fault}\nrepeat it by: {sys.argv[0]} {again}\nuntil then: {tally}")
                return 1
            runs += 1
    print(f"{runs} seeds from {seed}, {runs * WORKERS} workers: no difference, each planted leak found, and no other\n{tally}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
