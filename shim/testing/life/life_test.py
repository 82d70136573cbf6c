# SPDX-License-Identifier: Apache-2.0
"""Runs a program that ends, forks, closes or limits itself in a nasty way: bare, on the emulator, and under cuvmm.

Its exit status, its output and the files in its folder must be equal in both runs; the report must
hold cuvmm's findings.

    life_test.py BUILD SCENARIO

BUILD is the build folder; SCENARIO is a name of the table CASES. Exit code 77: not possible for
this user.
"""

from __future__ import annotations

import dataclasses
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

MISUSE = "cuMemUnmap-size-nonzero"
LEAK = "cuMemCreate-released"
NO_CARE = object()
PERHAPS = "whether this object is leaked is not known"
FULL = ("--leak-check", "full")
LISTED = "cuvmm: still in use: 2 pieces of cuMemAlloc (4 MiB), the first made by call 1 (cuMemAlloc)\n      #0 "
DEATH_CALLS = 8  # of leak() and cycle(): the calls of init() are not intercepted


@dataclasses.dataclass(frozen=True)
class Case:
    command: str  # program, scenario, argument
    runs: int = 1  # runs under cuvmm; which code is interrupted is random
    holds: tuple = ()  # rules that the report must have
    clean: bool = False  # the report must have no finding
    processes: int = 1
    options: tuple = ()
    root: bool = False  # the case needs root
    code: int | None = None  # cuvmm's exit code with --error-exitcode 9, or 123
    status: tuple = ()  # the possible codes under cuvmm, if the bare code is random
    once: str = ""  # text that stderr holds exactly once
    count: int = 0  # occurrences of the first of `holds`; 0: any number
    findings: int = 0  # the number of findings in the report; 0: any number
    calls: int = 0  # the number of calls in the report; 0: any number
    note: str = ""  # part of one of the notes
    traced: bool = False  # with --trace: the trace must hold every call
    tries: int = 1  # attempts of which one must see the end in time, which a busy machine may miss


