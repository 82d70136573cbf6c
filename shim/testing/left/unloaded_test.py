# SPDX-License-Identifier: Apache-2.0
"""A graph is instantiated after the code of one of its kernels was unloaded: a driver dies of it.

Usage: unloaded_test.py BUILD.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()

WRONG = ("node", "node-by-params", "kernel-of-library", "changed-node", "child", "clone")
# No node of the graph runs the unloaded code, or the graph was instantiated before.
LEGAL = ("destroyed-node", "other-function", "changed-clone", "other-graph", "made-before")


class Unloaded(unittest.TestCase):
    def findings(self, *arguments, options=()):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVMM_", "LD_"))}
        with tempfile.TemporaryDirectory(prefix="cuvmm-unloaded-") as folder:
            report = pathlib.Path(folder, "report.json")
            result = subprocess.run([str(BUILD / "bin" / "cuvmm"), "run", "--emulate", *options, "--report", str(report), "--",
                                     str(BUILD / "left" / "unloaded"), *arguments], env=clean, text=True,
                                    stdin=subprocess.DEVNULL, capture_output=True, timeout=100)
            found = json.loads(report.read_text())["findings"]
        return result, [one for one in found if one["kind"] != "leak"]

    def test_a_graph_of_unloaded_code(self):
        for name in WRONG:
            with self.subTest(name):
                result, found = self.findings(name)
                self.assertEqual([one["rule"] for one in found], ["graph-code-loaded"], result.stderr)
                self.assertIn("which is of a module or a library that was unloaded", found[0]["message"])
                self.assertIn("Unload", result.stderr)  # the call that unloaded it
                self.assertEqual(result.stdout, "1\n")

    def test_with_memory_that_work_may_use(self):
        result, found = self.findings("node", "mapped")
        self.assertEqual([one["rule"] for one in found], ["graph-code-loaded"], result.stderr)

    def test_enforced(self):
        result, found = self.findings("node", options=["--enforce"])
        self.assertEqual([one["rule"] for one in found], ["graph-code-loaded"])
        self.assertIn("without asking the driver", result.stderr)

    def test_while_the_code_is_loaded(self):
        for name in (*WRONG, *LEGAL):
            with self.subTest(name):
                result, found = self.findings(name, "alive")
                self.assertEqual((result.stdout, found), ("0\n", []), result.stderr)

    def test_no_graph_of_unloaded_code(self):
        for name in LEGAL:
            with self.subTest(name):
                result, found = self.findings(name)
                self.assertEqual((result.stdout, found), ("0\n", []), result.stderr)


unittest.main()
