# SPDX-License-Identifier: Apache-2.0
"""The outcome of a step, and the output of a run: one JSON file and a table for people."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re

import steps
import under_shim

_WORK = re.compile(r"^work_seconds=([0-9.]+)$", re.MULTILINE)
KEPT_OUTPUT = 6000  # characters, from the end, of a step that went wrong
KEPT_FRAMES = 12  # of a finding's stack


@dataclasses.dataclass
class Outcome:
    """`state`: passed, failed, skipped, or out of time. `judgement` fields are for a person to fill."""

    name: str
    state: str
    reasons: list[str] = dataclasses.field(default_factory=list)
    checked_calls: int = 0
    calls: dict[str, int] = dataclasses.field(default_factory=dict)
    unchecked: list = dataclasses.field(default_factory=list)
    expected: list[str] | None = None
    findings: list[dict] = dataclasses.field(default_factory=list)
    refusals: list[dict] = dataclasses.field(default_factory=list)
    alive: dict = dataclasses.field(default_factory=dict)
    work: dict = dataclasses.field(default_factory=dict)  # launches that were seen, and what of them
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    output: str = ""


def judge(step: steps.Step, run: under_shim.Run) -> Outcome:
    """Compares a run of a step with the step's expectations."""
    if run.code == 77:
        lines = run.output.strip().splitlines() or ["it said no reason"]
        return Outcome(step.name, "skipped", [next((line for line in lines if line.startswith("skipped")), lines[-1])])
    reasons = [] if run.code == 0 else [run.end()]
    outcome = Outcome(step.name, "passed", reasons, output=run.output[-KEPT_OUTPUT:])
    outcome.seconds = times(run, "with shim" if step.shim else "without shim")
    if step.shim and run.report is None:
        reasons.append("there is no report")
    elif step.shim:
        outcome.calls = run.calls
        outcome.checked_calls = sum(run.calls.get(name, 0) for name in steps.CHECKED_CALLS)
        outcome.unchecked = run.report.get("unchecked", [])
        outcome.alive = run.report.get("alive", {})
        outcome.work = run.report.get("work", {})
        outcome.findings = [_kept(finding, step) for finding in run.findings]
        outcome.refusals = [_short(refusal) for refusal in run.report.get("refusals", [])]
        refused = sorted({_refused(refusal) for refusal in outcome.refusals})
        if step.refuses is not None and refused != sorted(step.refuses):
            reasons.append(f"refused: {', '.join(refused) or 'nothing'}; expected {', '.join(step.refuses)}")
        if outcome.checked_calls == 0:
            reasons.append("no checked call was intercepted")
        if step.expects is not None:
            outcome.expected = list(step.expects)
            reasons += steps.expectation.Expectation(step.expects).difference(run.findings)
    if reasons:
        outcome.state = "failed"
    else:
        outcome.output = ""
    return outcome


def _refused(refusal: dict) -> str:
    return f"{refusal['call']} {refusal['result']}"


def _short(refusal: dict) -> dict:
    """A refusal in the form of a result, with a short stack."""
    return refusal | {"stack": [_frame(frame) for frame in refusal.get("stack", [])[:KEPT_FRAMES]]}


def _kept(finding: dict, step: steps.Step) -> dict:
    """A finding in the form of a result, with a short stack and the known judgement."""
    judgement = step.known.get(finding["rule"], "")
    if finding["rule"] in (step.expects or ()):
        judgement = "true: the bug that the example is about"
    short = {key: value for key, value in finding.items() if key not in ("stack", "objects", "url", "fix")}
    return short | {"stack": [_frame(frame) for frame in finding.get("stack", [])[:KEPT_FRAMES]],
                    "judgement": judgement}


def _frame(frame: dict) -> str:
    """function file:line, or function module+offset where no line is known."""
    if "file" in frame:
        return f"{frame['function']} {frame['file']}:{frame['line']}"
    return f"{frame.get('function', '?')} {frame.get('module', '?')}+{frame.get('offset', 0):#x}"


