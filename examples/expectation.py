# SPDX-License-Identifier: Apache-2.0
"""Reads an example's first comment: the findings that the example must yield, and its conditions to run.

    // expects: RULE          a finding of this rule, once per line and nothing beside them
    // expects: nothing       no finding at all, but for answers and tries that a fall-back followed
    // needs: enforce         runs only with --enforce: the driver crashes on it otherwise
    // needs: N devices       runs only where the driver has so many
    // needs: late streams    on the emulator: work that was queued is done late, as on a GPU
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

_LINE = re.compile(r"^// (expects|needs): (.+?)\s*$")
_DEVICES = re.compile(r"^(\d+) devices$")


class ExpectationError(ValueError):
    """A comment that cannot be understood; the text names file and line."""


@dataclasses.dataclass(frozen=True)
class Expectation:
    """The rules an example must break, sorted and each once, and its needs."""

    rules: tuple[str, ...]
    enforce: bool = False
    devices: int = 1
    late: bool = False

    def difference(self, findings: list[dict]) -> list[str]:
        """One sentence per rule that is missing from a report's findings or is there unexpectedly.

        Answers to questions, and tries after which the program got what it wanted, are nobody's mistakes.
        """
        found = {finding["rule"] for finding in findings
                 if finding.get("kind") != "answer" and finding.get("handled", 0) < finding.get("count", 1)}
        missing = [f"missing: {rule}" for rule in self.rules if rule not in found]
        return missing + [f"unexpected: {rule}" for rule in sorted(found - set(self.rules))]


def read(source: pathlib.Path) -> Expectation:
    """The expectation of one source file. Raises ExpectationError where there is none or a bad one."""
    rules: list[str] = []
    enforce, devices, late, expects_nothing = False, 1, False, False
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if not (match := _LINE.match(line)):
            continue
        kind, value = match.groups()
        if kind == "expects" and value == "nothing":
            expects_nothing = True
        elif kind == "expects":
            rules.append(value)
        elif value == "enforce":
            enforce = True
        elif value == "late streams":
            late = True
        elif count := _DEVICES.match(value):
            devices = int(count[1])
        else:
            raise ExpectationError(f"{source}:{number}: expected `enforce`, `late streams` or `N devices`, got `{value}`")
    if expects_nothing == bool(rules):
        raise ExpectationError(f"{source}: expected either `// expects: nothing` or rules")
    if len(set(rules)) != len(rules):
        raise ExpectationError(f"{source}: a rule is named twice")
    return Expectation(tuple(sorted(rules)), enforce, devices, late)
