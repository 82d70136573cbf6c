#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cuvmm run --guard`, `--quarantine` and `--poison` from the outside, on the emulator.

Usage: guard_run_test.py CUVMM [unittest arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

CUVMM = None
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "overrun.py")
FRESH = {key: value for key, value in os.environ.items() if not key.startswith("CUVMM_")}
ALL = ("--guard", "--quarantine", "4", "--poison")


def run(mistake, *options, **variables):
    return subprocess.run([CUVMM, "run", "--emulate", "--devices", "1", *options, "--", sys.executable, PROGRAM,
                           mistake], capture_output=True, text=True, check=False, env={**FRESH, **variables})


class GuardTest(unittest.TestCase):
    def assert_quiet(self, done):
        self.assertIn("0 errors, 0 undefined, 0 leaks", done.stderr)

    # --- Overruns: the distance between the two ranges, the answer, the neighbour's first word

    def test_a_copy_over_the_end(self):
        plain = run("copy")
        self.assertEqual(plain.stdout, f"copy 0 0 {0x01010101}\n")
        self.assert_quiet(plain)
        guarded = run("copy", "--guard")
        self.assertEqual(guarded.stdout, "copy 2 1 7\n")
        self.assertIn("past the end of reservation 0x", guarded.stderr)
        self.assertIn("data-mapped", guarded.stderr)

    def test_a_fill_over_the_end(self):
        self.assertEqual(run("fill").stdout, f"fill 0 0 {0x01010101}\n")
        guarded = run("fill", "--guard")
        self.assertEqual(guarded.stdout, "fill 2 1 7\n")
        self.assertIn("data-mapped", guarded.stderr)

    def test_a_kernel_over_the_end(self):
        plain = run("kernel")
        self.assertEqual(plain.stdout, f"kernel 0 0 {(2 << 20) // 4}\n")
        self.assertNotIn("fault", plain.stderr)
        guarded = run("kernel", "--guard")
        self.assertEqual(guarded.stdout, "kernel 2 700 ?\n")
        self.assertRegex(guarded.stderr, r"0x[0-9a-f]+ lies 0 B past the end of reservation 0x[0-9a-f]+ \(2 MiB\), "
                                         r"which call \d+ made: in the guard that --guard put there")

    def test_the_environment_is_enough(self):
        self.assertEqual(run("copy", CUVMM_GUARD="1").stdout, "copy 2 1 7\n")

    # --- Freed ranges: whether the driver returned the address again, the kernel's answer, a second
    # free, a map

    def test_a_freed_range(self):
        plain = run("freed")
        self.assertEqual(plain.stdout, "freed 1 0 - -\n")
        self.assertNotIn("fault", plain.stderr)
        quarantined = run("freed", "--quarantine", "4")
        self.assertEqual(quarantined.stdout, "freed 0 700 1 1\n")
        self.assertIn("--quarantine keeps it from being reserved again", quarantined.stderr)
        self.assertIn("0 leaks", quarantined.stderr)

    # --- The program's own view

    def test_sizes_are_the_programs(self):
        plain = run("pointers")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        guarded = run("pointers", *ALL)
        self.assertEqual(guarded.stdout, plain.stdout)
        self.assert_quiet(guarded)

    def test_traces_are_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            texts = []
            for options in ((), ALL):
                path = os.path.join(folder, f"trace{len(texts)}")
                run("poison", *options, "--trace", path)
                with open(path, encoding="utf-8") as file:
                    texts.append(file.read())
            self.assertEqual(*texts)

    # --- Poison

    def test_what_new_memory_holds(self):
        self.assertEqual(run("poison").stdout, "poison ['0x0', '0x0', '0x5', '0x0', '0x0']\n")
        poisoned = run("poison", "--poison")
        self.assertEqual(poisoned.stdout, "poison ['0xfff5fff5', '0xfff5fff5', '0x5', '0xfff5fff5', '0x0']\n")
        self.assert_quiet(poisoned)

    # --- Guards together with other options

    def test_enforce_answers_before_the_guard(self):
        self.assertEqual(run("copy", "--guard", "--enforce").stdout, "copy 2 1 7\n")

    def test_a_call_that_fails_reaches_no_guard(self):
        done = run("pointers", *ALL, "--fail", "cuMemAddressReserve@1")
        self.assertIn("cuMemAddressReserve answered 2", done.stderr)
        self.assertIn("0 leaks in 1 call of 1 process", done.stderr)

    def test_large_granules(self):
        done = run("pointers", *ALL, "--hostile", "1:large-granules")
        self.assertNotIn("have no guard", done.stderr)

    def test_the_report_says_what_has_no_guard(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = run("large", "--guard", "--report", path)
            self.assertEqual(done.stdout, "large free 0\n", done.stderr)
            with open(path, encoding="utf-8") as file:
                notes = json.load(file)["notes"]
            self.assertEqual(len(notes), 1)
            self.assertIn("--guard: 1 of 2 reservations have no guard", notes[0])

    def test_bad_numbers_are_refused(self):
        self.assertEqual(run("copy", "--quarantine", "0").returncode, 2)
        self.assertIn("CUVMM_QUARANTINE=many is not understood", run("copy", CUVMM_QUARANTINE="many").stderr)


if __name__ == "__main__":
    CUVMM = sys.argv.pop(1)
    unittest.main()
