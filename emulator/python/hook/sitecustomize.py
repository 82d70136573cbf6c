# SPDX-License-Identifier: Apache-2.0
"""Loaded by Python at its start from PYTHONPATH (`cuvmm run --emulate --python`): see cuvmm_runtime.py.

A sitecustomize module of the environment itself runs as well, after this one.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _run_the_next_one() -> None:
    own = os.path.dirname(os.path.abspath(__file__))
    path = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != own]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    import cuvmm_runtime

    cuvmm_runtime.install()
finally:
    _run_the_next_one()
