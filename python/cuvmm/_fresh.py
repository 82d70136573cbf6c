# SPDX-License-Identifier: Apache-2.0
"""Runs a test in a pytest process of its own, if its marker names other devices or another driver than the session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, Optional

import pytest

from cuvmm import _restart

_WITH_VALUE = {"-k", "-m", "-n", "--numprocesses", "--maxfail", "--junitxml", "--junit-xml", "--dist", "--tx", "-p",
               "-c", "--rootdir", "--basetemp", "--cuvmm-devices", "--cuvmm-report", "--cuvmm-leaks"}
_PREFIXES = ("-n", "-k", "-m", "--numprocesses", "--maxfail", "--junit", "--dist", "--tx", "--cuvmm", "--basetemp",
             "--rootdir", "--co", "--collect-only", "--lf", "--last-failed", "--ff", "--failed-first", "--sw",
             "--stepwise", "--deselect", "--ignore", "-x", "--exitfirst", "--pdb", "--cov", "-v", "-q")


def own_options(arguments: Sequence[str], positional: Sequence[str]) -> list[str]:
    """The options of a command line that also make sense for a single test."""
    remaining, skip, keep = [], False, False
    for argument in arguments:
        if skip or keep:
            if keep:
                remaining.append(argument)
            skip = keep = False
        elif argument in ("-p", "-c"):
            remaining.append(argument)
            keep = True
        elif argument in _WITH_VALUE:
            skip = True
        elif argument.startswith("-") and not argument.startswith(_PREFIXES):
            remaining.append(argument)
    return remaining


def _failed(item: pytest.Item, text: str) -> pytest.TestReport:
    return pytest.TestReport(nodeid=item.nodeid, location=item.location, keywords={}, outcome="failed", longrepr=text,
                             when="call", sections=[], duration=0.0)


def run(item: pytest.Item, mode: str, devices: Optional[int], leaks: str) -> list[pytest.TestReport]:
    """Runs the test alone in a child process. Returns its reports."""
    config = item.config
    path = item.nodeid.split("::")[0]
    target = os.path.join(str(config.rootpath), path) + item.nodeid[len(path):]
    arguments = getattr(config, "workerinput", {}).get("mainargv", [""])[1:] or config.invocation_params.args
    with tempfile.TemporaryDirectory(prefix="cuvmm-pytest-") as folder:
        relay = os.path.join(folder, "reports")
        command = [sys.executable, "-m", "pytest", *own_options([str(a) for a in arguments], config.args),
                   "-p", "no:cacheprovider", f"--rootdir={config.rootpath}",
                   f"--cuvmm={mode}", f"--cuvmm-leaks={leaks}", f"--cuvmm-relay={relay}", target]
        if config.pluginmanager.hasplugin("cuvmm.pytest_plugin"):  # without that, pytest finds the installed plugin
            command += ["-p", "cuvmm.pytest_plugin"]
        if devices is not None:
            command.append(f"--cuvmm-devices={devices}")
        if config.inipath is not None and "-c" not in command:
            command += ["-c", str(config.inipath)]
        child = subprocess.run(command, env=_restart.environment_before(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               cwd=str(config.invocation_params.dir), check=False)
        try:
            with open(relay, encoding="utf-8") as file:
                values: list[dict[str, Any]] = [json.loads(line) for line in file]
        except OSError:
            values = []
    reports = [config.hook.pytest_report_from_serializable(config=config, data=value) for value in values]
    if not any(report.when in ("call", "setup") for report in reports):
        message = f"cuvmm: the process for this test ended with {child.returncode} and without a result:\n{child.stdout}"
        return [_failed(item, message)]
    return reports
