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
    """One finished run. `report` is None where the program left none (no shim, killed, crashed)."""

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
        """Runs argv; its whole process group is killed after `timeout` seconds."""
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
            code, output, seconds = _run(prefix + argv, env, timeout)
            return Run(code, output, seconds, _read(report))


def _read(report: pathlib.Path) -> dict | None:
    """The report, or None where there is none or it is no JSON: the caller's checks then fail."""
    try:
        return json.loads(report.read_text())
    except (OSError, ValueError):
        return None


def _run(argv: list[str], env: dict[str, str], timeout: float) -> tuple[int | None, str, float]:
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        seconds = time.monotonic() - start
        try:  # what it left running, and itself where it ran out of time
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        return code, output.read(), seconds
