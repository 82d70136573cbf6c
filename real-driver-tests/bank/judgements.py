# SPDX-License-Identifier: Apache-2.0
"""A person's judgements of findings: judged.toml.

    [[judgement]]
    rule = "cuMemFreeAsync-ordered"   # this and the next three: globs, "*" where left out
    program = "jax-*"
    allocator = "cuda_async"
    mode = "exact"
    frame = "*/site-packages/jax/*"   # of any frame of the stack: its function, its file, or its object
    verdict = "library"               # true: the bank's own program is wrong; library: a library is; false: cuvmm is
    reason = "issue 1234: it frees before it waits"

The first judgement that matches a finding counts.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import pathlib
import tomllib

VERDICTS = ("true", "library", "false")
UNJUDGED = "unjudged"


class JudgementError(ValueError):
    """A file with an error; the text names the error."""


@dataclasses.dataclass
class Judgement:
    rule: str
    verdict: str
    reason: str
    program: str = "*"
    allocator: str = "*"
    mode: str = "*"
    frame: str = "*"
    used: bool = dataclasses.field(default=False, compare=False)

    def matches(self, run: dict, finding: dict) -> bool:
        fixed = ((run["program"], self.program), (run["allocator"], self.allocator), (run["mode"], self.mode),
                 (finding["rule"], self.rule))
        return all(fnmatch.fnmatchcase(name, glob) for name, glob in fixed) and self._in_the_stack(finding)

    def _in_the_stack(self, finding: dict) -> bool:
        if self.frame == "*":
            return True
        names = (frame.get(key, "") for frame in finding.get("stack", []) for key in ("function", "file", "module"))
        return any(fnmatch.fnmatchcase(name, self.frame) for name in names if name)


class Judgements:
    def __init__(self, entries: list[Judgement]):
        self.entries = entries

    def of(self, run: dict, finding: dict) -> tuple[str, str]:
        """Verdict and reason; UNJUDGED and "" for a finding without a judgement."""
        for entry in self.entries:
            if entry.matches(run, finding):
                entry.used = True
                return entry.verdict, entry.reason
        return UNJUDGED, ""

    def unused(self) -> list[str]:
        return [f"{entry.rule} of {entry.program} ({entry.verdict})" for entry in self.entries if not entry.used]


def load(path: pathlib.Path) -> Judgements:
    with path.open("rb") as file:
        table = tomllib.load(file)
    known = {field.name for field in dataclasses.fields(Judgement)} - {"used"}
    entries = []
    for number, entry in enumerate(table.get("judgement", []), 1):
        where = f"{path}: judgement {number}"
        if wrong := set(entry) - known:
            raise JudgementError(f"{where}: unknown {', '.join(sorted(wrong))}")
        if not entry.get("rule") or not entry.get("reason"):
            raise JudgementError(f"{where}: needs a rule and a reason")
        if entry.get("verdict") not in VERDICTS:
            raise JudgementError(f"{where}: verdict is one of {', '.join(VERDICTS)}")
        entries.append(Judgement(**entry))
    return Judgements(entries)
