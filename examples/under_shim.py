# SPDX-License-Identifier: Apache-2.0
"""Runs a program under the shim, on the emulator or on the machine's driver, and reads its report."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time


@dataclasses.dataclass
class Run:
    """One finished run. `report` is None where the program left none (no shim, killed).

    One that ran out of time leaves what it had until then, and in `output` where it stood, if SIGABRT still ends it.
    """

    code: int | None  # exit code, negative for a signal, None when it ran out of time
    output: str  # stdout and stderr together
    seconds: float
    report: dict | None

    @property
    def findings(self) -> list[dict]:
        return self.report["findings"] if self.report else []

    @property
    def calls(self) -> dict[str, int]:
        return self.report["calls"] if self.report else {}

    def end(self) -> str:
        """How it ended, in words."""
        if self.code is None:
            return "ran out of time"
        return f"killed by {signal.Signals(-self.code).name}" if self.code < 0 else f"exit code {self.code}"


# How long a program that ran out of time may take to write its report. The shim takes 3 s at most.
LAST_WORDS_S = 10.0


class Build:
    """A build tree: where its shim, its emulator and its command are."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder.resolve()
        self.command = self.folder / "bin" / "cuvmm"
        self.shim = self.folder / "lib" / "libcuvmm-shim.so"
        self.emulator = self.folder / "lib" / "emulator"

    def program(self, name: str, folder: str = "examples") -> pathlib.Path:
        return self.folder / "bin" / folder / name

    def run(self, argv: list[str], *, emulate: bool, shim: bool = True, enforce: bool = False,
            environment: dict[str, str] | None = None, timeout: float = 60) -> Run:
        """Runs argv. After `timeout` seconds its process group gets SIGABRT, and what then still lives SIGKILL."""
        env = {**os.environ, **(environment or {})}
        with tempfile.TemporaryDirectory(prefix="cuvmm-") as folder:
            report = pathlib.Path(folder, "report.json")
            prefix: list[str] = []
            if shim and self.command.exists():
                prefix = [str(self.command), "run", "--report", str(report)]
                prefix += ["--emulate"] if emulate else []
                prefix += ["--enforce"] if enforce else []
                prefix += ["--"]
            else:
                if shim:
                    env |= {"LD_PRELOAD": str(self.shim), "CUVMM_REPORT": str(report)}
                    env |= {"CUVMM_ENFORCE": "1"} if enforce else {}
                    env |= {"CUVMM_DRIVER": str(self.emulator / "libcuda.so.1")} if emulate else {}
                if emulate:
                    path = env.get("LD_LIBRARY_PATH")
                    env["LD_LIBRARY_PATH"] = f"{self.emulator}:{path}" if path else str(self.emulator)
            code, output, seconds = _run(prefix + argv, env, timeout, writes_report=bool(prefix))
            return Run(code, output, seconds, _read(report))


def _read(report: pathlib.Path) -> dict | None:
    """The report, or None where there is none or it is no JSON: the caller's checks then fail."""
    try:
        return json.loads(report.read_text())
    except (OSError, ValueError):
        return None


def _members(group: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # Behind the name, which may hold any characters: the state, the parent and the group.
            state, _, its_group = stat.read_text(errors="replace").rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue  # it has ended meanwhile
        if int(its_group) == group and state not in "ZX":
            found.append(int(stat.parent.name))
    return found


def _abort(process: subprocess.Popen, spare_leader: bool) -> None:
    """Ends a group so that each process says what it has. `cuvmm run`, its leader, is to gather that, and is spared."""
    for pid in _members(process.pid):
        if pid == process.pid and spare_leader:
            continue
        try:
            os.kill(pid, signal.SIGABRT)
        except ProcessLookupError:
            pass
    end = time.monotonic() + LAST_WORDS_S
    while time.monotonic() < end and _members(process.pid):
        process.poll()
        time.sleep(0.05)


def _run(argv: list[str], env: dict[str, str], timeout: float, writes_report: bool) -> tuple[int | None, str, float]:
    """`writes_report`: argv begins with `cuvmm run`, which writes the report once all others have ended."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        seconds = time.monotonic() - start
        if code is None:
            _abort(process, writes_report)
        try:  # what it left running, and itself where SIGABRT did not end it
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        return code, output.read(), seconds
