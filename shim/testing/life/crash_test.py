# SPDX-License-Identifier: Apache-2.0
"""The file of last calls that a process leaves when it ends badly, and the output of explain-crash
for it.

    crash_test.py BUILD FAKE_DRIVER [unittest arguments]
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD, DRIVER = pathlib.Path(), ""


class Crash(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cuvmm-crash-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.rings = self.folder / "rings"
        self.rings.mkdir()

    def environment(self, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}
        return clean | {"TMPDIR": str(self.folder)} | more

    def preloaded(self, **more):
        return self.environment(**{"LD_PRELOAD": str(BUILD / "lib" / "libcuvmm-shim.so"), "CUVMM_DRIVER": DRIVER,
                                   "CUVMM_RING": str(self.rings)} | more)

    def program(self, scenario, **more):
        return subprocess.run([BUILD / "life" / "crash", scenario], env=self.preloaded(**more), capture_output=True,
                              text=True, timeout=100)

    def cuvmm(self, *arguments):
        return subprocess.run([BUILD / "bin" / "cuvmm", *arguments], env=self.environment(), cwd=self.folder,
                              capture_output=True, text=True, timeout=100)

    def under_cuvmm(self, scenario, *options):
        return self.cuvmm("run", "--driver", DRIVER, *options, "--", str(BUILD / "life" / "crash"), scenario)

    def files(self):
        return sorted(self.rings.iterdir())

    def explained(self, file, *options):
        result = self.cuvmm("explain-crash", str(file), *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def read(self, file, *options):
        return json.loads(self.explained(file, "--json", *options))

    def test_a_process_that_exits_leaves_nothing(self):
        self.assertEqual(self.program("exits").returncode, 0)
        self.assertEqual(self.files(), [])
        self.assertEqual(self.program("exits", CUVMM_RING_KEEP="1").returncode, 0)
        [file] = self.files()
        self.assertEqual(self.read(file)["ended"], "exited")

    def test_killed_while_a_thread_is_in_the_driver(self):
        with subprocess.Popen([BUILD / "life" / "crash", "blocks"], env=self.preloaded(), stdout=subprocess.PIPE) as run:
            self.assertEqual(run.stdout.readline(), b"blocked\n")
            [file] = self.files()
            # The thread was started before the other thread's thousands of calls, but may not have
            # made its own call yet.
            while not self.read(file)["in_driver"]:
                pass
            run.send_signal(signal.SIGKILL)
        found = self.read(file, "--calls", "4096")
        [call] = found["in_driver"]
        self.assertEqual(call["call"], "cuStreamSynchronize(hStream=0xb10c)")
        self.assertEqual(found["pid"], run.pid)
        self.assertGreater(found["total_calls"], 5000)
        self.assertGreater(len(found["calls"]), 4000)
        [ended] = found["ended_objects"]
        self.assertEqual(ended["what"], "mapping")
        self.assertTrue(any("take_away" in frame for frame in ended["stack"]), ended)
        text = self.explained(file)
        self.assertIn("In the driver, by thread:\n  thread ", text)
        self.assertIn("was killed, became another program, or still runs", text)

    def test_run_names_the_file_of_a_process_that_is_killed(self):
        result = self.under_cuvmm("killed")
        self.assertEqual(result.returncode, 128 + signal.SIGKILL)
        [line] = [line for line in result.stderr.splitlines() if "explain-crash" in line]
        self.assertIn("was ended by signal 9 (SIGKILL) in cuStreamSynchronize; for its last calls, type:", line)
        file = line.rsplit(" ", 1)[1]
        self.assertIn("cuStreamSynchronize(hStream=0xdead)", self.explained(file))

    def test_run_keeps_nothing_of_a_process_that_exits(self):
        result = self.under_cuvmm("exits")
        self.assertEqual(result.returncode, 0)
        self.assertNotIn("explain-crash", result.stderr)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["rings"])
        result = self.under_cuvmm("exits", "--ring", str(self.rings))
        self.assertNotIn("explain-crash", result.stderr)
        self.assertEqual(len(self.files()), 1)

    def test_a_fault_is_explained_once(self):
        report = self.folder / "report.json"
        result = self.under_cuvmm("faults", "--report", str(report), "--error-exitcode", "9")
        self.assertNotEqual(result.returncode, 1, result.stderr)
        sentence = "a kernel or a copy used an address that it may not (CUDA_ERROR_ILLEGAL_ADDRESS), seen at " \
               "cuStreamSynchronize(hStream=0xfa17)"
        self.assertEqual(result.stderr.count(sentence), 1, result.stderr)
        self.assertIn("mapping 0x700000000000 (2 MiB), ended by cuMemUnmap(ptr=0x700000000000, size=2M), 1 call, ",
                      result.stderr)
        self.assertIn("take_away", result.stderr)
        self.assertIn("queued last, the newest first:\n      cuLaunchKernel(", result.stderr)
        merged = json.loads(report.read_text())
        [fault] = merged["faults"]
        self.assertEqual(fault["result"], "CUDA_ERROR_ILLEGAL_ADDRESS")
        self.assertEqual(fault["call"], "cuStreamSynchronize(hStream=0xfa17)")
        self.assertEqual(fault["ended"][0]["what"], "mapping")
        self.assertEqual(fault["ended"][0]["calls_before"], 1)
        self.assertTrue(any("take_away" in frame["function"] for frame in fault["ended"][0]["stack"]), fault)
        self.assertEqual(fault["queued"][0]["calls_before"], 2)
        # The fault is no finding, because it breaks no rule, and so does not fail a test.
        self.assertNotIn("ILLEGAL", json.dumps(merged["findings"]))
        file = fault["file"]
        found = self.read(file, "--address", "0x7000_00000010")
        self.assertEqual(found["fault"]["result"], "CUDA_ERROR_ILLEGAL_ADDRESS")
        self.assertEqual({live["what"] for live in found["live"]}, {"mapping", "reservation"})
        self.assertTrue(any("lies in what was mapping 0x700000000000" in line for line in found["near"]), found)
        xid = "NVRM: Xid (PCI:0000:05:00): 31, pid=7, name=x. MMU Fault: faulted @ 0x7000_00200010. Fault is of type"
        self.assertIn("0x700000200010 lies in mapping 0x700000200000", self.explained(file, "--xid", xid))

    def test_the_address_may_be_told_in_advance(self):
        result = self.program("faults", CUVMM_FAULT_ADDRESS="0x700000000010")
        self.assertIn("0x700000000010 lies in what was mapping 0x700000000000 (2 MiB): ended by", result.stderr)
        self.assertNotIn("does not say which address", result.stderr)

    def test_without_a_folder_nothing_is_kept_and_no_call_pays(self):
        for ring in ("", "off"):
            with self.subTest(ring):
                self.assertNotIn("fault", self.program("faults", CUVMM_RING=ring).stderr)
        self.assertEqual(self.program("faults").stderr.count("cuvmm: fault: "), 1)

    def test_a_folder_that_is_not_there_is_one_line_at_the_end(self):
        result = self.program("exits", CUVMM_RING=str(self.folder / "none"))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.count("the last calls are in no file"), 1, result.stderr)

    def test_a_child_of_fork_has_a_file_of_its_own(self):
        result = self.program("child-killed")
        self.assertEqual(result.returncode, 0, result.stderr)
        [file] = self.files()
        found = self.read(file)
        self.assertEqual(found["pid"], int(result.stdout))
        self.assertEqual(found["total_calls"], 2)
        self.assertEqual(found["in_driver"][0]["call"], "cuStreamSynchronize(hStream=0xdead)")

    def test_exec_starts_another_file_and_the_first_one_goes(self):
        self.assertEqual(self.program("execs").returncode, 0)
        self.assertEqual(self.files(), [])

    def test_files_that_are_none_are_refused_in_words(self):
        self.program("killed")
        [file] = self.files()
        whole = file.read_bytes()
        bad = self.folder / "bad.ring"
        for data, why in [(b"", "it is empty"), (b"{}", "does not begin with"), (whole[:100], "cut off"),
                          (whole[:-1], "cut off"), (whole[:8] + b"\7" + whole[9:], "version"),
                          (whole[:16] + b"\2" + whole[17:], "it holds what a process holds, not a process's last calls"),
                          (b"cuvmmRNG" + whole[8:], "an earlier cuvmm wrote it")]:
            bad.write_bytes(data)
            result = self.cuvmm("explain-crash", str(bad))
            self.assertEqual(result.returncode, 125, result)
            self.assertIn(why, result.stderr)
            self.assertEqual(result.stdout, "")
        result = self.cuvmm("explain-crash", str(self.folder / "none.ring"))
        self.assertIn("No such file", result.stderr)
        for options in (["--address", "zz"], ["--xid", "nothing"], ["--calls", "-1"]):
            self.assertEqual(self.cuvmm("explain-crash", str(file), *options).returncode, 2)
        random.seed(7)
        for _ in range(8):
            data = bytearray(whole)
            for _ in range(500):
                data[random.randrange(24, 400_000)] = random.randrange(256)
            bad.write_bytes(data)
            for option in ([], ["--json"]):
                self.assertIn(self.cuvmm("explain-crash", str(bad), *option).returncode, (0, 125))


if __name__ == "__main__":
    BUILD, DRIVER = pathlib.Path(sys.argv.pop(1)).resolve(), str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
