#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `cuvmm fail --each --fork-server` with programs that choose their fork point.

Usage: fork_point_test.py CUVMM CLIENT [unittest arguments]; CLIENT is include/testing/fork_point_client.c.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CUVMM = CLIENT = None
PYTHON_PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
FRESH = {key: value for key, value in os.environ.items() if not key.startswith("CUVMM_")}

# A program with a slow import and random numbers. Like PyTorch, it notices a fork of a process that was about to use
# CUDA, and refuses to go on.
PROGRAM = """
import ctypes, os, random, sys, threading
sys.path.insert(0, {package!r})
import cuvmm
path, mode = sys.argv[1:]
def note(what):
    with open(path, "a") as file:
        file.write(what + "\\n")
note("start")
random.seed(7)
stop = threading.Event()
if mode == "thread":
    threading.Thread(target=stop.wait).start()
forked = mode != "none" and cuvmm.fork_point(threads=True)
if mode == "thread":
    stop.set()
bad_fork = []
libc, cuda = ctypes.CDLL(None), ctypes.CDLL("libcuda.so.1")
in_child = ctypes.CFUNCTYPE(None)(lambda: bad_fork.append(1))
getattr(libc, "__register_atfork")(None, None, in_child, None)
assert cuda.cuInit(0) == 0
if bad_fork:
    sys.exit("CUDA cannot be used in a forked process")
assert not cuvmm.fork_point()
note("run")
print("forked:", forked, random.random())
base = ctypes.c_uint64()
if cuda.cuMemAddressReserve(ctypes.byref(base), ctypes.c_size_t(2 << 20), ctypes.c_size_t(0), ctypes.c_uint64(0),
                            ctypes.c_uint64(0)) != 0:
    sys.exit("no addresses")
cuda.cuMemAddressFree(base, ctypes.c_size_t(2 << 20))
"""


class ForkPointTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-fork-point-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.notes = self.folder / "notes"
        self.program = self.folder / "program.py"
        self.program.write_text(PROGRAM.format(package=str(PYTHON_PACKAGE)))

    def campaign(self, *program, server=True):
        """(process, results, number of starts of the program, number of runs that came behind its fork point)."""
        self.notes.write_text("")
        results = self.folder / "results.json"
        results.unlink(missing_ok=True)
        options = ["--fork-server"] if server else []
        done = subprocess.run([CUVMM, "fail", "--each", "--emulate", "--devices", "1", "--json", results, *options,
                               "--", *program], capture_output=True, text=True, check=False, env=FRESH, timeout=300)
        notes = self.notes.read_text().splitlines()
        known = json.loads(results.read_text()) if results.exists() else None
        return done, known, notes.count("start"), notes.count("run")

    def client(self, mode, **options):
        return self.campaign(CLIENT, self.notes, mode, **options)

    def python(self, mode, **options):
        return self.campaign(sys.executable, self.program, self.notes, mode, **options)

    def assert_served(self, campaign, verdicts):
        done, known, starts, runs = campaign
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("--fork-server:", done.stderr)
        self.assertEqual(starts, 1)
        # Two plain runs, and the runs with a failure.
        self.assertEqual(runs, 2 + sum(len(site["runs"]) for site in known["sites"]))
        self.assertEqual({site["call"]: site["verdict"] for site in known["sites"]}, verdicts)
        self.assertTrue(known["output_compared"])

    def assert_each_anew(self, campaign, why):
        done, known, starts, runs = campaign
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(why, done.stderr)
        trials = 2 + sum(len(site["runs"]) for site in known["sites"])
        self.assertEqual(starts, trials + 1)  # one start was that of the fork server, which failed
        self.assertGreaterEqual(runs, trials)

    def test_a_c_program_starts_once(self):
        verdicts = {name: "handled" for name in ("cuMemAddressReserve", "cuMemCreate", "cuMemMap")}
        _, anew, starts, _ = self.client("point", server=False)
        self.assertGreater(starts, 6)
        self.assertEqual({site["call"]: site["verdict"] for site in anew["sites"]}, verdicts)
        self.assert_served(self.client("point"), verdicts)

    def test_a_python_program_starts_once(self):
        self.assert_served(self.python("point"), {"cuMemAddressReserve": "handled"})

    def test_without_a_fork_point_these_programs_cannot_be_forked(self):
        for campaign in (self.client("none"), self.python("none")):
            self.assertEqual(campaign[0].returncode, 125, campaign[0].stderr)
            self.assertIn("its exit code is 1", campaign[0].stderr)

    def test_threads_forbid_it_unless_the_program_says_otherwise(self):
        self.assert_each_anew(self.client("thread"), "the program has 2 threads when it calls cuvmm_fork_point()")
        self.assert_served(self.client("thread-may-go"), {name: "handled" for name in (
            "cuMemAddressReserve", "cuMemCreate", "cuMemMap")})

    def test_threads_of_python_forbid_it_in_any_case(self):
        self.assert_each_anew(self.python("thread"), "the program has 2 threads when it calls cuvmm_fork_point()")

    def test_alone_it_does_nothing(self):
        for command in ([CLIENT, self.notes, "point"], [sys.executable, self.program, self.notes, "point"]):
            done = subprocess.run([CUVMM, "run", "--emulate", "--", *command], capture_output=True, text=True,
                                  check=False, env=FRESH, timeout=100)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, "forked: (0|False)")


if __name__ == "__main__":
    CUVMM, CLIENT = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
