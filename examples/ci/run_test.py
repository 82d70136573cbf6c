# SPDX-License-Identifier: Apache-2.0
"""The steps of the workflow and of the container recipe do what they promise: they are read from these files and run.

Usage: run_test.py [CUVMM]: the tests alone, with the cuvmm of a build. Or run_test.py --wheel WHEEL: the installation, too,
in an environment of its own; pip gets pytest from where it always does. The project is examples/pytest_allocator, whose two
mistakes must be found; and once they are mended, all must be well. Exit code 77 where this Python has no YAML, pytest or
xdist.
"""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
WORKFLOW = HERE / ".github/workflows/cuda-memory.yml"
PROJECT = SOURCE / "examples/pytest_allocator"


def workflow():
    """name -> command of each step that is a command, its variables, and the files that later steps take."""
    import yaml
    value = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    steps = value["jobs"]["emulated"]["steps"]
    taken = [step["with"][key] for step in steps for key in ("sarif_file", "path") if key in step.get("with", {})]
    return {step["name"]: step["run"] for step in steps if "run" in step}, value["env"], taken


def recipe():
    """The recipe's own commands: what RUN and ENTRYPOINT say."""
    text = (HERE / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return re.search(r"^RUN (.*)$", text, re.M)[1], json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1])


def shell(command, folder, environment):
    return subprocess.run(["bash", "-e", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=500)


def judged(command, folder, environment, files):
    """The mistakes are found, and in the files that are handed on; what is mended passes."""
    wrong = shell(command, folder, environment)
    assert wrong.returncode == 1 and "2 failed, 1 passed" in wrong.stdout, wrong.stdout
    assert "[cuMemCreate-released]" in wrong.stdout and "[cuMemUnmap-mapped]" in wrong.stdout, wrong.stdout
    for file in files:
        value = json.loads(pathlib.Path(folder, file).read_text(encoding="utf-8"))
        found = value["findings"] if "findings" in value else value["runs"][0]["results"]
        assert len(found) >= 2, (file, found)
    right = shell(command, folder, {**environment, "ARENA_MENDED": "1"})
    assert right.returncode == 0 and "3 passed" in right.stdout, right.stdout


def main(arguments):
    if any(importlib.util.find_spec(name) is None for name in ("yaml", "pytest", "xdist")):
        print("skipped: this Python has no YAML, pytest or xdist")
        return 77
    commands, variables, taken = workflow()
    with tempfile.TemporaryDirectory(prefix="cuvmm-ci-test-") as scratch:
        environment = {**os.environ, **variables, "PYTHONDONTWRITEBYTECODE": "1"}
        for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "ARENA_MENDED"):
            environment.pop(name, None)
        if arguments[:1] == ["--wheel"]:
            environment["CUVMM_WHEEL"] = os.path.abspath(arguments[1])
            subprocess.run([sys.executable, "-m", "venv", f"{scratch}/venv"], check=True)
            environment["PATH"] = f"{scratch}/venv/bin{os.pathsep}{environment['PATH']}"
            done = shell(commands["Install"], scratch, environment)
            assert done.returncode == 0, done.stdout
            # The container's installation is the same, and makes a user.
            assert recipe()[0].split("&&")[0].split('"${CUVMM_WHEEL}"')[1].split() == commands["Install"].split('"$CUVMM_WHEEL"')[1].split()
        else:
            # In place of an installation: this build's command and the package of this tree.
            os.mkdir(f"{scratch}/bin")
            python = pathlib.Path(scratch, "bin/python")
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
            python.chmod(0o755)
            cuvmm = os.path.abspath(arguments[0] if arguments else SOURCE / "build/dev/bin/cuvmm")
            environment.update(PATH=f"{scratch}/bin{os.pathsep}{environment['PATH']}", CUVMM_COMMAND=cuvmm,
                               PYTHONPATH=str(SOURCE / "python"), PYTEST_PLUGINS="cuvmm.pytest_plugin")
        for kind in ("workflow", "recipe"):
            project = pathlib.Path(shutil.copytree(PROJECT, f"{scratch}/{kind}", ignore=shutil.ignore_patterns("__pycache__")))
            if kind == "workflow":
                judged(commands["Test"], project, environment, taken)
            else:  # what the container starts, with its folder for results
                words = [word.replace("/out/", f"{project}/") for word in recipe()[1]]
                judged(" ".join(words), project, environment, ("cuvmm.sarif", "cuvmm.json"))
            print(f"the {kind}: two mistakes found and handed on, none once they are mended")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
