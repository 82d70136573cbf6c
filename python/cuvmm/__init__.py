# SPDX-License-Identifier: Apache-2.0
"""What a Python program can tell cuvmm, and ask it, while it runs under `cuvmm run`.

The twin of include/cuvmm/cuvmm.h. Without the shim in the process everything here does nothing:
`active()` is False, and there are no findings. docs/testing/README.md shows how to use it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from typing import Optional

from cuvmm import _shim
from cuvmm._shim import CuvmmError
from cuvmm._findings import Finding, Frame, Object, findings_from_json

__all__ = [
    "Attempt", "CuvmmError", "ExpectationError", "FailedCall", "Failures", "FailureError", "Finding", "Frame", "Info",
    "Object", "active", "count", "expect", "fail", "fail_each", "findings", "fork_point", "info", "leaks", "mark",
    "name_handle", "name_range", "reset", "scope",
]


class ExpectationError(AssertionError):
    """What a program expected did not happen."""


@dataclasses.dataclass(frozen=True)
class Info:
    """The driver that this process uses, and where it is in its scopes."""

    driver: str
    emulated: bool
    scope: str
    last_call: int


def active() -> bool:
    """Whether the shim is in this process."""
    return _shim.table() is not None


def info() -> Optional[Info]:
    """What the shim knows of this process; None without it. Opens the driver."""
    if _shim.table() is None:
        return None
    known = _shim.json_text("info")
    return Info(known["driver"], known["emulated"], known["scope"], known["last_call"])


def name_range(address: int, size: int, name: str) -> None:
    """Findings and leaks name what lies in [address, address + size) so; "" takes the names there away."""
    _shim.call("name_range", address, size, name)


def name_handle(handle: int, name: str) -> None:
    """The same for memory of cuMemCreate, by its handle."""
    _shim.call("name_handle", handle, name)


@contextlib.contextmanager
def scope(name: str, *, keeps: bool = False, quiet: bool = False) -> Iterator[None]:
    """Findings and objects that come in it carry this name.

    keeps: what is made in it may outlive a mark, and leaks() leaves it out. quiet: its findings are
    not printed on stderr.
    """
    flags = (_shim.SCOPE_KEEPS if keeps else 0) | (_shim.SCOPE_QUIET if quiet else 0)
    token = _shim.call("scope_open", name, flags)
    try:
        yield
    finally:
        if token:
            _shim.call("scope_close", token)


@contextlib.contextmanager
def expect(rule: str, count: Optional[int] = None) -> Iterator[None]:
    """In it, `count` occurrences of this rule are expected, and are no findings; None: one or more.

    Raises ExpectationError at its end if they did not come. In the rule's id, * stands for any letters.
    """
    if count is not None and count < 1:
        raise ValueError(f"count is {count}: expected at least 1, or None for any number")
    token = _shim.call("expect", rule, count or 0)
    try:
        yield
    except BaseException:
        if token:
            _shim.call("expect_end", token)
        raise
    missing = _shim.call("expect_end", token) if token else 0
    if missing:
        raise ExpectationError(f"cuvmm: expected {count or 'any'} of {rule}; {missing if count else 'none'} "
                               f"{'did not come' if count else 'came'}")


def mark() -> int:
    """This moment, for count(), findings() and leaks(). 0 is the beginning, or the last reset()."""
    return _shim.call("mark")


def count(rule: Optional[str] = None, *, since: int = 0) -> int:
    """How many findings came, repeats included: of one rule, or all errors, undefined behaviour and leaks."""
    return _shim.call("count", since, rule)


def findings(since: int = 0) -> list[Finding]:
    """The findings since a mark: errors, undefined behaviour, leaks and advice."""
    if _shim.table() is None:
        return []
    return [one for one in findings_from_json(_shim.json_text("findings", since)) if one.kind != "answer"]


def leaks(since: int = 0, *, alive: bool = False, kept: bool = False) -> list[Finding]:
    """Looks for leaks among what was made since the mark, and returns all leaks found since then.

    alive: also what is still in use: memory of any kind, reserved addresses. kept: also what was made in scopes that
    keep.
    """
    _shim.call("leaks", since, (_shim.LEAKS_ALIVE if alive else 0) | (_shim.LEAKS_KEPT if kept else 0))
    return [one for one in findings(since) if one.kind == "leak"]


def reset() -> None:
    """Closes all scopes, ends all expectations, takes all names away; mark 0 is now."""
    _shim.call("reset")


def fork_point(*, threads: bool = False) -> bool:
    """Here `cuvmm fail --each --fork-server` may fork the program: once started, each run goes on from here.

    Call it in the main thread, behind the imports that take long and before any use of CUDA. True in such
    a run, else False. What os.register_at_fork() knows is not called, so random numbers go on as they
    were. threads: do so although native libraries have threads, which no run will have. Threads of
    Python forbid it all the same.
    """
    flags = _shim.FORK_THREADS if threads and threading.active_count() == 1 else 0
    return _shim.call("fork_point", flags) == 1


# It uses the functions above.
from cuvmm._failures import Attempt, FailedCall, Failures, FailureError, fail, fail_each  # noqa: E402
