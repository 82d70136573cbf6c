# SPDX-License-Identifier: Apache-2.0
"""Calls that fail on purpose, for a part of a program (docs/testing/fail.md)."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
from collections.abc import Iterator
from types import TracebackType
from typing import Optional

import cuvmm
from cuvmm import _shim


class FailureError(AssertionError):
    """Raised if a block does not cope with a failed call. The text names its leaks and broken rules."""


@dataclasses.dataclass(frozen=True)
class FailedCall:
    """A call that cuvmm made fail: its function, its number among the block's calls (from 1), and its answer."""

    call: str
    number: int
    result: str


class Failures:
    """The calls of a block. The members can be read in the block and after it."""

    def __init__(self, token: int) -> None:
        self._token = token
        self._last: tuple[int, list[FailedCall]] = (0, [])

    def _look(self) -> tuple[int, list[FailedCall]]:
        if self._token:
            report = _shim.json_text("fail_report", self._token)
            self._last = report["calls"], [FailedCall(**one) for one in report["failed"]]
        return self._last

    @property
    def calls(self) -> int:
        """The number of calls so far that can fail, without those that end an object."""
        return self._look()[0]

    @property
    def failed(self) -> list[FailedCall]:
        """The calls that cuvmm made fail; at most the first 100."""
        return self._look()[1]

    def _end(self) -> None:
        self._look()
        if self._token:
            _shim.call("fail_end", self._token)
        self._token = 0


@contextlib.contextmanager
def fail(spec: str = "") -> Iterator[Failures]:
    """A block in which calls of the driver fail as `spec` says: "cuMemCreate@3", "each@2=OUT_OF_MEMORY"; "": none.

    Numbers in the specification count the calls of the block. The specification holds for all threads of
    the process. Raises CuvmmError if it has a mistake.
    """
    failures = Failures(_shim.call("fail", spec))
    try:
        yield failures
    finally:
        failures._end()


class Attempt:
    """One run of a block under fail_each(). In number 0, the plain run, no call fails; in number N, call N fails.

    The block may end by an exception if a call failed. `error` then has the exception as text.
    """

    def __init__(self, number: int, spec: str) -> None:
        self.number = number
        self.error: Optional[str] = None
        self.problems: list[str] = []
        self.left = 0
        self.failures = Failures(0)
        self._spec = spec
        self._mark = 0
        self._entered = False

    def __enter__(self) -> Attempt:
        self._entered = True
        self._mark = cuvmm.mark()
        self.failures = Failures(_shim.call("fail", self._spec))
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> bool:
        self.failures._end()
        handled = bool(self.failures.failed) and isinstance(error, Exception)
        if handled:
            self.error = f"{type(error).__name__}: {error}"
        return handled

    @property
    def failed(self) -> list[FailedCall]:
        """The calls that cuvmm made fail in this run."""
        return self.failures.failed

    def _judge(self, plain_left: int) -> None:
        # Frees objects that only the exception of the block referred to, because they are no leaks.
        gc.collect()
        self.problems += [f"leak: {one.text or one.message}" for one in cuvmm.leaks(self._mark)]
        self.problems += [f"{one.kind}: {one.text or one.message}" for one in cuvmm.findings(self._mark)
                          if one.kind in ("error", "undefined")]
        self.left = _shim.call("leaks", self._mark, _shim.LEAKS_ALIVE | _shim.LEAKS_PEEK)
        if self.number and not plain_left and self.left and not self.problems:
            self.problems += [f"left behind: {one.text or one.message}"
                              for one in cuvmm.leaks(self._mark, alive=True)]

    def _text(self) -> str:
        what = ", ".join(f"{one.call} (call {one.number}) answered {one.result}" for one in self.failed)
        return f"when {what}:\n" + "\n".join(self.problems)


def fail_each(calls: str = "each", *, persistent: bool = True, limit: int = 1000) -> Iterator[Attempt]:
    """Runs a block repeatedly. Each call of it that can fail fails in two runs: once, and then with all later calls.

        for attempt in cuvmm.fail_each():
            with attempt:
                grow(cache)

    The first attempt is the plain run, which may not raise. `calls` is the name of a function, or a
    pattern such as "cuMem*". persistent=False: only the runs in which one call fails. limit: the most
    calls that are tried. Raises FailureError after the last attempt if in one of them the block broke
    a rule, leaked, or left objects behind although the plain run leaves none. Without the shim, only
    the plain attempt runs.
    """
    plain = Attempt(0, f"{calls}@{2 ** 62}")
    yield plain
    if not plain._entered:
        raise RuntimeError("fail_each() yields attempts, and each wants a `with attempt:`")
    if not cuvmm.active():
        return
    plain._judge(0)
    if plain.problems:
        raise FailureError("cuvmm: without any failure:\n" + "\n".join(plain.problems))
    bad = []
    for number in range(1, min(plain.failures.calls, limit) + 1):
        for count in ([f"@{number}", f"@{number}+"] if persistent else [f"@{number}"]):
            attempt = Attempt(number, calls + count)
            yield attempt
            attempt._judge(plain.left)
            if attempt.problems:
                bad.append(attempt._text())
        if not attempt.failed:
            break  # the block made no call with this number
    if bad:
        raise FailureError("cuvmm: " + "\n\n".join(bad))