CASES = {
    # Which code is interrupted differs from run to run.
    "exit-in-handler-malloc": Case("endings exit-in-handler malloc", runs=12, clean=True),
    "exit-in-handler-threads": Case("endings exit-in-handler threads", runs=6, clean=True),
    "exit-in-handler-calls": Case("endings exit-in-handler calls", runs=12, clean=True),
    "exit-in-handler-finding": Case("endings exit-in-handler finding", runs=4, holds=(MISUSE,)),
    "exit-in-handler-leak": Case("endings exit-in-handler leak", runs=6, holds=(LEAK,)),
    "plain-exit-in-handler": Case("endings plain-exit-in-handler", holds=(MISUSE,), code=9),
    "two-threads-exit": Case("endings two-threads-exit exit", runs=6, holds=(MISUSE,)),
    "two-threads-_exit": Case("endings two-threads-exit _exit", runs=6, holds=(MISUSE,)),
    "exit-twice": Case("exits exit-twice 0", runs=3, holds=(MISUSE, LEAK), calls=2, status=(41, 70)),
    "exit-twice-later": Case("exits exit-twice 5000", runs=3, holds=(MISUSE, LEAK), code=9, calls=2),
    "exit-after-return": Case("exits exit-after-return 2000", runs=3, holds=(MISUSE, LEAK), calls=2, status=(41, 70)),
    "quick-exit-twice": Case("exits quick-exit-twice 2000", runs=3, holds=(MISUSE, LEAK), calls=2, status=(41, 70)),
    "workers-see-the-end": Case("exits workers-see-the-end 4", runs=4, holds=(LEAK,), status=(41,)),
    "all-exit": Case("exits all-exit 24", runs=3, holds=(MISUSE, LEAK), calls=2),
    "exit-in-exit": Case("exits exit-in-exit", holds=(MISUSE, LEAK), calls=2),
    "exit-in-destructor": Case("exits exit-in-destructor", holds=(MISUSE, LEAK), calls=2),
    "exit-joins-exit": Case("exits exit-joins-exit", holds=(MISUSE, LEAK), calls=2),
    "used-before-all": Case("exits used-before-all", holds=(MISUSE, LEAK), calls=2),
    "main-ends-as-thread": Case("exits main-ends-as-thread", holds=(MISUSE, LEAK), calls=2),
    "leak-at-int": Case(f"deaths signalled {signal.SIGINT}", holds=(LEAK,), count=1, calls=DEATH_CALLS),
    "leak-at-term": Case(f"deaths signalled {signal.SIGTERM}", holds=(LEAK,), count=1, calls=DEATH_CALLS),
    "leak-at-hup": Case(f"deaths signalled {signal.SIGHUP}", holds=(LEAK,), count=1, calls=DEATH_CALLS),
    "leak-at-kill": Case(f"deaths signalled {signal.SIGKILL}", holds=(LEAK,), count=1, calls=DEATH_CALLS),
    "leak-at-segv": Case(f"deaths signalled {signal.SIGSEGV}", holds=(LEAK,), count=1, calls=DEATH_CALLS),
    "leak-at-abrt": Case(f"deaths signalled {signal.SIGABRT}", holds=(LEAK,), count=1, calls=DEATH_CALLS),
    "leak-at-quit": Case(f"deaths signalled {signal.SIGQUIT}", holds=(LEAK,), count=1, calls=DEATH_CALLS),
    "leak-at-kill-later": Case(f"deaths signalled-later {signal.SIGKILL}", holds=(LEAK,), count=1, calls=1),
    "leak-at-kill-code": Case(f"deaths signalled {signal.SIGKILL}", holds=(LEAK,), code=9, calls=DEATH_CALLS),
    "leak-unknown": Case(f"deaths signalled {signal.SIGKILL}", options=("--live", "off"), code=123, clean=True,
                         once="leaks: not looked for in process"),
    "at-work-at-kill": Case(f"deaths signalled-at-work {signal.SIGKILL}", clean=True, tries=20, note=PERHAPS,
                            once="1 object perhaps leaked in", code=123, calls=DEATH_CALLS),
    "leak-at-abrt-at-once": Case(f"deaths signalled-at-work {signal.SIGABRT}", holds=(LEAK,), count=1, code=9,
                                 calls=DEATH_CALLS),
    "leak-at-segv-at-once": Case(f"deaths signalled-at-work {signal.SIGSEGV}", holds=(LEAK,), count=1, code=9,
                                 calls=DEATH_CALLS),
    "listed-at-kill": Case(f"deaths signalled-with-memory {signal.SIGKILL}", clean=True, options=FULL, once=LISTED),
    "listed-at-term": Case(f"deaths signalled-with-memory {signal.SIGTERM}", clean=True, options=FULL, once=LISTED),
    "listed-at-abrt": Case(f"deaths signalled-with-memory {signal.SIGABRT}", clean=True, options=FULL, once=LISTED),
    "listed-at-exec": Case("deaths exec-with-memory", clean=True, options=FULL,
                           once="cuvmm: still in use: 1 piece of cuMemAlloc (2 MiB), made by call 1 (cuMemAlloc)\n      #0 "),
    "unlisted-at-kill": Case(f"deaths signalled-with-memory {signal.SIGKILL}", clean=True, options=FULL,
                             once="graphs and descriptors of process"),
    "leak-in-child-at-kill": Case(f"deaths child-signalled {signal.SIGKILL}", holds=(LEAK,), code=9, count=1,
                                  calls=DEATH_CALLS),
    "leak-in-child-ended-by-parent": Case(f"deaths child-ended-by-parent {signal.SIGKILL}", holds=(LEAK,), code=9,
                                          count=1, calls=1),
    "leak-in-child-ended-politely": Case(f"deaths child-ended-by-parent {signal.SIGTERM}", holds=(LEAK,), code=9,
                                         count=1, calls=1),
    "child-at-work-stays-dead": Case(f"deaths child-at-work-stays-dead {signal.SIGKILL}", clean=True, tries=20,
                                     note=PERHAPS, calls=DEATH_CALLS),
    "child-stopped-at-work": Case(f"deaths child-stopped-at-work {signal.SIGKILL}", clean=True, tries=20,
                                  note=PERHAPS, calls=DEATH_CALLS),
    "leak-exec-then-kill": Case(f"deaths exec-then-signalled {signal.SIGKILL}", holds=(LEAK,), code=9, count=1,
                                calls=DEATH_CALLS, processes=2),
    "leak-then-exec": Case("deaths leak-then-exec", holds=(LEAK,), code=9, count=1, calls=1),
    "leak-before-and-after-exec": Case("deaths leak-in-both", holds=(LEAK, LEAK), code=9, count=1, calls=2,
                                       processes=2, findings=2),
    "leak-handler-exits": Case("deaths handler-exits exit", holds=(LEAK,), count=1, code=9, calls=DEATH_CALLS),
    "leak-handler-_exits": Case("deaths handler-exits _exit", holds=(LEAK,), count=1, code=9, calls=DEATH_CALLS),
    "leak-abort-in-atexit": Case("deaths abort-in-atexit", holds=(LEAK,), count=1, code=9, calls=1),
    "leak-exit-from-thread": Case("deaths exit-from-thread", holds=(LEAK,), count=1, code=9, calls=DEATH_CALLS + 7),
    "freed-after-the-driver": Case("endings freed-after-the-driver", clean=True),
    "late": Case("endings late", holds=(MISUSE,), once=f"[{MISUSE}]"),
    "killed": Case(f"endings killed {signal.SIGKILL}", holds=(MISUSE,), code=9),
    "terminated": Case(f"endings killed {signal.SIGTERM}", holds=(MISUSE,), code=9),
    "child-killed": Case(f"endings child-killed {signal.SIGKILL}", holds=(MISUSE,), code=9),
    "abort-on-small-stack": Case("endings abort-on-small-stack 8192", holds=(MISUSE,)),
    "abort-in-malloc": Case("endings abort-in-malloc", holds=(MISUSE,)),
    "many-crash": Case("endings many-crash", runs=4, holds=(MISUSE,)),
    "cancelled": Case("threads cancelled clean", clean=True),
    "cancelled-contended": Case("threads cancelled contended", clean=True),
    "cancelled-finding": Case("threads cancelled finding", holds=(MISUSE,)),
    "cancelled-traced": Case("threads cancelled clean", clean=True, traced=True),
    "small-stack": Case("threads small-stack 32768", holds=("cuMemMap-size-nonzero",)),
    "small-fiber": Case("threads small-fiber 16384", holds=(MISUSE,)),
    "fiber-gone": Case("threads fiber-gone", clean=True),
    "stampede": Case("threads stampede 64", holds=(MISUSE,), once=f"[{MISUSE}]", count=64),
    "fork-while-describing": Case("threads fork-while-describing", holds=(MISUSE,), processes=9),
    "fork-in-handler": Case("threads fork-in-handler 300", clean=True),
    "close-all": Case("limits close-all", holds=(MISUSE, LEAK)),
    "close-all-traced": Case("limits close-all", holds=(MISUSE, LEAK), traced=True),
    "stderr-closed-before": Case("limits stderr-is-a-file before", holds=(MISUSE, LEAK), once=f"[{MISUSE}]"),
    "stderr-closed-after": Case("limits stderr-is-a-file after", holds=(MISUSE, LEAK), once=f"[{MISUSE}]"),
    "daemon": Case("limits daemon", holds=("driver-initialized",), processes=2),
    "no-descriptors": Case("limits no-descriptors", holds=(MISUSE, LEAK)),
    "small-files": Case("limits small-files", processes=NO_CARE),
    "no-memory": Case("limits no-memory", holds=()),
    "other-root": Case("limits other-root", holds=(MISUSE, LEAK), root=True),
    "fewer-rights": Case("limits fewer-rights", holds=(MISUSE, LEAK), root=True),
}


