# SPDX-License-Identifier: Apache-2.0
"""Facts that the shim cannot see, or cannot report because its process is gone: `cuvmm run` reports
them.

Usage: unseen_test.py BUILD.
"""
import json
import os
import pathlib
import shutil
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
CUVMM = str(BUILD / "bin" / "cuvmm")
SHIM = str(BUILD / "lib" / "libcuvmm-shim.so")
EMULATOR = str(BUILD / "lib" / "emulator")
DEATHS = str(BUILD / "life" / "deaths")
LEAK, UNCHECKED = "cuMemCreate-released", 122
BEGIN = """
import ctypes, os, signal, subprocess, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
address = ctypes.c_uint64()
assert cuda.cuInit(0) == 0
"""
# Lives so long that `cuvmm run` looks at the process again, also where a loaded machine lets the process start slowly:
# the interval between two looks is a part of the time for which the process has lived.
STAYS = """
with open("/proc/self/stat") as file:
    start = int(file.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
time.sleep(2 + time.clock_gettime(time.CLOCK_BOOTTIME) - start)
"""
WORKS = BEGIN + """
assert cuda.cuMemAddressReserve(ctypes.byref(address), 2 << 20, 0, 0, 0) == 0
assert cuda.cuMemAddressFree(address, 2 << 20) == 0
"""


class Unseen(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-life-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}

    def path(self, name, text=""):
        path = os.path.join(self.folder, name)
        if text:
            with open(path, "w") as file:
                file.write(text)
        return path

    def run_it(self, *command, options=(), before=(), **environment):
        report = self.path("report.json")
        result = subprocess.run(
            [*before, CUVMM, "run", "--emulate", "--error-exitcode", "9", "--report", report, *options, "--", *command],
            env=self.clean | environment, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=100)
        with open(report) as file:
            return json.load(file), result

    def python(self, program, **more):
        return self.run_it(sys.executable, "-c", program, **more)

    # --- Drivers that the shim does not intercept

    def child_without_shim(self, program, code):
        library_path = {"LD_LIBRARY_PATH": EMULATOR}
        parent = WORKS + f"subprocess.run([sys.executable, '-c', {program!r}], env={library_path!r}, check=True)\n"
        report, result = self.python(parent)
        self.assertEqual(result.returncode, code, result.stderr)
        return "\n".join(report["notes"]), result.stderr

    def test_a_child_without_the_shim_is_reported(self):
        notes, errors = self.child_without_shim(WORKS + STAYS, UNCHECKED)
        for text in (notes, errors):
            self.assertRegex(text, r"calls were not checked of processes .*LD_PRELOAD.*: \d+ \(python")

    def test_one_that_uses_no_driver_is_nobodys_business(self):
        notes, _ = self.child_without_shim("import time; time.sleep(1)", 0)
        self.assertNotIn("not checked", notes)

    def test_a_driver_beside_the_shim_and_no_last_report(self):
        copy = shutil.copy(os.path.join(EMULATOR, "libcuda.so.1"), self.path("libcuda.so.1"))
        beside = WORKS + f"ctypes.CDLL({copy!r}).cuDriverGetVersion(None)\n{STAYS}\n"
        for end, code in (("os.execv('/bin/true', ['true'])", UNCHECKED),
                          ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL)):
            report, result = self.python(beside + end)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertEqual(report["escaped"], [copy])
            self.assertIn("went to a driver beside the shim: " + copy, result.stderr)

    # --- Processes that reported nothing at their end

    def test_calls_are_counted_where_nobody_looks_for_leaks(self):
        report, result = self.run_it(DEATHS, "signalled", str(int(signal.SIGKILL)), options=("--leak-check", "no"))
        self.assertEqual(result.returncode, 128 + signal.SIGKILL)
        self.assertEqual(sum(report["calls"].values()), 8)
        self.assertNotIn("nothing was checked", result.stderr)
        self.assertEqual(report["findings"], [])

    def test_a_suppression_that_a_judged_leak_used_is_not_unused(self):
        rules = self.path("rules", f"rule:{LEAK}\nrule:cuMemMap-offset-zero\n")
        kill = (DEATHS, "signalled", str(int(signal.SIGKILL)))
        for options, environment in ((("--suppressions", rules), {}), ((), {"CUVMM_SUPPRESSIONS": rules})):
            report, result = self.run_it(*kill, options=options, **environment)
            self.assertEqual((report["findings"], report["suppressed"]), ([], 1), result.stderr)
            self.assertEqual(report["unused_suppressions"], [f"{rules}:2: rule:cuMemMap-offset-zero"])

    def test_a_process_of_another_pid_namespace_is_judged(self):
        inside = ["unshare", "--pid", "--fork"]
        if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
            self.skipTest("a pid namespace of its own needs more rights")
        report, result = self.run_it(*inside, DEATHS, "handler-exits", "_exit")
        self.assertEqual(result.returncode, 9, result.stderr)
        report, result = self.run_it(*inside, "sh", "-c", f"{DEATHS} signalled 9; exit 0")
        self.assertEqual([finding["rule"] for finding in report["findings"]], [LEAK], result.stderr)
        self.assertEqual(result.returncode, 9, result.stderr)
        report, result = self.run_it(*inside, "sh", "-c", f"{DEATHS} signalled-at-work 9; exit 0")
        self.assertEqual(result.returncode, 123, result.stderr)
        self.assertIn("it ran in a pid namespace of its own", "\n".join(report["notes"]))

    # --- Other cases

    def test_a_call_that_is_made_to_fail_is_a_call(self):
        fails = BEGIN + "sys.exit(cuda.cuMemAddressReserve(ctypes.byref(address), 2 << 20, 0, 0, 0) != 2)"
        report, result = self.python(fails, options=("--fail", "cuMemAddressReserve=OUT_OF_MEMORY"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(report["calls"], {"cuMemAddressReserve": 1})

    def test_a_stream_that_a_thread_reads_from_holds_nobody_up(self):
        reads = WORKS + """
import threading
libc = ctypes.CDLL(None)
libc.printf(b"said\\n")
threading.Thread(target=libc.getchar, daemon=True).start()
time.sleep(0.5)
cuda.cuMemUnmap(None, None)
"""
        with subprocess.Popen([sys.executable, "-c", reads], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              env=self.clean | {"LD_PRELOAD": SHIM, "CUVMM_DRIVER": EMULATOR + "/libcuda.so.1",
                                                "CUVMM_ERROR_EXITCODE": "9"}) as process:
            output = process.stdout.read()
            self.assertEqual((process.wait(timeout=60), output), (9, "said\n"))

    def test_suppressions_of_the_environment_are_read_before_the_program_runs(self):
        for file, expected in ((self.path("bad", "rul:x\n"), ":1:"), (self.folder, "Is a directory"),
                           (self.path("none"), "No such file")):
            result = subprocess.run([CUVMM, "run", "--emulate", "--", "touch", self.path("ran")], text=True,
                                    env=self.clean | {"CUVMM_SUPPRESSIONS": file}, capture_output=True, timeout=100)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(expected, result.stderr)
            self.assertFalse(os.path.exists(self.path("ran")))


if __name__ == "__main__":
    unittest.main()
