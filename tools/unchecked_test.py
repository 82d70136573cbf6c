# SPDX-License-Identifier: Apache-2.0
"""Tests the report of refused calls that cuvmm does not check.

Usage: unchecked_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import os
import pathlib
import re
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
LINE = "cuvmm: refused: cuDeviceGetAttribute(out=out, attribute={}, device=0) answered CUDA_ERROR_INVALID_VALUE"

# Memory of cuMemCreate exists, so the session follows all work. No function has any use for these arguments.
CALLS_ALL = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def made(result):
    assert result == 0, result
value, context, number = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_uint64
made(cuda.cuInit(0))
made(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
made(cuda.cuCtxSetCurrent(context))
made(cuda.cuMemCreate(ctypes.byref(value), number(2 << 20), (ctypes.c_int * 16)(1, 0, 1, 0), number(0)))
# Each call has a line of its own, because the findings of one line that break one rule are one finding.
exec("\\n".join(f"print('{name}', cuda.{name}(*[ctypes.c_void_p(0)] * 12), flush=True)" for name in sys.argv[1:]))
sys.exit(1)
"""
# They succeed with such arguments, and end or change what the others need.
NEEDED = r"cuInit$|cuCtx(Destroy|Detach|PopCurrent|SetCurrent)|cuDevicePrimaryCtxRe(set|lease)"
# Programs ask these questions all the time, and expect "no" (is_only_an_answer() of shim/refusals/journal.h).
QUESTIONS = r"cuCtxGet|cuPointerGet|cuGetProcAddress|cuGetExportTable|cuGetError|cuLogs"

LOADS = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
out, context, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
ref = ctypes.byref
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
PTX = b".version 8.0\\n.target sm_90\\n.address_size 64\\n.visible .entry _Z4axpyPf(.param .u64 p) { ret; }\\n"
def module(ptx=PTX):
    assert cuda.cuModuleLoadData(ref(out), ptx) == 0
    return out
def library(code=PTX):
    assert cuda.cuLibraryLoadData(ref(out), code, None, None, 0, None, None, 0) == 0
    return out
def link():
    assert cuda.cuLinkCreate_v2(0, None, None, ref(out)) == 0
    return out
def graph():
    made = ctypes.c_void_p()
    assert cuda.cuGraphCreate(ref(made), 0) == 0
    return made