def times(run: under_shim.Run, label: str) -> dict[str, float]:
    """Seconds of the whole run, and of the workload's own work where it says them (slowest rank)."""
    seconds = {label: round(run.seconds, 3)}
    work = [float(value) for value in _WORK.findall(run.output)]
    return seconds | ({f"{label}, work": max(work)} if work else {})


def summary(outcomes: list[Outcome]) -> dict[str, int]:
    states = [outcome.state for outcome in outcomes]
    return {state: states.count(state) for state in ("passed", "failed", "skipped", "out of time")}


def stem(date: str, driver: dict) -> str:
    """The name of a result: 2026-11-21-h200-580.159.04 (x2 for two devices)."""
    names = driver["devices"]
    gpu = re.sub(r"[^a-z0-9]+", "-", (names[0] if names else "no-device").lower().replace("nvidia", ""))
    count = f"-x{len(names)}" if len(names) > 1 else ""
    return f"{date}-{gpu.strip('-')}{count}-{driver['version']}"


def write(folder: pathlib.Path, head: dict, outcomes: list[Outcome]) -> pathlib.Path:
    """Writes both files; returns the path of the Markdown one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / stem(head["date"][:10], head["driver"])
    result = head | {"summary": summary(outcomes), "steps": [dataclasses.asdict(o) for o in outcomes]}
    path.with_name(path.name + ".json").write_text(json.dumps(result, indent=1) + "\n")
    page = path.with_name(path.name + ".md")
    page.write_text(markdown(head, outcomes))
    return page


def _seconds(outcome: Outcome, label: str) -> str:
    value = outcome.seconds.get(f"{label}, work", outcome.seconds.get(label))
    return "" if value is None else f"{value:.2f}"


def _launches(outcome: Outcome) -> str:
    work = outcome.work
    return f"{work['launches']}, {work['tracked']}, {work['hidden']}" if work else ""


def markdown(head: dict, outcomes: list[Outcome]) -> str:
    """The page of a run. A person may have added a `note` to its result."""
    driver, software = head["driver"], head["software"]
    counts = ", ".join(f"{count} {state}" for state, count in summary(outcomes).items() if count)
    lines = [
        f"# {', '.join(sorted(set(driver['devices']))) or 'no device'}, driver {driver['version']}", "",
        f"{head['date']}, {len(driver['devices'])} device(s), CUDA API {driver['api']}: {counts}.", "",
        *([head["note"], ""] if "note" in head else []),
        ", ".join(f"{name} {version}" for name, version in software.items()) + ".", "",
        "Seconds are those of the workload's own work where it measures it, else of the whole process; one run",
        "each, so small differences mean nothing.", "",
        "Launches: seen, with arguments in memory that cuvmm follows, with a hidden layout.", "",
        "| step | state | checked calls | launches | findings | s with shim | s without |",
        "| --- | --- | --: | --- | --- | --: | --: |",
    ]
    for o in outcomes:
        found = ", ".join(f"{f['rule']} ×{f.get('count', 1)}" for f in o.findings) or "none"
        state = o.state + (f": {'; '.join(o.reasons)}" if o.reasons else "")
        lines.append(f"| {o.name} | {state.replace('|', '/')} | {o.checked_calls or ''} | {_launches(o)} | {found if o.calls else ''} "
                     f"| {_seconds(o, 'with shim')} | {_seconds(o, 'without shim')} |")
    lines += ["", "## Findings and judgements", ""]
    for o in outcomes:
        lines += [f"- {o.name}: {f['rule']} ({f['kind']}, {f.get('count', 1)}): {f['message']} — judgement: "
                  f"{f['judgement'] or '(to be filled)'}" for f in o.findings]
    lines += ["", "## Refusals", ""]
    for o in outcomes:
        lines += [f"- {o.name}: {_refused(refusal)}, {refusal['count']} times, handled {refusal.get('handled', 0)} times"
                  for refusal in o.refusals]
    return "\n".join(lines) + "\n"
