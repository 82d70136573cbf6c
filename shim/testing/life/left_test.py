# SPDX-License-Identifier: Apache-2.0
"""Files that processes leave for cuvmm, and troubles with them: old files, pipes, truncated files,
full disks, other users.

Usage: left_test.py BUILD.
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

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
CUVMM = str(BUILD / "bin" / "cuvmm")
LIFE = BUILD / "life"

# Makes objects, waits until the test has done its work, and goes on.
HOLDER = """
import ctypes, os
cuda = ctypes.CDLL("libcuda.so.1")
U64, SIZE = ctypes.c_uint64, ctypes.c_size_t
def must(result):
    assert result == 0, result
must(cuda.cuInit(0))
context = ctypes.c_void_p()
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
must(cuda.cuCtxSetCurrent(context))
def reserve(size):
    base = U64()
    must(cuda.cuMemAddressReserve(ctypes.byref(base), SIZE(size), SIZE(0), U64(0), U64(0)))
    return base
held = [reserve(2 << 20) for i in range(COUNT)]
print("ready", flush=True)
input()
for base in held:
    must(cuda.cuMemAddressFree(base, SIZE(2 << 20)))
print("done", flush=True)
"""


class Left(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-life-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_it(self, *command, options=()):
        return subprocess.run([CUVMM, "run", "--emulate", *options, "--", *command], env=self.clean, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=100)

    def hold(self, count, *options, before=()):
        program = HOLDER.replace("COUNT", str(count))
        process = subprocess.Popen([*before, CUVMM, "run", "--emulate", *options, "--", sys.executable, "-c", program],
                                   env=self.clean, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def needs_mounts(self):
        probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", self.folder], capture_output=True)
        if probe.returncode != 0:
            self.skipTest("a file system of its own needs more rights")

    # Runs the command with a small file system in the test's folder, which no other process sees.
    def small_disk(self, size):
        return ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size={size} none {self.folder} && exec "$@"', "sh"]

    def test_an_older_crash_is_not_this_runs(self):
        ring = self.path("ring")
        crash = self.run_it(LIFE / "deaths", "signalled", str(int(signal.SIGKILL)), options=("--ring", ring))
        self.assertIn("was ended by signal 9 (SIGKILL); for its last calls", crash.stderr)
        later = self.run_it(LIFE / "exits", "exit-in-exit", options=("--ring", ring))
        self.assertNotIn("SIGKILL", later.stderr)
        self.assertEqual(len(os.listdir(ring)), 2, "both are kept")

    def test_a_pipe_among_the_files_of_calls_hangs_nobody(self):
        ring = self.path("ring")
        os.mkdir(ring)
        os.mkfifo(os.path.join(ring, "1-1.1.ring"))
        self.assertEqual(self.run_it("/bin/true", options=("--ring", ring)).returncode, 0)
        result = subprocess.run([CUVMM, "explain-crash", os.path.join(ring, "1-1.1.ring")], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 125)
        self.assertIn("it is no regular file", result.stderr)

    def test_a_file_that_somebody_cuts_ends_no_program(self):
        live, ring = self.path("live"), self.path("ring")
        process = self.hold(100, "--live", live, "--ring", ring)
        for folder in (live, ring):
            for name in os.listdir(folder):
                os.truncate(os.path.join(folder, name), 0)
        output, errors = process.communicate("\n", timeout=100)
        self.assertEqual((process.returncode, output), (0, "done\n"), errors)

    def test_what_found_no_room_is_not_nothing(self):
        self.needs_mounts()
        process = self.hold(20000, "--live", self.path("live"), before=self.small_disk("1m"))
        # Only the process's namespace has the file system.
        into = ["nsenter", "-m", "-t", str(process.pid), CUVMM, "leaks", "--folder", self.path("live")]
        pid = subprocess.run(["nsenter", "-m", "-t", str(process.pid), "ls", self.path("live")], capture_output=True,
                             text=True).stdout.split("-")[0]
        result = subprocess.run([*into, pid], capture_output=True, text=True, timeout=100)
        process.communicate("\n", timeout=100)
        self.assertEqual(result.returncode, 123, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"had no place for \d+ more")
        self.assertNotIn("Nothing is given up", result.stdout)

    def test_a_trace_that_finds_no_room_says_so_and_ends_with_a_whole_line(self):
        self.needs_mounts()
        trace = self.path("trace.txt")
        script = f"{CUVMM} run --emulate --trace {trace} -- {LIFE}/exits trace-much; cat {trace}"
        shown = subprocess.run([*self.small_disk("16k"), "sh", "-c", script], env=self.clean, text=True,
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=100)
        self.assertIn("ends here: a call could not be written: No space left on device", shown.stderr)
        lines = shown.stdout.splitlines(keepends=True)
        self.assertGreater(len(lines), 10, shown.stderr)
        self.assertRegex(lines[-1], r"# CUDA_SUCCESS\n$")

    def test_a_report_that_cannot_be_written_is_no_death(self):
        # A child of a shell, whose end cuvmm does not see. It leaks, and no file may grow any more.
        program = HOLDER.split("held =")[0] + """
import resource
handle, prop = U64(), (ctypes.c_int * 8)(1, 0, 1)
must(cuda.cuMemCreate(ctypes.byref(handle), SIZE(2 << 20), prop, U64(0)))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
"""
        result = self.run_it("sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, program,
                             options=("--error-exitcode", "9"))
        self.assertIn("cannot write the report", result.stderr)
        self.assertIn("ended by itself", result.stderr)
        self.assertNotIn("killed, or", result.stderr)
        self.assertRegex(result.stderr, r"errors: not known, 1 leak in \d+ call")
        self.assertEqual(result.returncode, 9, result.stderr)

    def test_findings_in_a_report_that_is_lost_are_not_nothing(self):
        program = HOLDER.split("held =")[0] + """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
base = reserve(2 << 20)
assert cuda.cuMemMap(base, SIZE(2 << 20), SIZE(1), U64(0), U64(0)) != 0
must(cuda.cuMemAddressFree(base, SIZE(2 << 20)))
"""
        result = self.run_it(sys.executable, "-c", program, options=("--error-exitcode", "9"))
        self.assertIn("cuvmm: error: cuMemMap", result.stderr)
        self.assertIn("could not write its last report, so its report was lost", result.stderr)
        self.assertIn("cuvmm: errors: not known, ", result.stderr)
        self.assertIn("a process's report is lost, so there may be more findings", result.stderr)
        self.assertEqual(result.returncode, 125, result.stderr)

    def test_a_child_of_another_user_reports(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        # Other users may not be allowed to enter the build folder.
        program = self.path("exits")
        os.chmod(self.folder, 0o755)
        shutil.copy(LIFE / "exits", program)
        os.chmod(program, 0o755)
        report = self.path("report.json")
        child = ("import subprocess, sys\n"
                 f"sys.exit(subprocess.run([{program!r}, 'exit-in-exit'], user=65534, group=65534).returncode)")
        result = self.run_it(sys.executable, "-c", child, options=("--report", report, "--error-exitcode", "9"))
        if "Permission denied" in result.stderr:
            self.skipTest("another user may not read the shim here")
        self.assertEqual(result.returncode, 9, result.stderr)
        with open(report) as file:
            found = json.load(file)
        self.assertEqual(found["summary"], {"error": 1, "undefined": 0, "leak": 1})
        self.assertEqual(sum(found["calls"].values()), 2)
        self.assertNotIn("nothing was checked", result.stderr)


if __name__ == "__main__":
    unittest.main()