def as_shell(code: int) -> int:
    return 128 - code if code < 0 else code


def run(command: list[str], folder: pathlib.Path, **environment: str) -> subprocess.CompletedProcess:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}
    return subprocess.run(command, cwd=folder, env=clean | environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=100)


def files(folder: pathlib.Path) -> dict[str, str]:
    return {str(f.relative_to(folder)): f.read_text() for f in sorted(folder.rglob("*")) if f.is_file()}


def compare(case: Case, build: pathlib.Path, scratch: pathlib.Path) -> tuple[list[str], bool]:
    """Returns the differences, and whether cuvmm saw the end of a process too late to say which
    memory it worked with."""
    program, *arguments = case.command.split()
    command = [str(build / "life" / program), *arguments]
    emulator = str(build / "lib" / "emulator")
    bare_folder, folder, report = scratch / "bare", scratch / "checked", scratch / "report.json"
    for place in (bare_folder, folder):
        place.mkdir()
        place.chmod(0o777)
    bare = run(command, bare_folder, LD_LIBRARY_PATH=emulator)
    options = ["--emulate", "--report", str(report), *case.options]
    if case.traced:
        options += ["--trace", str(scratch / "trace")]
    if case.code is not None:
        options += ["--error-exitcode", "9"]
    checked = run([str(build / "bin" / "cuvmm"), "run", *options, "--", *command], folder)
    faults = []

    def want(condition: bool, text: str) -> None:
        if not condition:
            faults.append(text)

    checked.returncode = as_shell(checked.returncode)
    wanted = as_shell(bare.returncode) if case.code is None else case.code
    want(checked.returncode in (case.status or (wanted,)), f"exit code {case.status or wanted}, not {checked.returncode}")
    want(checked.stdout == bare.stdout, f"output {bare.stdout!r}, not {checked.stdout!r}")
    want(files(folder) == files(bare_folder), f"files {files(bare_folder)}, not {files(folder)}")
    want(report.exists(), "a report")
    found = json.loads(report.read_text()) if report.exists() else {"findings": [], "notes": [], "processes": 0}
    rules = {finding["rule"] for finding in found["findings"]}
    for rule in case.holds:
        want(rule in rules, f"{rule} among the findings {rules}")
    counts = {finding["rule"]: finding["count"] for finding in found["findings"]}
    want(not case.count or counts.get(case.holds[0]) == case.count, f"{case.count} times {case.holds[:1]}, not {counts}")
    calls = sum(found["calls"].values()) if report.exists() else 0
    want(not case.calls or calls == case.calls, f"{case.calls} calls, not {calls}")
    want(not case.findings or len(found["findings"]) == case.findings, f"{case.findings} findings, not {rules}")
    want(any(case.note in note for note in found["notes"]) or not case.note, f"a note with {case.note!r}")
    want(not case.clean or not rules, f"no finding, not {rules}")
    want(case.processes is NO_CARE or found["processes"] == case.processes,
         f"{case.processes} processes, not {found['processes']}")
    want(not case.once or checked.stderr.count(case.once) == 1, f"{case.once} once on stderr")
    if case.traced:
        trace = scratch / "trace"
        want(trace.exists() and "cuMemUnmap" in trace.read_text(), "calls in the trace")
    too_late = not rules and any("nobody saw when it ended" in note for note in found["notes"])
    if faults:
        faults.append(f"notes: {found['notes']}\n{checked.stderr[-3000:]}")
    return faults, too_late


def try_once(case: Case, build: pathlib.Path) -> tuple[list[str], bool]:
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="cuvmm-life-"))
    scratch.chmod(0o755)
    try:
        return compare(case, build, scratch)
    finally:
        shutil.rmtree(scratch)


def main() -> int:
    build, name = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    case = CASES[name]
    if case.root and os.geteuid() != 0:
        print("needs root")
        return 77
    for number in range(case.runs):
        for _ in range(case.tries):
            faults, too_late = try_once(case, build)
            if not too_late:
                break
        if faults:
            print(f"run {number + 1} of {case.runs}: expected:", *faults, sep="\n  ")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
