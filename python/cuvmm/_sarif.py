# SPDX-License-Identifier: Apache-2.0
"""Findings as SARIF 2.1.0, which code hosts show beside the source."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Optional

from cuvmm._findings import Finding, Frame

_LEVELS = {"error": "error", "undefined": "error", "leak": "error", "advice": "note"}


def cannot_write(path: str) -> str:
    """The reason why the file cannot be written; "" if it can. Checked before a long run of tests."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f"there is no folder {folder}"
    target = path if os.path.exists(path) else folder
    return "" if os.access(target, os.W_OK) else f"this user cannot write to {target}"


def _location(frame: Frame, root: str) -> dict[str, Any]:
    absolute = os.path.join(root, frame.file or "")
    path = os.path.relpath(absolute, root)
    inside = not path.startswith("..")
    place: dict[str, Any] = {"uri": path if inside else f"file://{absolute}"}
    if inside:
        place["uriBaseId"] = "SRCROOT"
    return {"artifactLocation": place, "region": {"startLine": max(frame.line or 1, 1)}}


def _result(finding: Finding, test: str, where: Optional[tuple[str, int]], root: str) -> dict[str, Any]:
    # Leaves out files that are not on this machine, such as the sources of the Python interpreter.
    frames = [frame for frame in finding.stack if frame.file and os.path.exists(os.path.join(root, frame.file))]
    # The innermost line in a file below `root`; without one, the line of the test.
    own = [f for f in frames if not os.path.relpath(os.path.join(root, f.file or ""), root).startswith("..")]
    chosen = own[:1] or ([Frame("", "", 0, os.path.join(root, where[0]), where[1])] if where else frames[:1])
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": test or finding.call, "kind": "function"}]}
    if chosen:
        location["physicalLocation"] = _location(chosen[0], root)
    return {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.kind],
        "message": {"text": finding.message},
        "locations": [location],
        "occurrenceCount": finding.count,
        "properties": {"test": test, "text": finding.text},
    }


def document(found: Iterable[tuple[str, Optional[tuple[str, int]], Finding]], root: str) -> dict[str, Any]:
    """The SARIF document. found: (test, its file and line, finding)."""
    found = list(found)
    rules = {finding.rule: finding for _, _, finding in found}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "cuvmm",
                "rules": [{"id": rule, "help": {"text": f"{rules[rule].fix} More: cuvmm explain {rule}"}}
                          for rule in sorted(rules)],
            }},
            "originalUriBaseIds": {"SRCROOT": {"uri": f"file://{os.path.abspath(root)}/"}},
            "results": [_result(finding, test, where, root) for test, where, finding in found],
        }],
    }
