# SPDX-License-Identifier: Apache-2.0
"""Runs the bank's runner on the emulator, over small programs that stand for real ones.

Usage: bank_run_test.py BUILD [unittest arguments].
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = None

PROGRAM = """
import ctypes, os, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
address, size = ctypes.c_ulonglong(), ctypes.c_size_t(2 << 20)
assert cuda.cuInit(0) == 0
assert cuda.cuMemAddressReserve(ctypes.byref(address), size, ctypes.c_size_t(0), ctypes.c_ulonglong(0), ctypes.c_ulonglong(0)) == 0
assert cuda.cuMemAddressFree(address, size) == 0
for name in ("NCCL_NVLS_ENABLE", "TORCH_SYMM_MEM_DISABLE_MULTICAST", "NVSHMEM_DISABLE_NVLS"):
    assert name in os.environ, name
mode, what = os.environ["CUVMM_ASYNC"], sys.argv[1]
"""
# The further actions of each program, and the expected states (of bare, of exact) and outputs.
PROGRAMS = {
    "good": 'print("digest=" + os.environ["OF_ALL"] + os.environ["OF_ALLOCATOR"])',
    "wrong": "cuda.cuMemAddressReserve(ctypes.byref(address), ctypes.c_size_t(0), ctypes.c_size_t(0), ctypes.c_ulonglong(0), "
             'ctypes.c_ulonglong(0))\nprint("digest=1")',
    "unstable": 'print(f"digest={time.monotonic_ns()}")',
    "changed": 'print("digest=" + mode)',
    "refused": 'print("digest=1")\nsys.exit(mode == "exact")',
    "silent": "",
    "skips": 'print("skipped: not today")\nsys.exit(77)',
    "hangs": "time.sleep(1000)",
}


class BankRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-bank-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.judged = self.folder / "judged.toml"
        self.judged.write_text("")

    def run_bank(self, *names: str, more: str = "", options=()) -> tuple[subprocess.CompletedProcess, dict]:
        table = '[allocators.a]\nplain = { OF_ALLOCATOR = "x" }\n[environment]\nOF_ALL = "y"\n'
        for name in names:
            program = self.folder / f"{name}.py"
            program.write_text(PROGRAM + PROGRAMS[name])
            table += f'[[program]]\nname = "{name}"\nrun = ["{{python}}", "{program}", "{name}"]\nallocators = "a"\n{more}\n'
        (self.folder / "programs.toml").write_text(table)
        ran = self.bank("--emulate", "--build", BUILD, "--bank", str(self.folder / "programs.toml"), "--stem", "r", *options)
        path = self.folder / "out" / "r.json"
        return ran, json.loads(path.read_text()) if path.exists() else {}

    def bank(self, *options: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-B", str(HERE / "run"), "--judged", str(self.judged), "--out", str(self.folder / "out"),
                   "--jobs", "4", *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def states(self, value: dict) -> dict[str, str]:
        return {run["mode"]: run["state"] for case in value["cases"] for run in case["runs"]}

    def test_all_well(self):
        ran, value = self.run_bank("good")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(value["cases"][0]["outputs"], {"observed": "equal", "exact": "equal"})
        self.assertEqual({run["digest"] for run in value["cases"][0]["runs"]}, {"yx"})
        log = [json.loads(line) for line in (self.folder / "out" / "r.jsonl").read_text().splitlines()]
        self.assertEqual(len(log), 4)  # the head, and three runs
        self.assertIn("# The bank", (self.folder / "out" / "r.md").read_text())

    def test_a_finding_is_judged_and_a_log_can_be_judged_anew(self):
        ran, value = self.run_bank("wrong", options=["--modes", "bare,exact"])
        self.assertEqual(ran.returncode, 1, ran.stdout)
        found = value["cases"][0]["runs"][-1]["findings"][0]
        self.assertEqual((found["rule"], found["verdict"]), ("cuMemAddressReserve-size-nonzero", "unjudged"))
        self.assertTrue(found["blamed"]["frame"]["file"].endswith("wrong.py"))
        self.judged.write_text('[[judgement]]\nrule = "cuMemAddressReserve-*"\nframe = "*/wrong.py"\n'
                               'verdict = "true"\nreason = "planted"\n')
        again = self.bank("--judge", str(self.folder / "out" / "r.jsonl"))
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)

    def test_outputs_that_change_are_told_from_those_that_always_differ(self):
        ran, value = self.run_bank("changed", "unstable", options=["--modes", "bare,exact"])
        self.assertEqual(ran.returncode, 1, ran.stdout)
        outputs = {case["program"]: case["outputs"]["exact"] for case in value["cases"]}
        self.assertEqual(outputs, {"changed": "DIFFERENT", "unstable": "differs between two bare runs"})

    def test_what_does_not_end_well_is_reported(self):
        ran, value = self.run_bank("refused", "silent", "skips", options=["--modes", "bare,exact"])
        self.assertEqual(ran.returncode, 1, ran.stdout)
        reasons = {(case["program"], run["mode"]): run["reason"] for case in value["cases"] for run in case["runs"]}
        silent = "it printed no digest"
        self.assertEqual(reasons, {("refused", "bare"): "", ("refused", "exact"): "exit code 1", ("silent", "bare"): silent,
                                   ("silent", "exact"): silent, ("skips", "bare"): "not today", ("skips", "exact"): "not today"})
        self.assertEqual(value["broken"], ["refused plain exact: failed (exit code 1), and passed bare"])
        self.assertEqual(value["missing"], [f"silent plain bare: failed ({silent})"])

    def test_a_missing_package_and_missing_time_are_reported(self):
        ran, value = self.run_bank("good", more='needs = ["no_such_package"]')
        self.assertEqual((ran.returncode, set(self.states(value).values())), (0, {"skipped"}))
        self.assertIn("not installed: no_such_package", ran.stdout)
        ran, value = self.run_bank("good", options=["--budget", "1"])
        self.assertEqual((ran.returncode, set(self.states(value).values())), (3, {"not started"}))

    def test_a_program_that_hangs_has_its_own_limit(self):
        ran, value = self.run_bank("hangs", more="timeout = 3", options=["--modes", "bare"])
        self.assertEqual((ran.returncode, self.states(value)), (3, {"bare": "timed out"}), ran.stdout)

    def test_names_that_choose_nothing_are_an_error(self):
        ran, _ = self.run_bank("good", options=["--programs", "none"])
        self.assertEqual(ran.returncode, 2)


if __name__ == "__main__":
    BUILD = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
