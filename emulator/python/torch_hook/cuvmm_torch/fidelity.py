# SPDX-License-Identifier: Apache-2.0
"""Counts how PyTorch's operators were computed, names the exceptions once, and prints one line at exit. Needs no PyTorch."""

from __future__ import annotations

import atexit
import collections
import os
import sys
import threading
import time

EXACT = "exact"  # the CPU's operator did the work
APPROXIMATE = "approximate"  # the CPU has no such operator: another formula, another type, or other random numbers
SKIPPED = "skipped"  # nothing was computed

_LONGEST_LIST = 12


class Fidelity:
    """The operators of this process, by how they were computed."""

    def __init__(self, write=None):
        self._write = write or _to_stderr
        self._counts = {kind: collections.Counter() for kind in (EXACT, APPROXIMATE, SKIPPED)}
        self._notes: set[str] = set()
        self._threads: set[int] = set()  # those that called operators

    def count(self, kind: str, name: str) -> None:
        """One call of the operator `name`, such as "aten::add.Tensor"."""
        self._counts[kind][name] += 1
        self._threads.add(threading.get_ident())

    def note(self, text: str) -> None:
        """Prints a sentence, once in this process."""
        if text not in self._notes:
            self._notes.add(text)
            self._write(text)

    def skip(self, name: str, why: str) -> None:
        """An operator that nobody can compute. Says so at its first call."""
        self.count(SKIPPED, name)
        self.note(f"{name} is not computed: {why}. Its results are whatever lies in memory")

    def names(self, kind: str) -> list[str]:
        return sorted(self._counts[kind])

    def line(self) -> str:
        """The summary; "" if no operator was called."""
        exact, rough, skipped = (self._counts[kind] for kind in (EXACT, APPROXIMATE, SKIPPED))
        if not (exact or rough or skipped):
            return ""
        calls = sum(exact.values())
        text = f"{len(exact)} operators ({calls} calls) computed by the CPU, {len(rough)} approximately"
        if rough:
            text += f" ({_listed(rough)})"
        text += f", {len(skipped)} skipped"
        if skipped:
            text += f": {_listed(skipped)}"
        return text

    def at_exit(self) -> None:
        """The last words of a process."""
        self.print_line()
        if self._threads - {threading.get_ident()}:
            # A thread of autograd may still free what its last operator used, for which it needs Python's lock. Python
            # ends a thread that asks for the lock too late, and C++ then ends the process (std::terminate).
            time.sleep(0.02)

    def print_line(self) -> None:
        if text := self.line():
            self._write(text)


def _listed(counter: collections.Counter) -> str:
    names = [name.removeprefix("aten::") for name in sorted(counter)]
    rest = len(names) - _LONGEST_LIST
    return ", ".join(names[:_LONGEST_LIST]) + (f" and {rest} more" if rest > 0 else "")


def _to_stderr(text: str) -> None:
    if os.environ.get("CUVMM_QUIET", "") in ("", "0"):
        try:
            sys.stderr.write(f"cuvmm: PyTorch: {text}\n")
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the program closed its stderr


of_this_process = Fidelity()
atexit.register(of_this_process.at_exit)
os.register_at_fork(after_in_child=lambda: [counts.clear() for counts in of_this_process._counts.values()])
