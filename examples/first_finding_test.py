# SPDX-License-Identifier: Apache-2.0
"""Tests the tutorial's first program: its message without a driver, and cuvmm's findings.

Usage: first_finding_test.py CUVMM.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).with_name("first_finding.py")


class FirstFinding(unittest.TestCase):
    def without_driver(self, *arguments, folder):
        pathlib.Path(folder, "libcuda.so.1").touch()  # before that of this machine, if it has one
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder,
                              env={**os.environ, "LD_LIBRARY_PATH": folder})

    def test_alone_it_says_what_to_type(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = self.without_driver(str(PROGRAM), folder=folder)
            self.assertEqual((alone.returncode, alone.stdout), (1, ""), alone.stderr)
            self.assertTrue(alone.stderr.endswith(f"Type: cuvmm run --emulate -- python3 {PROGRAM}\n"), alone.stderr)
            self.assertNotIn("Traceback", alone.stderr)
            package = pathlib.Path(folder, "cuvmm")
            package.mkdir()
            package.joinpath("first_finding.py").write_text(PROGRAM.read_text())
            module = self.without_driver("-m", "cuvmm.first_finding", folder=folder)
            self.assertTrue(module.stderr.endswith("-- python3 -m cuvmm.first_finding\n"), module.stderr)

    def test_under_cuvmm_its_mistake_is_found(self):
        found = subprocess.run([CUVMM, "run", "--emulate", "--error-exitcode", "9", "--", sys.executable, str(PROGRAM)],
                               capture_output=True, text=True)
        self.assertEqual((found.returncode, found.stdout), (9, "done\n"), found.stderr)
        self.assertIn("[cuMemRelease-pairing]", found.stderr)

    def test_the_leak_of_the_demo_is_found_at_its_line(self):
        found = subprocess.run([CUVMM, "run", "--emulate", "--error-exitcode", "9", "--", sys.executable,
                                str(PROGRAM.with_name("python_leak.py"))], capture_output=True, text=True)
        self.assertEqual((found.returncode, found.stdout), (9, "done\n"), found.stderr)
        self.assertIn("[cuMemCreate-released]", found.stderr)
        self.assertIn("0 errors, 0 undefined, 4 leaks", found.stderr)


if __name__ == "__main__":
    CUVMM = sys.argv.pop(1)
    unittest.main()
