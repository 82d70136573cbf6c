# SPDX-License-Identifier: Apache-2.0
"""A child that was forked after its parent's cuInit learns why the driver refuses its calls, however
it ends; a child that needs no CUDA, or does without it, hears nothing.

Usage: forked_test.py BUILD.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()

CALLS = {"init": "cuInit", "count": "cuDeviceGetCount", "device": "cuDeviceGet", "current": "cuCtxGetCurrent",
         "retain": "cuDevicePrimaryCtxRetain", "pointer": "cuPointerGetAttribute", "wait": "cuCtxSynchronize",
         "runtime": "cudaGetDeviceCount: cuDeviceGetCount"}
CAUSE = r"process (\d+) was forked from process (\d+) after that one's cuInit"
REPAIR = r'Start the child as a new program .*set_start_method\("spawn"\)'


class Forked(unittest.TestCase):
    def run_case(self, *words, options=()):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}
        with tempfile.TemporaryDirectory(prefix="cuvmm-forked-") as folder:
            report = pathlib.Path(folder, "report.json")
            result = subprocess.run([str(BUILD / "bin" / "cuvmm"), "run", "--emulate", "--report", str(report), *options, "--",
                                     str(BUILD / "forked" / "forked"), *words], env=clean, text=True,
                                    stdin=subprocess.DEVNULL, capture_output=True, timeout=100)
            return result, json.loads(report.read_text())

    def assert_explained(self, call, result, report):
        self.assertEqual(len(re.findall(CAUSE, result.stderr)), 1, result.stderr)
        self.assertRegex(result.stderr, rf"cuvmm: refused: {call}.* answered CUDA_ERROR_NOT_INITIALIZED, at ")
        self.assertRegex(result.stderr, REPAIR)
        child, parent = map(int, re.search(CAUSE, result.stderr).groups())
        (refusal,) = report["refusals"]
        self.assertEqual((refusal["pid"], refusal["forked_from"]), (child, parent))
        self.assertRegex(result.stderr, " of 2 processes")
        self.assertNotIn("leaks", result.stderr.replace("0 leaks", ""))

    def test_one_call_however_the_child_ends(self):
        for name, call in CALLS.items():
            for ending in ("exit", "_exit", "quick_exit") if name in ("count", "runtime") else ("exit",):
                with self.subTest(call=name, ending=ending):
                    result, report = self.run_case(name, ending, "1")
                    self.assertEqual((result.returncode, result.stdout), (1, "3\n"), result.stderr)
                    self.assert_explained(call, result, report)
                    self.assertTrue(report["refusals"][0]["printed"])

    def test_a_child_that_hides_the_error_from_the_shell_but_not_from_its_parent(self):
        for ending in ("handled", "handled-at-once", "killed", "terminated"):
            with self.subTest(ending):
                result, report = self.run_case("count", ending, "1")
                self.assertEqual(result.returncode, 1)
                self.assert_explained("cuDeviceGetCount", result, report)
                self.assertNotIn("printed", report["refusals"][0])

    def test_a_child_that_does_without_cuda(self):
        for ending in ("handled", "handled-at-once", "killed", "terminated"):
            with self.subTest(ending):
                result, report = self.run_case("count", ending, "0")
                self.assertEqual(result.returncode, 0)
                self.assertRegex(result.stderr, r"\Acuvmm: 0 errors, 0 undefined, 0 leaks in 3 calls of 2 processes .*\ncuvmm: report in .*\n\Z")
                self.assertEqual(len(report["refusals"]), 1)

    def test_a_child_whose_work_was_refused_although_all_ended_well(self):
        for ending in ("handled", "handled-at-once", "killed"):
            with self.subTest(ending):
                result, report = self.run_case("runtime-alloc", ending, "0")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(len(re.findall(CAUSE, result.stderr)), 1, result.stderr)
                self.assertRegex(result.stderr, "cuvmm: refused: cudaMalloc: .* answered CUDA_ERROR_NOT_INITIALIZED, at ")
                self.assertIn("ended well all the same: nothing of this work was done", result.stderr)
                self.assertEqual(report["findings"], [])

    def test_a_child_that_frees_or_asks_is_no_news(self):
        for call in ("runtime", "runtime-free"):
            with self.subTest(call):
                result, _ = self.run_case(call, "handled", "0")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("refused", result.stderr)

    def test_a_checked_call_is_a_finding_and_told_once(self):
        result, report = self.run_case("alloc", "exit", "1")
        self.assertEqual([one["rule"] for one in report["findings"]], ["driver-initialized"])
        self.assertEqual(len(re.findall(CAUSE, result.stderr)), 1, result.stderr)
        self.assertRegex(result.stderr, "fix: " + REPAIR)

    def test_children_that_may_use_cuda_or_do_not(self):
        for words in (("nothing", "exit", "1"), ("nothing", "_exit", "0"), ("count", "spawn", "0"), ("count", "early", "1")):
            with self.subTest(words):
                result, report = self.run_case(*words)
                self.assertNotIn("legal call", result.stderr)
                self.assertNotIn("refused", result.stderr)
                self.assertEqual((report["findings"], report["refusals"]), ([], []))

    def test_a_process_without_cu_init(self):
        result, _ = self.run_case("count", "alone", "1")
        self.assertRegex(result.stderr, r"refused: cuDeviceGetCount answered CUDA_ERROR_NOT_INITIALIZED, at .*\n"
                                        r" +no cuInit came before it in this process. Fix: call cuInit\(0\)")
        for words in (("count", "alone", "0"), ("current", "alone", "1"), ("init", "alone", "1")):
            with self.subTest(words):
                self.assertNotIn("refused", self.run_case(*words)[0].stderr)


if __name__ == "__main__":
    unittest.main()
