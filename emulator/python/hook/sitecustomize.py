# SPDX-License-Identifier: Apache-2.0
"""Loaded by Python at its start from PYTHONPATH, as `cuvmm run --emulate` sets it: for PyTorch, and with --python.

The folder has cuvmm_runtime.py or the package cuvmm_torch, which explain themselves. The next sitecustomize
module on Python's path, such as one of the environment itself, runs as well, after this one.
"""

import importlib.machinery
import importlib.util
import os
import sys

_OWN = os.path.dirname(os.path.abspath(__file__))


def _run_the_next_one() -> None:
    ran = sys.__dict__.setdefault("_cuvmm_ran", [])  # the folders whose sitecustomize ran, because a path may name one twice
    ran.append(_OWN)
    folders = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) not in ran]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    if os.path.exists(os.path.join(_OWN, "cuvmm_runtime.py")):
        import cuvmm_runtime

        cuvmm_runtime.install()
    if os.path.isdir(os.path.join(_OWN, "cuvmm_torch")) and sys.version_info >= (3, 9):
        import cuvmm_torch

        cuvmm_torch.install()
finally:
    _run_the_next_one()
