# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, and other signals that end a server: the report has its leaks, and `cuvmm run` dies as
the program did.

Usage: interrupted_test.py BUILD. The server is CPython, which turns SIGINT into KeyboardInterrupt.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

# cuvmm keeps the last calls of a process that died, in a folder of TMPDIR. Other users may enter it.
KEPT = tempfile.TemporaryDirectory(prefix="cuvmm-kept-")
os.chmod(KEPT.name, 0o711)
os.environ["TMPDIR"] = KEPT.name

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()

SERVER = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
U64, SIZE, INT = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int
class Location(ctypes.Structure):
    _fields_ = [("type", INT), ("id", INT)]
class Prop(ctypes.Structure):
    _fields_ = [("type", INT), ("handles", INT), ("location", Location), ("win32", ctypes.c_void_p),
                ("flags", ctypes.c_ubyte * 8), ("more", U64 * 8)]
def must(result):
    assert result == 0, result
def create():
    prop, handle = Prop(type=1, location=Location(1, 0)), U64()
    must(cuda.cuMemCreate(ctypes.byref(handle), SIZE(2 << 20), ctypes.byref(prop), U64(0)))
    return handle
def lose():
    create()
must(cuda.cuInit(0))
context = ctypes.c_void_p()
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
must(cuda.cuCtxSetCurrent(context))
for i in range(3):
    lose()
must(cuda.cuMemRelease(create()))
print("ready", flush=True)
time.sleep(1000)
"""


class Interrupted(unittest.TestCase):
    def served(self, end, *options):
        """Starts the server, ends it by `end(process)`, and returns the command's exit code, its
        stderr, and the report."""
        with tempfile.TemporaryDirectory(prefix="cuvmm-life-") as folder:
            report = os.path.join(folder, "report.json")
            clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}
            process = subprocess.Popen([BUILD / "bin" / "cuvmm", "run", "--emulate", "--report", report, *options, "--",
                                        sys.executable, "-c", SERVER], env=clean, text=True, start_new_session=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(process.stdout.readline(), "ready\n")
            end(process)
            _, stderr = process.communicate(timeout=100)
            with open(report) as file:
                return process.returncode, stderr, json.load(file)

    def assert_judged(self, stderr, report):
        self.assertEqual(report["summary"], {"error": 0, "undefined": 0, "leak": 3}, stderr)
        self.assertEqual(report["calls"], {"cuMemCreate": 4, "cuMemRelease": 1})
        self.assertIn("3 leaks in 5 calls", stderr)
        finding, = report["findings"]
        self.assertEqual(finding["rule"], "cuMemCreate-released")
        self.assertIn("lose", [frame["function"] for frame in finding["stack"]])

    def test_a_signal_to_the_command_ends_both_alike(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            code, stderr, report = self.served(lambda process: process.send_signal(number))
            self.assertEqual(code, -number, stderr)
            self.assert_judged(stderr, report)

    def test_ctrl_c_reaches_the_group(self):
        code, stderr, report = self.served(lambda process: os.killpg(process.pid, signal.SIGINT))
        self.assertEqual(code, -signal.SIGINT, stderr)
        self.assert_judged(stderr, report)
        self.assertIn("KeyboardInterrupt", stderr)

    def test_leaks_count_for_the_exit_code(self):
        code, stderr, _ = self.served(lambda process: process.send_signal(signal.SIGTERM), "--error-exitcode", "9")
        self.assertEqual(code, 9, stderr)

    def test_suppressed_leaks_stay_so(self):
        with tempfile.NamedTemporaryFile("w", suffix=".supp") as file:
            file.write("rule:cuMemCreate-released function:lose\n")
            file.flush()
            code, stderr, report = self.served(lambda process: process.send_signal(signal.SIGTERM),
                                               "--suppressions", file.name, "--error-exitcode", "9")
        self.assertEqual((code, report["suppressed"], report["findings"]), (-signal.SIGTERM, 3, []), stderr)

    def test_nothing_is_claimed_where_nothing_is_known(self):
        code, stderr, report = self.served(lambda process: process.send_signal(signal.SIGTERM), "--live", "off")
        self.assertEqual(code, -signal.SIGTERM)
        self.assertNotIn("0 leaks", stderr)
        self.assertRegex(stderr.splitlines()[-1], r"leaks: not looked for in process \d+$")
        self.assertEqual(len(report["leaks_not_looked_for"]), 1)

    def test_no_file_of_what_it_held_stays(self):
        with tempfile.TemporaryDirectory(prefix="cuvmm-life-") as live:
            code, stderr, report = self.served(lambda process: process.send_signal(signal.SIGTERM), "--live", live)
            self.assert_judged(stderr, report)
            self.assertEqual(os.listdir(live), [])


if __name__ == "__main__":
    unittest.main()
