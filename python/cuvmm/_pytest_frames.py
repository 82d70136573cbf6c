# SPDX-License-Identifier: Apache-2.0
"""Removes from the text of stacks the frames of pytest outside of the test, and those of the import system."""

from __future__ import annotations

import re

_FRAME = re.compile(r"( *)#\d+ ")
_PYTESTS = re.compile(r" *#\d+ .* at (?:<frozen runpy>|.*/(?:_pytest|pytest|pluggy|xdist|execnet)/[\w/]+\.py"
                      r"|.*/cuvmm/pytest_plugin\.py):\d+ \(Python\)$")
_IMPORTS = re.compile(r" *#\d+ .* at (?:<frozen importlib\._bootstrap(?:_external)?>|.*/importlib/__init__\.py):\d+ \(Python\)$")
_MORE = re.compile(r" *(\d+) more frames?$")


def without_pytest(text: str) -> str:
    """The text with pytest's outermost frames, and frames of imports, replaced by their number.

    A stack that has only such frames stays.
    """
    lines: list[str] = []
    stack: list[str] = []

    def end_of_stack(beyond: int) -> None:
        own = len(stack)
        while own and (_PYTESTS.match(stack[own - 1]) or _IMPORTS.match(stack[own - 1])):
            own -= 1
        shown = [frame for frame in stack[:own] if not _IMPORTS.match(frame)] or stack[:]
        hidden = len(stack) - len(shown) + beyond
        lines.extend(shown)
        if hidden:
            indent = _FRAME.match(stack[0])[1]  # type: ignore[index]
            lines.append(f"{indent}{hidden} more frame{'' if hidden == 1 else 's'}")
        stack.clear()

    for line in text.split("\n"):
        if _FRAME.match(line):
            stack.append(line)
            continue
        more = _MORE.match(line)
        if stack:
            end_of_stack(int(more[1]) if more else 0)
            if more:
                continue
        lines.append(line)
    if stack:
        end_of_stack(0)
    return "\n".join(lines)
