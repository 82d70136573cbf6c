#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the tutorial: writes its files, runs its commands, and compares their output with the output that it shows.

Usage: tutorial_test.py CUVMM SOURCE_FOLDER. By a Python that has pytest (exit code 77 where it has not).
"""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

CUVMM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PAGE = os.path.join(SOURCE, "docs", "howto", "first-finding.md")


def neutral(text):
    """The text without parts that differ from run to run."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    text = re.sub(r"in \d+\.\d+s", "in s", text)
    return re.sub(r"#\d+ ", "# ", text)


def steps(text):
    for block in re.finditer(r"Write this as `([\w.]+)`:\n\n```python\n((?:[^`].*\n|\n)*)```$|^    \$ (.*)$((?:\n    (?!\$ ).*)*)", text, re.M):
        name, content, command, shown = block.groups()
        yield (name, content) if name else (None, (command, [line[4:] for line in shown.split("\n")[1:]]))


def check(command, wanted, printed):
    """Whether the printed text has the shown lines in their order. `...` stands for any lines."""
    rest = neutral(printed).split("\n")
    for line in wanted:
        if line == "...":
            continue
        line = neutral(line)
        assert line in rest, f"$ {command}\n{printed}\nThe page shows here, in this order: {line}"
        rest = rest[rest.index(line) + 1:]


def main():
    if importlib.util.find_spec("pytest") is None:
        print("skipped: this Python has no pytest")
        return 77
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    found = False
    commands = 0
    with tempfile.TemporaryDirectory(prefix="cuvmm-tutorial-") as folder:
        environment = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(CUVMM), os.path.dirname(sys.executable), os.environ["PATH"]]),
                       "CUVMM_COMMAND": CUVMM, "PYTHONPATH": os.path.join(SOURCE, "python"), "PYTEST_PLUGINS": "cuvmm.pytest_plugin",
                       "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
        for name, value in steps(text):
            if name:
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(value)
                continue
            command, wanted = value
            commands += 1
            result = subprocess.run(["sh", "-c", command + " 2>&1"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, timeout=200)
            assert result.returncode == 0, f"$ {command}\nended with {result.returncode}\n{result.stdout}"
            check(command, wanted, result.stdout.replace(folder + "/", ""))
            found |= "[cuMemMap-inside-reservation]" in result.stdout
    assert found and commands >= 5, (found, commands)
    print(f"{commands} commands do what the page shows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
