# SPDX-License-Identifier: Apache-2.0
"""Tests the report of refused calls that cuvmm does not check, but that are in the driver's log.

Usage: unchecked_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import os
import sys
import unittest

import cli_test

# cuvmm does not check cuDeviceGetAttribute. This driver does not know the attribute.
ASKS = """
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
value, pointer = ctypes.c_int(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
def ask(attribute):
    return cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)
for attribute in (9999, 9998, 9999):
    assert ask(attribute) == 1
assert cuda.cuCtxGetDevice(ctypes.byref(value)) == 201
assert cuda.cuPointerGetAttribute(ctypes.byref(value), 2, ctypes.c_uint64(ctypes.addressof(value))) != 0
"""
LINE = "cuvmm: refused: cuDeviceGetAttribute answered CUDA_ERROR_INVALID_VALUE"


class Unchecked(cli_test.CliTest):
    def asked(self, end="", code=0):
        report, result = self.report_of("--emulate", "--devices", "1", "--", sys.executable, "-c", ASKS + end)
        self.assertEqual(result.returncode, code, result.stderr)
        self.validate(report)
        return report["refusals"], result.stderr

    def test_an_error_that_the_program_remembers(self):
        example = os.path.join(os.path.dirname(cli_test.CUVMM), "examples", "failed_attribute_remembered")
        report, result = self.report_of("--emulate", "--", example)
        self.validate(report)
        self.assertEqual([finding["rule"] for finding in report["findings"]], ["cuMemCreate-released"])
        (refusal,) = report["refusals"]
        self.assertEqual((refusal["call"], refusal["result"], refusal["count"], refusal["unchecked"]),
                         ("cuDeviceGetAttribute", "CUDA_ERROR_INVALID_VALUE", 1, True))
        self.assertIn("supports_something_newer", refusal["stack"][0]["function"])
        self.assertIn(LINE + ", at ", result.stderr)
        self.assertIn("may report it at another place", result.stderr)

    def test_a_program_that_ends_well_is_left_alone(self):
        (refusal,), text = self.asked()
        self.assertEqual((refusal["call"], refusal["count"]), ("cuDeviceGetAttribute", 3))
        self.assertNotIn("refused", text)

    def test_one_that_does_not_is_told(self):
        for end in ("sys.exit(3)", "os._exit(3)"):
            refusals, text = self.asked(end, 3)
            self.assertEqual(len(refusals), 1)
            self.assertIn(LINE + ", 3 times", text)
            self.assertNotIn("cuCtxGetDevice", text)  # an answer, and no error
            self.assertNotIn("cuPointerGetAttribute", text)

    def test_its_stack_begins_in_the_program(self):
        # The shim wraps this function, but passes calls on at once if their memory is far from the memory that it follows.
        end = """
context = ctypes.c_void_p()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemcpyDtoH_v2(ctypes.byref(value), ctypes.c_uint64(16), ctypes.c_size_t(4)) == 1
sys.exit(3)
"""
        refusals, _ = self.asked(end, 3)
        (copy,) = [refusal for refusal in refusals if refusal["call"] == "cuMemcpyDtoH"]
        modules = [frame["module"] for frame in copy["stack"]]
        self.assertTrue(modules)
        self.assertFalse([module for module in modules if "libcuvmm-shim" in module], modules)

    def test_so_is_one_that_a_signal_ends(self):
        refusals, text = self.asked("os.abort()", 134)
        self.assertEqual(len(refusals), 1)
        self.assertIn(LINE, text)

    def test_three_are_told_at_most(self):
        end = """
for name in ("cuDeviceGetUuid_v2", "cuDeviceGetLuid", "cuDeviceTotalMem_v2", "cuDeviceGetName"):
    assert getattr(cuda, name)(None, None, 99) != 0, name
sys.exit(1)
"""
        refusals, text = self.asked(end, 1)
        self.assertGreaterEqual(len(refusals), 4)
        self.assertEqual(text.count("cuvmm: refused: cu"), 3, text)
        self.assertIn("more; the report has them", text)


if __name__ == "__main__":
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
