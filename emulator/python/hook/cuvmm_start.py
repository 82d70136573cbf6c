# SPDX-License-Identifier: Apache-2.0
"""Functions that the start-up modules share: changes of modules after their import, and the question which libcuda is used."""

from __future__ import annotations

import importlib.machinery
import os
import sys

EMULATOR = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def on_the_emulator() -> bool:
    """Whether the process's libcuda is the emulator, or a shim that forwards to it."""
    import ctypes  # not above, because most programs never get here

    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    if hasattr(driver, "cuvmmEmulatorVersion"):
        return True
    chosen = os.environ.get("CUVMM_DRIVER", "")  # the libcuda that a shim forwards to
    return hasattr(driver, "cuvmmShimVersion") and os.path.dirname(os.path.realpath(chosen)) == EMULATOR


class _Loader:
    def __init__(self, loader, change):
        self._loader = loader
        self._change = change

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._change(module)

    def __getattr__(self, name):  # importlib.resources and other modules read further attributes of a loader
        return getattr(self._loader, name)


class _Finder:
    def __init__(self, changes):
        self.changes = changes

    def find_spec(self, name, path=None, target=None):
        change = self.changes.get(name)
        if change is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, change)
        return spec


def after_import(changes: dict) -> None:
    """Calls changes[name](module) when a module of that name has been imported from now on."""
    if not any(isinstance(finder, _Finder) and finder.changes.keys() == changes.keys() for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(changes))
