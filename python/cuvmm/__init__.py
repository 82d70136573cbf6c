# SPDX-License-Identifier: Apache-2.0
"""Functions by which a Python program talks to cuvmm while it runs under `cuvmm run`.

They are the functions of include/cuvmm/cuvmm.h. Without the shim in the process, all of them do
nothing: `active()` is False, and there are no findings. docs/testing/README.md shows how to use them.
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
    """Raised if the findings that a program expected did not come."""


@dataclasses.dataclass(frozen=True)
class Info:
    """The driver that this process uses, the thread's open scopes, and the number of the last call."""

    driver: str
    emulated: bool
    scope: str
    last_call: int


def active() -> bool:
    """Whether the shim is in this process."""
    return _shim.table() is not None


def info() -> Optional[Info]:
    """The driver and the open scopes of this process; None without the shim. Opens the driver."""
    if _shim.table() is None:
        return None
    known = _shim.json_text("info")
    return Info(known["driver"], known["emulated"], known["scope"], known["last_call"])


def name_range(address: int, size: int, name: str) -> None:
    """Gives the memory in [address, address + size) a name, which findings and leaks show. size: bytes.

    "" removes the names there.
    """
    _shim.call("name_range", address, size, name)


def name_handle(handle: int, name: str) -> None:
    """Gives the memory behind a handle of cuMemCreate a name; "" removes it."""
    _shim.call("name_handle", handle, name)


@contextlib.contextmanager
def scope(name: str, *, keeps: bool = False, quiet: bool = False) -> Iterator[None]:
    """A block whose findings and objects carry this name.

    keeps: objects made in the block may outlive a mark, so leaks() leaves them out. quiet: findings
    of the block are not printed on stderr.
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
    """A block in which `count` occurrences of this rule are expected, and are no findings; None: one or more.

    Raises ExpectationError at the end of the block if they did not come, and ValueError if count < 1.
    In the rule's id, * stands for any characters.
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
    """A number for this moment, for count(), findings() and leaks(). 0: start of the process, or last reset()."""
    return _shim.call("mark")


def count(rule: Optional[str] = None, *, since: int = 0) -> int:
    """The number of findings of `rule` since a mark, with repeats; None: of errors, undefined behaviour and leaks."""
    return _shim.call("count", since, rule)


def findings(since: int = 0) -> list[Finding]:
    """The findings since a mark: errors, undefined behaviour, leaks and advice."""
    if _shim.table() is None:
        return []
    return [one for one in findings_from_json(_shim.json_text("findings", since)) if one.kind != "answer"]


def leaks(since: int = 0, *, alive: bool = False, kept: bool = False) -> list[Finding]:
    """Looks for leaks among the objects made since the mark, and returns all leaks found since then.

    alive: objects still in use count as leaks, too: memory of any kind, reserved addresses. kept: so do objects made
    in scopes with `keeps`.
    """
    _shim.call("leaks", since, (_shim.LEAKS_ALIVE if alive else 0) | (_shim.LEAKS_KEPT if kept else 0))
    return [one for one in findings(since) if one.kind == "leak"]


def reset() -> None:
    """Closes all scopes, ends all expectations, removes all names. From now on, mark 0 means this moment."""
    _shim.call("reset")


def fork_point(*, threads: bool = False) -> bool:
    """The place at which `cuvmm fail --each --fork-server` forks the program, which it starts only once.

    Each run goes on from here. Call it in the main thread, behind slow imports and before any use of
    CUDA. Returns True in such a run, else False. Handlers of os.register_at_fork() are not called, so
    all runs get the same random numbers. threads: fork even if native libraries have threads, which
    the runs then lack. Threads of Python always prevent the fork.
    """
    flags = _shim.FORK_THREADS if threads and threading.active_count() == 1 else 0
    return _shim.call("fork_point", flags) == 1


def load_ipython_extension(shell: object) -> None:
    """IPython calls this for `%load_ext cuvmm`: the findings of each cell appear below the cell."""
    from cuvmm import _notebook

    _notebook.load(shell)


def unload_ipython_extension(shell: object) -> None:
    """IPython calls this for `%unload_ext cuvmm`."""
    from cuvmm import _notebook

    _notebook.unload(shell)


# Imported last, because cuvmm._failures uses the functions above.
from cuvmm._failures import Attempt, FailedCall, Failures, FailureError, fail, fail_each  # noqa: E402
