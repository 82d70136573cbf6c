# SPDX-License-Identifier: Apache-2.0
"""The shim's table of functions (include/cuvmm/cuvmm.h), which ctypes looks up in this process."""

from __future__ import annotations

import ctypes
import functools
import json
from typing import Any, Optional

SCOPE_KEEPS, SCOPE_QUIET = 1, 2
LEAKS_ALIVE, LEAKS_PEEK, LEAKS_KEPT = 1, 2, 4
FORK_THREADS = 1
VERSION = 1

_ERRORS = {
    -1: "an argument is empty, negative or out of range",
    -2: "no rule has this id; `cuvmm rules` lists them",
    -3: "this mark or token is not known, or was closed already",
    -4: "there is no memory left, or the shim is off in this process",
}

_long, _ulong, _text, _unsigned = ctypes.c_long, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_uint
_size, _pointer = ctypes.c_size_t, ctypes.c_void_p
# The members of struct cuvmm_api behind its version and its size, in their order.
_MEMBERS = (
    ("name_range", (_pointer, _size, _text)),
    ("name_handle", (_ulong, _text)),
    ("scope_open", (_text, _unsigned)),
    ("scope_close", (_long,)),
    ("expect", (_text, _long)),
    ("expect_end", (_long,)),
    ("mark", ()),
    ("count", (_long, _text)),
    ("findings", (_long, _pointer, _size)),
    ("leaks", (_long, _unsigned)),
    ("reset", ()),
    ("info", (_pointer, _size)),
    ("fail", (_text,)),
    ("fail_end", (_long,)),
    ("fail_report", (_long, _pointer, _size)),
    ("fork_point", (_unsigned,)),
)


class CuvmmError(ValueError):
    """Raised if the shim refuses a request, such as an unknown rule."""


class _Table(ctypes.Structure):
    _fields_ = [("version", _unsigned), ("size", _unsigned)] + [
        (name, ctypes.CFUNCTYPE(_long, *arguments)) for name, arguments in _MEMBERS]


@functools.lru_cache(maxsize=None)
def table() -> Optional[_Table]:
    """The table of the shim in this process, or None."""
    try:
        find = ctypes.CDLL(None).cuvmmGetApi
    except (AttributeError, OSError):
        return None
    find.restype, find.argtypes = ctypes.POINTER(_Table), [_unsigned]
    found = find(VERSION)
    return found.contents if found else None


def call(name: str, *arguments: Any) -> int:
    """Calls the function and returns its result; 0 without the shim, or if an older shim lacks the function.

    Raises CuvmmError if the result is negative.
    """
    known = table()
    if known is None or getattr(_Table, name).offset + getattr(_Table, name).size > known.size:
        return 0
    result = getattr(known, name)(*(a.encode("utf-8", "replace") if isinstance(a, str) else a for a in arguments))
    if result < 0:
        shown = ", ".join(repr(a) for a in arguments)
        raise CuvmmError(f"cuvmm: {name}({shown}): {_ERRORS.get(result, f'error {result}')}")
    return int(result)


def json_text(name: str, *arguments: Any) -> Any:
    """The value of a function that writes JSON into a buffer."""
    size = 1 << 16
    while True:  # the text may grow between two calls
        buffer = ctypes.create_string_buffer(size)
        length = call(name, *arguments, ctypes.cast(buffer, ctypes.c_void_p), size)
        if length < size:
            return json.loads(buffer.raw[:length].decode("utf-8", "replace"))
        size = length + 1
