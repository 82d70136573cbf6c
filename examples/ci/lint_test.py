# SPDX-License-Identifier: Apache-2.0
"""The workflow and the container recipe are well formed, and call the plugin's options by their names; so are the project's
action (action.yml) and the workflow that publishes it.

Usage: lint_test.py [unittest arguments]. What the linters look at is skipped where they are not installed
(emulator/python/requirements.txt); exit code 77 where none is.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
WORKFLOW = HERE / ".github/workflows/cuda-memory.yml"
RECIPE = HERE / "Dockerfile"
ACTION = SOURCE / "action.yml"
PUBLISH = SOURCE / ".github/workflows/publish.yml"


def tool(name):
    """The linter, of the tests' Python or of PATH."""
    python = os.environ.get("CUVMM_PYTHON", str(SOURCE / ".deps/venv/bin/python3"))
    beside = os.path.join(os.path.dirname(python), name)
    return beside if os.access(beside, os.X_OK) else shutil.which(name)


class Lint(unittest.TestCase):
    def passes(self, name, *arguments):
        program = tool(name)
        if program is None:
            self.skipTest(f"{name} is not installed")
        process = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=HERE, check=False)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)

    def test_yaml(self):
        self.passes("yamllint", "--strict", "-c", ".yamllint", str(WORKFLOW), str(ACTION), str(PUBLISH))

    def test_workflow(self):
        self.passes("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(WORKFLOW), str(PUBLISH))

    def test_action(self):
        self.passes("check-jsonschema", "--builtin-schema", "vendor.github-actions", str(ACTION))

    def test_safety_of_the_workflow(self):
        self.passes("zizmor", "--offline", "--no-progress", "--config", "zizmor.yml", str(WORKFLOW), str(ACTION), str(PUBLISH))

    def test_recipe(self):
        self.passes("hadolint", "--no-color", str(RECIPE))

    def test_options_exist(self):
        plugin = (SOURCE / "python/cuvmm/pytest_plugin.py").read_text()
        for file in (WORKFLOW, RECIPE):
            used = set(re.findall(r"--cuvmm[\w-]*", file.read_text()))
            self.assertEqual(used, {"--cuvmm", "--cuvmm-report"})
            for option in used:
                self.assertIn(f'"{option}"', plugin)


if __name__ == "__main__":
    if not any(tool(name) for name in ("yamllint", "check-jsonschema", "hadolint", "zizmor")):
        print("skipped: no yamllint, check-jsonschema, hadolint or zizmor; `./dev test` installs them "
              "(emulator/python/requirements.txt)")
        sys.exit(77)
    unittest.main()
