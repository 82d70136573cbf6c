# SPDX-License-Identifier: Apache-2.0
"""Collects the findings of each test."""

from __future__ import annotations

import contextlib
import fnmatch
import gc
import os
from collections.abc import Iterator, Sequence

import cuvmm
from cuvmm import _shim
from cuvmm._children import ChildReports
from cuvmm._findings import Finding

SCOPE = "CUVMM_SCOPE"  # tells processes that the test starts its scope
LEAK_CHOICES = ("given-up", "all", "no")


def text_of(test: str, found: Sequence[Finding]) -> str:
    total = sum(one.count for one in found)
    head = f"cuvmm: {total} finding{'' if total == 1 else 's'} in {test}"
    parts = [head]
    for one in found:
        times = f"{one.count} times: " if one.count > 1 else ""
        process = "" if one.pid in (0, os.getpid()) else f"in process {one.pid}: "
        parts.append(process + times + one.text.rstrip("\n"))
    return "\n\n".join(parts)


_END = "the end of the session"


class Watch:
    """Watches the tests of one process, which run one after the other."""

    def __init__(self) -> None:
        self.outer = os.environ.get(SCOPE, "")
        self.children = ChildReports(os.environ.get("CUVMM_REPORT_DIR"))
        self.labels: list[str] = []  # scopes of the tests that ran

    @contextlib.contextmanager
    def test(self, name: str, allow: Sequence[str], leaks: str) -> Iterator[list[Finding]]:
        """A block that runs a test. After the block, the list has the test's findings."""
        found: list[Finding] = []
        label = f"{self.outer} > {name}" if self.outer else name
        self.labels.append(label)
        allowed = [_shim.call("expect", rule, 0) for rule in allow]
        before = os.environ.get(SCOPE)
        os.environ[SCOPE] = label
        try:
            with cuvmm.scope(name, quiet=True):
                mark = cuvmm.mark()
                yield found
                self._look_for_leaks(mark, leaks)
                found += [one for one in cuvmm.findings(mark) if one.counts]
        finally:
            if before is None:
                del os.environ[SCOPE]
            else:
                os.environ[SCOPE] = before
            for token in allowed:
                _shim.call("expect_end", token)
        found += [one for one in self.children.take(label)
                  if not any(fnmatch.fnmatchcase(one.rule, rule) for rule in allow)]

    @staticmethod
    def _look_for_leaks(mark: int, leaks: str) -> None:
        if leaks == "no":  # expects its leaks, so that the end of the session finds none of them either
            token = _shim.call("expect", "*", 0)
            _shim.call("leaks", mark, 0)
            _shim.call("expect_end", token)
            return
        flags = _shim.LEAKS_ALIVE if leaks == "all" else 0
        if _shim.call("leaks", mark, flags | _shim.LEAKS_PEEK):
            gc.collect()  # unreachable Python objects may still release their memory
            _shim.call("leaks", mark, flags)

    def outside(self) -> list[Finding]:
        """The findings of no test: those of this process outside of tests, and those of children that ended late."""
        # Now leaks of fixtures count, too, because no test needs them any more.
        label = f"{self.outer} > {_END}" if self.outer else _END
        with cuvmm.scope(_END, quiet=True):  # quiet, because the session's summary prints them
            cuvmm.leaks(0, kept=True)
        mine = [one for one in cuvmm.findings(0) if one.counts and (one.scope or "") in (self.outer, label)]
        late = [one for label in self.labels for one in self.children.take(label)]
        return mine + late
