# SPDX-License-Identifier: Apache-2.0
"""Tests cuvmm predict: the platforms of rulebook/profiles/platforms, with programs from users' reports.

Usage: predict_test.py CUVMM [unittest arguments].
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

CUVMM = None

PLAIN = """init()
r0 = cuMemAddressReserve(4M)
h0 = cuMemCreate(2M, device=0)
cuMemMap(r0, 2M, h0)
cuMemSetAccess(r0, 2M, [device0:rw])
cuMemUnmap(r0, 2M)
cuMemRelease(h0)
cuMemAddressFree(r0, 4M)
"""
ALL = {"h200-580.159.04", "h100-580.159.04", "documented"} | {
    "no-vmm", "wsl2", "tegra", "fabric-imex", "fabric-no-channel", "min", "max"}


class Predict(unittest.TestCase):
    def predict(self, text, *arguments, code=1):
        result = subprocess.run([CUVMM, "predict", "--json", *arguments, "-"], input=text, capture_output=True,
                                text=True, timeout=100, check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return {one["profile"]: one for one in json.loads(result.stdout)["predictions"]}

    def assert_fails_on(self, text, expected, *arguments):
        """`expected`: profile -> (line, answer, a part of the reason). The program works on all other profiles."""
        found = self.predict(text, *arguments)
        self.assertEqual({name for name, one in found.items() if not one["works"]}, set(expected))
        for name, (line, answer, reason) in expected.items():
            self.assertEqual((found[name]["line"], found[name]["observed"]), (line, answer), name)
            self.assertIn(reason, found[name]["reason"], name)

    def test_all_platforms_are_asked(self):
        self.assertEqual(set(self.predict(PLAIN)), ALL)

    def test_a_virtual_gpu_without_virtual_memory(self):  # openxla/xla#49252, dmlc/xgboost#12217
        self.assert_fails_on(PLAIN, {"no-vmm": (2, "CUDA_ERROR_NOT_SUPPORTED", "attribute 102")})
        granularity = "init()\ncuMemGetAllocationGranularity(device=0)  # CUDA_SUCCESS =2097152\n"
        self.assert_fails_on(granularity, {"no-vmm": (2, "CUDA_ERROR_NOT_SUPPORTED", "attribute 102")})

    def test_what_needs_no_virtual_memory_works_without_it(self):
        text = "init()\nc0 = context(0)\np0 = cuMemAlloc(2M)\ncuMemsetD8(p0, 1, 2M)\ncuMemFree(p0)\n"
        self.assertTrue(self.predict(text, "--on", "no-vmm", code=0)["no-vmm"]["works"])

    def test_exportable_memory_under_wsl(self):  # openxla/xla#48979: 4,292,870,144 bytes work, 4 GiB do not
        program = "init()\nh0 = cuMemCreate({}, device=0, handle_types={})\n".format
        below, above = 4292870144, 4 << 30
        on = ("--on", "wsl2,fabric-imex")
        self.assert_fails_on(program(above, "posix_fd"), {"wsl2": (2, "CUDA_ERROR_OUT_OF_MEMORY", "4 GiB")}, *on)
        self.predict(program(below, "posix_fd"), *on, code=0)
        self.predict(program(above, "none"), *on, code=0)

    def test_exportable_pools_under_wsl(self):  # NVIDIA/cuda-python#1045
        program = "init()\no0 = cuMemPoolCreate({{allocType=pinned, handleTypes={}, location=device0}})\n".format
        self.assert_fails_on(program("posix_fd"), {"wsl2": (2, "CUDA_ERROR_INVALID_VALUE", "although attribute 119")})
        self.predict(program("none"), code=0)

    def test_a_large_reservation_on_tegra(self):  # ggml-org/llama.cpp#29142
        program = "init()\nr0 = cuMemAddressReserve({})\n".format
        on = ("--on", "tegra,wsl2,min")
        self.assert_fails_on(program("32G"), {"tegra": (2, "CUDA_ERROR_OUT_OF_MEMORY", "address space is short")}, *on)
        self.predict(program("31G"), *on, code=0)

    def test_fabric_handles(self):  # microsoft/mscclpp#467
        text = "init()\nh0 = cuMemCreate(2M, device=0, handle_types=fabric)\n"
        found = self.predict(text)
        self.assertEqual({name for name, one in found.items() if one["works"]}, {"fabric-imex", "max"})
        self.assertEqual(found["fabric-no-channel"]["observed"], "CUDA_ERROR_NOT_PERMITTED")
        self.assertIn("IMEX channel", found["fabric-no-channel"]["reason"])

    def test_memory_on_the_host(self):
        text = "init()\nh0 = cuMemCreate(2M, host)\nh1 = cuMemCreate(2M, host_numa=0)\n"
        self.assert_fails_on(text, {"min": (2, "CUDA_ERROR_NOT_SUPPORTED", "attribute 141"),
                                    "no-vmm": (2, "CUDA_ERROR_NOT_SUPPORTED", "attribute 102")})

    def test_a_function_that_is_newer_than_the_driver(self):
        text = "init()\nc0 = context(0)\no0 = cuMemGetDefaultMemPool(device0, pinned)\n"
        found = self.predict(text, "--on", "min,max")
        self.assertEqual(found["min"]["observed"], "this driver is of CUDA 12.4; the function exists since 13.0")
        self.assertTrue(found["max"]["works"])

    def test_what_failed_where_it_was_recorded_is_no_failure(self):
        text = "init()\nh0 = cuMemCreate(2M, device=0, handle_types=fabric)  # CUDA_ERROR_NOT_PERMITTED\n" \
               "h0 = cuMemCreate(2M, device=0)\n"
        self.assertTrue(self.predict(text, "--on", "fabric-imex", code=0)["fabric-imex"]["works"])

    def test_as_many_devices_as_are_named(self):
        text = "init()\nh0 = cuMemCreate(2M, device=3)\n"
        self.predict(text, "--on", "h200-580.159.04", code=0)
        found = self.predict(text, "--on", "h200-580.159.04", "--devices", "2")
        self.assertEqual(found["h200-580.159.04"]["observed"], "CUDA_ERROR_INVALID_DEVICE")

    def test_text_names_machine_call_and_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PLAIN)
            result = subprocess.run([CUVMM, "predict", "--on", "no-vmm,wsl2", path], capture_output=True, text=True,
                                    timeout=100, check=False)
        self.assertIn("no-vmm  a virtual GPU without virtual memory management\n", result.stdout)
        self.assertIn(f"        fails at {path}:2: r0 = cuMemAddressReserve(", result.stdout)
        self.assertIn("wsl2    Windows subsystem for Linux 2\n        works: ", result.stdout)

    def test_bad_input_says_what_was_expected(self):
        for arguments, text in [(["--on", "wsl3", "-"], "--on: no profile 'wsl3'"), (["-"], "<standard input>:1:9: expected"),
                                ([], "FILE is required")]:
            result = subprocess.run([CUVMM, "predict", *arguments], input="nonsense\n", capture_output=True, text=True,
                                    timeout=100, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(text, result.stderr)


if __name__ == "__main__":
    CUVMM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
