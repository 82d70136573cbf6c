# SPDX-License-Identifier: Apache-2.0
"""Tests the report of a program that runs out of time.

Usage: under_shim_test.py BUILD_FOLDER.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import under_shim

# Makes a finding (cuMemAddressFree of an address that was never reserved), makes a file, and hangs.
HANGS = """
import ctypes, os, signal, sys, time
{first}
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
cuda.cuMemAddressFree(ctypes.c_uint64(1 << 40), ctypes.c_size_t(2 << 20))
print("hangs now", flush=True)
open(os.environ["HANGS_NOW"], "w").close()
time.sleep(600)
"""
# Starts another one like it, and waits for it.
PARENT = """
import subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""
IGNORES = "signal.signal(signal.SIGABRT, signal.SIG_IGN)"
LIMIT_S = 100.0  # for what takes a moment, on a machine of any load


class TimeoutTest(unittest.TestCase):
    def run_it(self, *arguments: str, by_command: bool = True, last_words_s: float = LIMIT_S) -> under_shim.Run:
        build = under_shim.Build(pathlib.Path(BUILD))
        if not by_command:
            build.command = pathlib.Path("/nonexistent")
        under_shim.LAST_WORDS_S = last_words_s
        wait = subprocess.Popen.wait
        with tempfile.TemporaryDirectory() as folder:
            hangs_now = pathlib.Path(folder, "hangs-now")

            # Its time is up once it hangs, however long it took until then.
            def time_is_up(process, timeout=None):
                if timeout is None:
                    return wait(process)
                self.wait_until(hangs_now.exists)
                self.hung_at = time.monotonic()
                raise subprocess.TimeoutExpired(process.args, timeout)

            with unittest.mock.patch.object(subprocess.Popen, "wait", time_is_up):
                return build.run([sys.executable, "-c", *arguments], emulate=True,
                                 environment={"HANGS_NOW": str(hangs_now)})

    @staticmethod
    def wait_until(true) -> None:
        end = time.monotonic() + LIMIT_S
        while not true() and time.monotonic() < end:
            time.sleep(0.05)

    def check_finding(self, run: under_shim.Run) -> None:
        self.assertIsNone(run.code, run.output)
        self.assertIn("hangs now", run.output)
        self.assertIsNotNone(run.report, run.output)
        self.assertEqual([finding["rule"] for finding in run.findings], ["cuMemAddressFree-exact"], run.output)

    def test_its_findings_remain(self):
        for by_command in (True, False):
            with self.subTest(by_command=by_command):
                self.check_finding(self.run_it(HANGS.format(first=""), by_command=by_command))

    def test_those_of_its_children_remain(self):
        self.check_finding(self.run_it(PARENT, HANGS.format(first="")))

    def test_one_that_ignores_the_signal_is_killed(self):
        run = self.run_it(HANGS.format(first=IGNORES), last_words_s=1.0)
        self.assertIsNone(run.code, run.output)
        self.assertLess(time.monotonic() - self.hung_at, 60)
        self.assertIn("hangs now", run.output)

    def test_nothing_of_it_is_left(self):
        mark = f"mark-{os.getpid()}"
        self.run_it(HANGS.format(first=IGNORES), mark, last_words_s=1.0)
        self.wait_until(lambda: not self.left_with(mark))  # a killed one takes a moment to go
        self.assertEqual(self.left_with(mark), [])

    def left_with(self, mark: str) -> list[str]:
        return [path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if mark in self.text(path)]

    @staticmethod
    def text(path: pathlib.Path) -> str:
        try:
            return path.read_text(errors="replace")
        except OSError:
            return ""


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
