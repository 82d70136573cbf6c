#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with a CUDA runtime inside, under `cuvmm run --emulate`: the emulator answers their calls.

usage: redirect_test.py CUVMM FOLDER (of the programs)
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

CUVMM, FOLDER = sys.argv[1:3]


def path(name: str) -> str:
    return os.path.join(FOLDER, name)


class Redirect(unittest.TestCase):
    def run_(self, *words: str, code: int = 0) -> subprocess.CompletedProcess:
        result = subprocess.run([CUVMM, "run", "--emulate", "--devices", "2", "--", *words], capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result)
        return result

    def check(self, *words: str) -> None:
        result = self.run_(*words)
        self.assertEqual(result.stdout, "all calls were answered\n")
        self.assertNotIn("contains NVIDIA's", result.stderr)
        self.assertIn("cudaOfTomorrow is not emulated; it answers cudaErrorNotSupported", result.stderr)

    def test_programs(self):
        for name in ("pie_13", "pie_12", "no_pie_13", "no_pie_12"):
            with self.subTest(name):
                self.check(path(name))

    def test_libraries_that_are_loaded_later(self):
        for program, library in (("pie_13", "12"), ("no_pie_12", "13")):
            with self.subTest(program):
                self.check(path(program), path(f"libimitation_{library}.so"))

    def test_a_constructor_of_a_linked_library_comes_after_the_change(self):
        self.check(path("linked"))

    def test_a_function_of_the_programs_own_stays(self):
        self.assertEqual(self.run_(path("own_function")).stdout, "5 77\n")

    def test_a_runtime_before_12_is_not_answered_by_another(self):
        self.run_(path("pie_11"), code=128 + signal.SIGILL)

    def test_a_compiler_gives_ptx_for_machine_code(self):
        self.assertEqual(self.run_(path("compiles")).stdout, ".version 8.3\n")

    def test_a_compilers_own_functions_stay(self):
        self.assertEqual(self.run_(path("compiles"), path("libnvrtc.so.13")).stdout, "code\n")

    def test_only_the_emulator_is_reached(self):
        self.assertLess(subprocess.run([path("pie_13")], capture_output=True).returncode, 0)

    def test_a_file_that_is_gone(self):
        # Its symbols are read by /proc/self/exe, which leads to the file as long as it is open.
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "copy")
            shutil.copy(path("pie_13"), copy)
            self.check("sh", "-c", f'exec 9<{copy}; rm {copy}; exec /proc/self/fd/9')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