none = ctypes.c_void_p()
assert %s != 0
sys.exit(1)
"""


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
        self.assertRegex(result.stderr, re.escape(LINE).replace(r"\{\}", r"\d+") + ", at ")
        self.assertIn("may report it at another place", result.stderr)

    def test_a_program_that_ends_well_is_left_alone(self):
        (refusal,), text = self.asked()
        self.assertEqual((refusal["call"], refusal["count"]), ("cuDeviceGetAttribute", 3))
        self.assertNotIn("refused", text)

    def test_one_that_does_not_is_reported(self):
        for end in ("sys.exit(3)", "os._exit(3)"):
            refusals, text = self.asked(end, 3)
            self.assertEqual(len(refusals), 1)
            self.assertIn(LINE.format(9999) + ", 3 times", text)
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

    def test_no_refused_call_is_silent(self):
        def plain(name):
            return re.sub(r"(_v\d|_ptsz|_ptds)+$", "", name)
        symbols = pathlib.Path(cli_test.SOURCE, "api", "symbols", "driver_symbols.txt").read_text().split()
        called = [name for name in symbols if re.match("cu[A-Z]", name) and not re.match(NEEDED, name)]
        self.assertGreater(len(called), 400)
        refused, silent = 0, []
        for first in range(0, len(called), 60):  # the journal has room for 64 different calls
            report, result = self.report_of("--emulate", "--no-symbols", "--", sys.executable, "-c",
                                            CALLS_ALL, *called[first:first + 60])
            self.assertEqual(result.returncode, 1, result.stderr)
            named = {plain(each["call"]) for each in report["refusals"] + report["findings"] if "call" in each}
            messages = [finding["message"] for finding in report["findings"]]
            for name, code in (line.split() for line in result.stdout.splitlines()):
                if code == "0" or re.match(QUESTIONS, name):
                    continue
                refused += 1
                if plain(name) not in named and not any(text.startswith(plain(name)) for text in messages):
                    silent.append((name, code))
        self.assertEqual(silent, [])
        self.assertGreater(refused, 400)

    def test_code_and_names_in_code(self):
        missing = 'the file "/nowhere.cubin" cannot be read: No such file or directory'
        no_code = 'is neither PTX, nor a cubin, nor a fat binary: it begins with "hello"'
        newer = "PTX of version 99.0, which is newer than the driver (CUDA 13.0)"
        mangled = '"_Z4axpyPf", which is axpy(float*) in C++: ask for that name, or declare the kernel extern "C"'
        new_ptx = 'b".version 99.0\\n.target sm_90\\n.address_size 64\\n"'
        for call, expected in [
            ('cuda.cuModuleLoad(ref(out), b"/nowhere.cubin")', missing),
            ('cuda.cuLibraryLoadFromFile(ref(out), b"/nowhere.cubin", None, None, 0, None, None, 0)', missing),
            ('cuda.cuLinkAddFile_v2(link(), 0, b"/nowhere.cubin", 0, None, None)', missing),
            ('cuda.cuModuleLoadData(ref(out), b"hello")', "the image " + no_code),
            ('cuda.cuModuleLoadDataEx(ref(out), b"hello", 0, None, None)', "the image " + no_code),
            ('cuda.cuModuleLoadFatBinary(ref(out), b"hello")', "the image " + no_code),
            ('cuda.cuLibraryGetModule(ref(size), library(b"hello"))', ""),  # a library is read at its first use
            ('cuda.cuLinkAddData_v2(link(), 1, b"hello", ctypes.c_size_t(5), None, 0, None, None)', "the image " + no_code),
            (f'cuda.cuModuleLoadData(ref(out), {new_ptx})', newer),
            ('cuda.cuModuleGetFunction(ref(out), module(), b"axpy")', mangled),
            ('cuda.cuLibraryGetKernel(ref(out), library(), b"axpy")', mangled),
            ('cuda.cuModuleGetFunction(ref(out), module(), b"nothing")', 'no kernel "nothing": it has _Z4axpyPf'),
            ('cuda.cuModuleGetGlobal_v2(ref(out), ref(size), module(), b"_Z4axpyPf")', "that is a kernel"),
            ('cuda.cuLibraryGetGlobal(ref(out), ref(size), library(), b"n")', 'the code has no variable "n"'),
            ('cuda.cuLinkComplete(none, ref(out), ref(size))', ""),
            ('cuda.cuGraphAddMemFreeNode(ref(out), graph(), None, ctypes.c_size_t(0), ctypes.c_uint64(0x5000))',
             "the node is to free 0x5000: a free node takes the address that an allocation node returned"),
        ]:
            with self.subTest(call):
                report, result = self.report_of("--emulate", "--", sys.executable, "-c", LOADS % call)
                self.validate(report)
                self.assertEqual(result.returncode, 1, result.stderr)
                (refusal,) = report["refusals"]
                name = call[len("cuda."):call.index("(")].removesuffix("_v2")
                self.assertEqual((refusal["call"].removesuffix("_v2"), refusal["count"]), (name, 1))
                self.assertIn(f"cuvmm: refused: {name}", result.stderr)
                self.assertIn(expected, result.stderr)
                self.assertIn(expected, " ".join(refusal["facts"].get("known", [])))

    def test_code_that_another_file_has(self):
        # The program looks in two places, and finds its code in the second: it ends well, and hears nothing.
        found = self.path("here.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n")
        program = (LOADS % 'cuda.cuModuleLoad(ref(out), b"/nowhere.cubin")').replace("sys.exit(1)", "")
        _, result = self.report_of("--emulate", "--", sys.executable, "-c",
                                   program + f'assert cuda.cuModuleLoad(ref(out), b"{found}") == 0')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("refused", result.stderr)

    def test_so_is_one_that_a_signal_ends(self):
        refusals, text = self.asked("os.abort()", 134)
        self.assertEqual(len(refusals), 1)
        self.assertIn(LINE.format(9999), text)

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
