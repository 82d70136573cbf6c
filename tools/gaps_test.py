# SPDX-License-Identifier: Apache-2.0
"""A run in which cuvmm checked nothing, or only a part, is no success: with --error-exitcode it has its own exit code.

Usage: gaps_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import os
import shutil
import sys
import unittest

import cli_test

UNCHECKED = 122
BEGIN = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
"""
WORKS = BEGIN + """
address = ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuMemAddressReserve(ctypes.byref(address), 2 << 20, 0, 0, 0) == 0
assert cuda.cuMemAddressFree(address, 2 << 20) == 0
"""
# The first calls of a copy of NVIDIA's runtime in a program.
RUNTIME = """
table = ctypes.c_void_p()
runtime = bytes.fromhex("6bd5fb6c5bf4e74a8987d93912fd9df9")
assert cuda.cuGetExportTable(ctypes.byref(table), runtime) != 0
"""


class Gaps(cli_test.CliTest):
    def checked(self, code, *words):
        """Runs a Python program with --error-exitcode 9. Returns the report and the lines on stderr."""
        *options, program = words
        report, result = self.report_of("--emulate", "--error-exitcode", "9", *options, "--", sys.executable, "-c", program)
        self.assertEqual(result.returncode, code, result.stderr)
        self.validate(report)
        return report, result.stderr.splitlines()

    def test_a_program_without_cuda(self):
        report, lines = self.checked(UNCHECKED, "pass")
        self.assertIn("nothing was checked: no process used a CUDA driver", lines[-1])
        self.assertIn("nothing was checked", report["notes"][-1])
        self.assertIn(f"the exit code is {UNCHECKED}", "\n".join(lines))
        self.checked(0, "--allow-unchecked", "pass")
        self.checked(3, "raise SystemExit(3)")
        quiet = self.run_("--quiet", "--error-exitcode", "9", "--emulate", "--", "true")
        self.assertEqual((quiet.returncode, quiet.stderr), (UNCHECKED, ""))
        self.assertEqual(self.run_("--emulate", "--", "true").returncode, 0, "nobody asked")

    def test_a_program_that_makes_no_call_that_matters(self):
        _, lines = self.checked(UNCHECKED, BEGIN + "cuda.cuDriverGetVersion(ctypes.byref(ctypes.c_int()))")
        self.assertIn("1 process started a CUDA driver, and made no call that cuvmm checks", lines[-1])
        self.assertNotIn("0 errors", "\n".join(lines))

    def test_one_that_does_is_green(self):
        report, lines = self.checked(0, WORKS)
        self.assertNotIn("checked", "\n".join(lines))
        self.assertNotIn("need_driver", report)

    def test_a_runtime_that_needs_a_real_driver(self):
        report, lines = self.checked(UNCHECKED, WORKS + RUNTIME)
        (file,) = report["need_driver"]
        self.assertNotIn("libcuda.so", file, "the caller is named, not the driver")
        self.assertTrue(os.path.exists(file), file)
        self.assertIn("NVCC_APPEND_FLAGS=\"-cudart shared\"", lines[0])
        self.assertIn("CMAKE_CUDA_RUNTIME_LIBRARY=Shared", lines[0])
        self.assertIn("nothing was checked of what needs a real driver", lines[-1])
        self.assertIn(file, lines[-1])
        self.checked(0, "--allow-unchecked", WORKS + RUNTIME)

    def test_a_driver_beside_the_shim(self):
        copy = shutil.copy(self.emulator(), self.path("libcuda.so.1"))
        beside = WORKS + f"ctypes.CDLL({copy!r}).cuDriverGetVersion(None)\n"
        report, lines = self.checked(UNCHECKED, beside)
        self.assertEqual(report["escaped"], [copy])
        self.assertIn("went to a driver beside the shim: " + copy, lines[-1])

    def test_functions_without_rules(self):
        # By the symbol, and by the pointer of cuGetProcAddress, as the runtime and cuda-python call them.
        ask = ("address = ctypes.c_void_p()\n"
               "assert cuda.cuGetProcAddress_v2(b'NAME', ctypes.byref(address), 13000, ctypes.c_uint64(0), None) == 0\n")
        call = "ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(address.value)(0, None)\n"
        for name in ("cuGraphicsMapResources", "cuGraphicsUnregisterResource"):
            asked = ask.replace("NAME", name)
            for program in (f"cuda.{name}(0, None)\n", asked + call):
                report, lines = self.checked(UNCHECKED, WORKS + program)
                self.assertEqual(report["unchecked_calls"], [name])
                self.assertIn(name + ". cuvmm did not check how the program uses it", lines[-1])
                self.assertIn(f"the exit code is {UNCHECKED}", "\n".join(lines))
            self.checked(0, "--allow-unchecked", WORKS + asked + call)
            report, _ = self.checked(0, WORKS + asked)  # the runtime asks for all functions
            self.assertNotIn("unchecked_calls", report)

    def test_questions_are_harmless(self):
        for name in ("cuGraphicsResourceGetMappedPointer_v2", "cuProfilerStart", "cuCoredumpRegisterStartCallback"):
            report, _ = self.checked(0, WORKS + f"cuda.{name}(0, None)\n")
            self.assertNotIn("unchecked_calls", report)

    def test_findings_come_first(self):
        leak = WORKS + "handle = ctypes.c_uint64()\ncuda.cuMemRelease(handle)\n" + RUNTIME
        _, lines = self.checked(9, leak)
        self.assertNotIn("the exit code is", "\n".join(lines))


if __name__ == "__main__":
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
