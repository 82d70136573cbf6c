# SPDX-License-Identifier: Apache-2.0
"""Starts pytest anew under `cuvmm run`: the shim has to be loaded before everything else."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Optional

STARTED = "CUVMM_PYTEST"  # set in the pytest that was started so; its value is the environment before
# What `cuvmm run` changes beside CUVMM_*.
CHANGED = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "ASAN_OPTIONS")


def find_command() -> Optional[str]:
    """The cuvmm command: $CUVMM_COMMAND, that of this Python's environment, or the first in PATH."""
    chosen = os.environ.get("CUVMM_COMMAND")
    if chosen:
        return chosen
    beside = os.path.join(os.path.dirname(sys.executable), "cuvmm")
    return beside if os.access(beside, os.X_OK) else shutil.which("cuvmm")


def run_options(mode: str, devices: Optional[int], report: Optional[str]) -> list[str]:
    """Options of `cuvmm run` for --cuvmm=MODE."""
    # Tests without CUDA are no mistake: an error-exitcode in cuvmm.toml is for findings.
    options = ["--allow-unchecked"]
    if mode == "emulate":
        options += ["--emulate", "--python"]
    elif mode not in ("auto", "real"):
        options += [f"--emulate={mode}", "--python"]
    if devices is not None:
        options += ["--devices", str(devices)]
    if report is not None:
        options += ["--report", report]
    return options


def own_program(arguments: Sequence[str]) -> Optional[list[str]]:
    """The command line of this process; None where pytest was not what was started."""
    if list(arguments) != sys.argv[1:]:
        return None  # some program called pytest.main() with arguments of its own
    original = getattr(sys, "orig_argv", None)  # Python 3.10
    if original:
        return [sys.executable, *original[1:]]
    if os.path.basename(sys.argv[0]) == "__main__.py":
        return [sys.executable, "-m", "pytest", *arguments]
    return [sys.executable, sys.argv[0], *arguments]


def environment_for(before: Mapping[str, str]) -> dict[str, str]:
    """The environment of the new pytest, which knows what was there before."""
    saved = {name: before[name] for name in before if name in CHANGED or name.startswith("CUVMM_")}
    return {**before, STARTED: json.dumps(saved)}


def environment_before() -> dict[str, str]:
    """This environment as it was before `cuvmm run`, as far as it is known."""
    kept = {name: value for name, value in os.environ.items() if name != STARTED}
    if STARTED not in os.environ:
        return kept
    kept = {name: value for name, value in kept.items() if name not in CHANGED and not name.startswith("CUVMM_")}
    return {**kept, **json.loads(os.environ[STARTED])}
