# SPDX-License-Identifier: Apache-2.0
"""The GitHub action (action.yml): its steps are read from the file and run, as a runner would.

Usage: action_test.py CUVMM [unittest arguments]. Exit code 77 where this Python has no YAML.
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ACTION = SOURCE / "action.yml"
PROJECT = SOURCE / "examples/pytest_allocator"
LEAK = f"PYTHONPATH={PROJECT} {sys.executable} -c 'import driver; driver.start(); driver.create(2 << 20)'"
CLEAN = LEAK.replace("driver.create(2 << 20)", "driver.release(driver.create(2 << 20))")


class Action(unittest.TestCase):
    def setUp(self):
        import yaml
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-action-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
        self.steps = {step["name"]: step for step in self.action["runs"]["steps"]}

    def text(self, name):
        file = self.folder / name
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def run_step(self, **inputs):
        """Runs the second step with these inputs, as a runner does. Returns its exit code and output."""
        values = {name: one.get("default", "") for name, one in self.action["inputs"].items()} | inputs
        step = self.steps["Run"]
        given = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], text)
                 for name, text in step["env"].items()}
        environment = {**os.environ, **given, "PATH": f"{os.path.dirname(CUVMM)}:{os.environ['PATH']}",
                       "GITHUB_OUTPUT": str(self.folder / "output"), "GITHUB_STEP_SUMMARY": str(self.folder / "summary")}
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=self.folder,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        return done.returncode, done.stdout

    def test_a_leak_fails_and_is_in_the_summary_and_the_reports(self):
        code, output = self.run_step(run=LEAK)
        self.assertEqual(code, 1, output)
        self.assertIn("[cuMemCreate-released]", self.text("summary"))
        self.assertEqual(self.text("output"), "sarif=cuvmm-report/cuvmm.sarif\n")
        results = json.loads(self.text("cuvmm-report/cuvmm.sarif"))["runs"][0]["results"]
        self.assertEqual([one["ruleId"] for one in results], ["cuMemCreate-released"])
        self.assertIn("<html", self.text("cuvmm-report/cuvmm.html"))

    def test_a_clean_command_succeeds(self):
        code, output = self.run_step(run=CLEAN)
        self.assertEqual(code, 0, output)

    def test_the_commands_own_failure_stays(self):
        code, output = self.run_step(run=CLEAN + "\nfalse; true")
        self.assertEqual(code, 1, output)
        code, output = self.run_step(run=CLEAN + "\nexit 7")
        self.assertEqual(code, 7, output)

    def test_options_and_the_exit_code_are_inputs(self):
        code, output = self.run_step(run=LEAK, options="--emulate --leak-check no")
        self.assertEqual(code, 0, output)
        code, output = self.run_step(run=LEAK, **{"error-exitcode": "42"})
        self.assertEqual(code, 42, output)

    def test_no_input_stands_in_a_script(self):
        for step in self.steps.values():
            self.assertNotIn("${{", step["run"])  # a runner would paste the text into the script
        used = set(re.findall(r"inputs\.([\w-]+)", ACTION.read_text(encoding="utf-8")))
        self.assertEqual(used, set(self.action["inputs"]))


if __name__ == "__main__":
    if importlib.util.find_spec("yaml") is None:
        print("skipped: this Python has no YAML")
        sys.exit(77)
    CUVMM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
