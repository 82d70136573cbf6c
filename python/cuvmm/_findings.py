# SPDX-License-Identifier: Apache-2.0
"""Findings as Python objects; docs/report.md explains the members."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Optional


@dataclasses.dataclass(frozen=True)
class Frame:
    """One line of a stack."""

    function: str
    module: str
    offset: int
    file: Optional[str] = None
    line: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Object:
    """An object of a finding, with the call and the stack that made it."""

    what: str
    value: str
    size: Optional[int]
    name: Optional[str]
    scope: Optional[str]
    made_by_call: int
    stack: tuple[Frame, ...]


@dataclasses.dataclass(frozen=True)
class Finding:
    """One mistake of the program."""

    rule: str
    kind: str  # "error", "undefined", "leak" or "advice"
    call: str
    message: str
    result: str
    documented: tuple[str, ...]
    count: int
    scope: Optional[str]
    pid: int
    stack: tuple[Frame, ...]
    objects: tuple[Object, ...]
    fix: str
    url: str
    text: str  # the whole text, as stderr shows it
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False, hash=False)

    @property
    def counts(self) -> bool:
        """Whether the finding is an error, undefined behaviour or a leak."""
        return self.kind in ("error", "undefined", "leak")


def _frames(values: Iterable[Mapping[str, Any]]) -> tuple[Frame, ...]:
    return tuple(Frame(f["function"], f["module"], f["offset"], f.get("file"), f.get("line")) for f in values)


def _object(value: Mapping[str, Any]) -> Object:
    return Object(value["what"], value.get("value", ""), value.get("size"), value.get("name"), value.get("scope"),
                  value["made_by_call"], _frames(value["stack"]))


def _short(value: Mapping[str, Any]) -> str:
    """Makes the text of a finding, because reports have none."""
    lines = [f"cuvmm: {value['kind']}: {value['call']}: {value['message']} [{value['rule']}]"]
    for number, frame in enumerate(value.get("stack", [])):
        place = f" at {frame['file']}:{frame['line']}" if "file" in frame else ""
        lines.append(f"      #{number} {frame['function'] or frame['module']}{place}")
    lines += [f"    fix: {value.get('fix', '')}", f"    more: cuvmm explain {value['rule']}"]
    return "\n".join(lines) + "\n"


def finding_from_json(value: Mapping[str, Any]) -> Finding:
    """Makes a Finding of the JSON of the API or of a report."""
    return Finding(
        rule=value["rule"], kind=value["kind"], call=value["call"], message=value["message"],
        result=value.get("result", ""), documented=tuple(value.get("documented", ())), count=value["count"],
        scope=value.get("scope"), pid=value.get("pid", 0), stack=_frames(value.get("stack", ())),
        objects=tuple(_object(one) for one in value.get("objects", ())), fix=value.get("fix", ""),
        url=value.get("url", ""), text=value.get("text") or _short(value), raw=value)


def findings_from_json(values: Iterable[Mapping[str, Any]]) -> list[Finding]:
    return [finding_from_json(value) for value in values]
