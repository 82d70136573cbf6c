# SPDX-License-Identifier: Apache-2.0
"""The findings of child processes, by test.

Each process leaves its report in the folder of the run (docs/report.md). The report names the scope in
which the process was started (CUVMM_SCOPE) or forked.
"""

from __future__ import annotations

import json
import os
from typing import Any, Optional

from cuvmm._findings import Finding, finding_from_json


def last_document(text: str) -> Optional[dict[str, Any]]:
    """The last complete JSON object of a file that has one or more."""
    decoder, at, last = json.JSONDecoder(), 0, None
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return last
        if isinstance(value, dict):
            last = value


def belongs(scope: Optional[str], label: str) -> bool:
    return scope == label or (scope or "").startswith(label + " > ")


class ChildReports:
    """The findings of other processes of this run. take() returns each finding once."""

    def __init__(self, folder: Optional[str]):
        self.folder = folder
        self._known: dict[str, tuple[int, int]] = {}
        self._waiting: list[Finding] = []
        self._read: dict[str, int] = {}  # file -> number of its findings that were read

    def take(self, label: str) -> list[Finding]:
        """The new findings of this scope."""
        self._look()
        found = [one for one in self._waiting if belongs(one.scope, label)]
        self._waiting = [one for one in self._waiting if not belongs(one.scope, label)]
        return found

    def _look(self) -> None:
        if not self.folder:
            return
        try:
            entries = list(os.scandir(self.folder))
        except OSError:
            return
        for entry in entries:
            if entry.name.startswith(f"{os.getpid()}-") or not entry.name.endswith(".json"):
                continue
            try:
                status = entry.stat()
                state = (status.st_mtime_ns, status.st_size)
                if self._known.get(entry.name) == state:
                    continue
                with open(entry.path, encoding="utf-8", errors="replace") as file:
                    report = last_document(file.read())
            except OSError:
                continue
            self._known[entry.name] = state
            self._take_new(entry.name, (report or {}).get("findings", []))

    def _take_new(self, name: str, findings: list[dict[str, Any]]) -> None:
        """Adds the findings that were not read before: the list of a process only grows."""
        for value in findings[self._read.get(name, 0):]:
            finding = finding_from_json(value)
            if finding.counts and finding.scope:
                self._waiting.append(finding)
        self._read[name] = max(len(findings), self._read.get(name, 0))
