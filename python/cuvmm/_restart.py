# SPDX-License-Identifier: Apache-2.0
"""Starts pytest anew under `cuvmm run`, because the shim must be loaded before all other libraries."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Optional

STARTED = "CUVMM_PYTEST"  # set in the new pytest; its value is the environment of the first one
# The variables that `cuvmm run` changes, beside CUVMM_*.
CHANGED = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "ASAN_OPTIONS")


def find_command() -> Optional[str]:
    """The path of the cuvmm command: $CUVMM_COMMAND, else that of this Python's environment, else the first in PATH."""
    chosen = os.environ.get("CUVMM_COMMAND")
    if chosen:
        return chosen
    beside = os.path.join(os.path.dirname(sys.executable), "cuvmm")
    return beside if os.access(beside, os.X_OK) else shutil.which("cuvmm")


def run_options(mode: str, devices: Optional[int], report: Optional[str]) -> list[str]:
    """Options of `cuvmm run` for --cuvmm=MODE."""
    # A session without CUDA must succeed, also if cuvmm.toml has an error-exitcode.
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
    """The command line of this process; None if its program is not pytest."""
    if list(arguments) != sys.argv[1:]:
        return None  # some program called pytest.main() with arguments of its own
    original = getattr(sys, "orig_argv", None)  # Python 3.10
    if original:
        return [sys.executable, *original[1:]]
    if os.path.basename(sys.argv[0]) == "__main__.py":
        return [sys.executable, "-m", "pytest", *arguments]
    return [sys.executable, sys.argv[0], *arguments]


def environment_for(before: Mapping[str, str]) -> dict[str, str]:
    """The environment of the new pytest. STARTED holds the old values, for later child processes."""
    saved = {name: before[name] for name in before if name in CHANGED or name.startswith("CUVMM_")}
    return {**before, STARTED: json.dumps(saved)}


def environment_before() -> dict[str, str]:
    """This environment with the values from before `cuvmm run`, as far as STARTED has them."""
    inherited = {name: value for name, value in os.environ.items() if name != STARTED}
    if STARTED not in os.environ:
        return inherited
    inherited = {name: value for name, value in inherited.items() if name not in CHANGED and not name.startswith("CUVMM_")}
    return {**inherited, **json.loads(os.environ[STARTED])}
