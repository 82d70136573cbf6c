# SPDX-License-Identifier: Apache-2.0
"""Tests of outcome.py: what makes a step pass, and what a result holds."""

import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))

import outcome  # noqa: E402
import steps  # noqa: E402
import under_shim  # noqa: E402

STEP = steps.Step("example.x", ("/bin/x",), timeout=1, expects=("a",))


WORK = {"launches": 9, "tracked": 7, "hidden": 0, "dropped": 0}


def run(code=0, calls=None, rules=("a",), report=True, work=None) -> under_shim.Run:
    findings = [{"rule": rule, "kind": "error", "count": 2, "message": "m"} for rule in rules]
    calls = {"cuMemMap": 3, "cuMemcpyHtoD": 4} if calls is None else calls
    return under_shim.Run(code, "work_seconds=0.5\nwork_seconds=0.7\n", 2.0,
                          {"calls": calls, "findings": findings} | ({"work": work} if work else {}) if report else None)


class JudgeTest(unittest.TestCase):
    def test_passes_with_the_expected_findings(self):
        got = outcome.judge(STEP, run())
        self.assertEqual((got.state, got.reasons, got.checked_calls), ("passed", [], 3))
        self.assertEqual(got.seconds, {"with shim": 2.0, "with shim, work": 0.7})

    def test_fails_for_each_thing_that_is_wrong(self):
        for bad in (run(code=1), run(code=-11), run(code=None), run(calls={"cuMemcpyHtoD": 4}), run(rules=()),
                    run(rules=("a", "b")), run(report=False)):
            with self.subTest(bad):
                got = outcome.judge(STEP, bad)
                self.assertEqual(got.state, "failed")
                self.assertTrue(got.reasons)

    def test_leaves_unforeseen_findings_to_a_person(self):
        step = steps.Step("workload.x", ("/bin/x",), timeout=1)
        got = outcome.judge(step, run(rules=("b",)))
        self.assertEqual(got.state, "passed")
        self.assertEqual(got.findings[0]["judgement"], "")

    def test_refusals_are_kept_and_may_be_expected(self):
        made = run(rules=())
        refusal = {"call": "cuMemCreate", "result": "CUDA_ERROR_OUT_OF_MEMORY", "count": 2, "stack": []}
        made.report["refusals"] = [refusal]
        for refuses, state in ((("cuMemCreate CUDA_ERROR_OUT_OF_MEMORY",), "passed"), ((), "failed"), (None, "passed")):
            with self.subTest(refuses):
                got = outcome.judge(steps.Step("workload.x", ("/bin/x",), timeout=1, refuses=refuses), made)
                self.assertEqual((got.state, got.refusals), (state, [refusal]), got.reasons)

    def test_a_skip_says_why(self):
        got = outcome.judge(STEP, under_shim.Run(77, "skipped: needs two devices\n", 0.1, None))
        self.assertEqual((got.state, got.reasons), ("skipped", ["skipped: needs two devices"]))


class WriteTest(unittest.TestCase):
    def test_writes_both_files_under_the_machine_s_name(self):
        driver = {"version": "580.1", "api": 13000, "devices": ["NVIDIA H200"] * 2, "emulated": False}
        head = {"date": "2026-11-21T01:02:03", "driver": driver, "software": {"torch": "2"}}
        with tempfile.TemporaryDirectory() as folder:
            path = outcome.write(pathlib.Path(folder), head, [outcome.judge(STEP, run(work=WORK))])
            self.assertEqual(path.name, "2026-11-21-h200-x2-580.1.md")
            self.assertIn("| example.x | passed | 3 | 9, 7, 0 | a ×2 |", path.read_text())
            result = json.loads(path.with_suffix(".json").read_text())
        self.assertEqual(result["summary"]["passed"], 1)
        self.assertEqual(result["steps"][0]["findings"][0]["rule"], "a")

    def test_kept_results_are_shown_as_pages(self):
        with tarfile.open(HERE / "results" / "runs.tar.xz") as archive:
            members = {name: archive.extractfile(name).read() for name in archive.getnames() if name.endswith(".json")}
        self.assertGreater(len(members), 5)
        for name, content in members.items():
            shown = subprocess.run([sys.executable, HERE / "show", name], capture_output=True, text=True, check=True).stdout
            self.assertRegex(shown, r"^# NVIDIA H[12]00.*, driver 580")
            names = [step["name"] for step in json.loads(content).get("steps", [])]
            self.assertEqual([name for name in names if f"| {name} |" not in shown], [])


if __name__ == "__main__":
    unittest.main()
