# SPDX-License-Identifier: Apache-2.0
"""The results of the runs: one line of JSON each, and from these lines the result, as JSON and as tables for people."""

from __future__ import annotations

import collections
import json
import pathlib

import judgements
import plan

KEPT_FRAMES = 16  # of a finding's stack
WITH_STACKS = 40  # findings of a run; further ones have FEW_FRAMES, as a lent machine gives back small files alone
FEW_FRAMES = 4
KEPT_OUTPUT = 4000  # characters, from the end, of a run that went wrong
QUIET_KINDS = ("answer",)
LONGEST_NAME = 160  # characters of a function's name, which may be a page of templates
SHOWN_NAME = 80  # of them, in a table
NOT_RUN = ("skipped", "not started")

# Relations between the outputs of a case's runs.
EQUAL, UNSTABLE, DIFFERENT, UNKNOWN = "equal", "differs between two bare runs", "DIFFERENT", "not compared"
UNREPEATED = "differs, and there is one bare run"


def record(case: plan.Case, mode: str, run, state: str, reason: str) -> dict:
    """One run as a line of the log. `run` is an under_shim.Run, or None where nothing was started."""
    line = {"program": case.program.name, "allocator": case.allocator, "mode": mode, "state": state, "reason": reason}
    if run is None:
        return line
    report = run.report or {}
    line |= {"seconds": round(run.seconds, 2), "digest": digest_in(run.output), "work": report.get("work", {}),
             "calls": sum(report.get("calls", {}).values()), "refusals": len(report.get("refusals", [])),
             "notes": report.get("notes", []), "findings": [shortened(finding, KEPT_FRAMES if number < WITH_STACKS else FEW_FRAMES)
                          for number, finding in enumerate(report.get("findings", []))]}
    if state not in ("passed", "skipped"):
        line["output"] = run.output[-KEPT_OUTPUT:]
    return line


def shortened(finding: dict, frames: int = KEPT_FRAMES) -> dict:
    """A finding as the log holds it: all but what its rule's page says, and the stack in short."""
    short = {key: value for key, value in finding.items() if key not in ("url", "fix", "objects")}
    return short | {"stack": [frame | {"function": frame.get("function", "")[:LONGEST_NAME]}
                              for frame in finding.get("stack", [])[:frames]],
                    "objects": [{key: value for key, value in one.items() if "stack" not in key}
                                for one in finding.get("objects", [])]}


def digest_in(output: str) -> str:
    """The digests that the program printed; for several processes, all of them."""
    return " ".join(sorted(line.partition("=")[2] for line in output.splitlines() if line.startswith("digest=")))


def needs_verdict(finding: dict) -> bool:
    """Whether a user would see the finding: not answers, nor advice after which the program got its result another way."""
    quiet = finding["kind"] == "advice" and finding.get("handled", 0) >= finding.get("count", 1)
    return finding["kind"] not in QUIET_KINDS and not quiet


def counts(run: dict) -> dict[str, int]:
    """The numbers of a run's `work`; those of an object in it as `object.member`."""
    flat: dict[str, int] = {}
    for key, value in run.get("work", {}).items():
        flat |= {f"{key}.{inner}": number for inner, number in value.items()} if isinstance(value, dict) else {key: value}
    return flat


def frame_text(frame: dict) -> str:
    """function file:line, or function object+offset where no line is known."""
    function = frame.get("function") or "?"
    if len(function) > SHOWN_NAME:
        function = function[:SHOWN_NAME] + "..."
    if "file" in frame:
        return f"{function} {frame['file']}:{frame['line']}"
    return f"{function} {pathlib.PurePath(frame.get('module', '?')).name}+{frame.get('offset', 0):#x}"


def place(finding: dict) -> str:
    """The frame that the report blames, else the innermost one."""
    blamed = finding.get("blamed", {}).get("frame")
    stack = finding.get("stack", [])
    return frame_text(blamed) if blamed else frame_text(stack[0]) if stack else "-"


def read(paths: list[pathlib.Path]) -> list[dict]:
    """The lines of all logs. A killed run may have left half a line at the end, which is left out."""
    lines = []
    for path in paths:
        for text in path.read_text().splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                continue
    return lines


def comparison(runs: list[dict]) -> dict[str, str]:
    """Compares the outputs of each mode of a case with those of the bare run."""
    bare = [run["digest"] for run in runs if run["mode"] == "bare" and run["state"] == "passed"]
    compared = {}
    for run in runs:
        if run["mode"] == "bare":
            continue
        if not bare or run["state"] != "passed":
            compared[run["mode"]] = UNKNOWN
        elif run["digest"] in bare:
            compared[run["mode"]] = EQUAL
        else:
            compared[run["mode"]] = UNSTABLE if len(set(bare)) > 1 else DIFFERENT if len(bare) > 1 else UNREPEATED
    return compared


class Result:
    """All runs together, with a person's judgements of their findings."""

    def __init__(self, head: dict, runs: list[dict], judged: judgements.Judgements):
        ran = {(run["program"], run["allocator"], run["mode"]) for run in runs if run["state"] not in NOT_RUN}
        # Another machine may have run what one machine could not.
        runs = [run for run in runs if run["state"] not in NOT_RUN or (run["program"], run["allocator"], run["mode"]) not in ran]
        self.head, self.runs = head, runs
        self.cases: dict[tuple[str, str], list[dict]] = collections.defaultdict(list)
        for run in runs:
            self.cases[run["program"], run["allocator"]].append(run)
            for finding in run.get("findings", []):
                finding["verdict"], finding["verdict_reason"] = judged.of(run, finding)
        self.unused = judged.unused()

    def open_findings(self) -> list[tuple[dict, dict]]:
        """Runs and findings without a judgement, or that a person called false."""
        bad = (judgements.UNJUDGED, "false")
        return [(run, finding) for run in self.runs for finding in run.get("findings", [])
                if finding["verdict"] in bad and needs_verdict(finding)]

    def broken(self) -> list[str]:
        """The mistakes of cuvmm, and the findings without a judgement: the gate is that there are none."""
        problems = [f"{finding['verdict']} finding: {finding['rule']} in {_name(run)} at {place(finding)}"
                    for run, finding in self.open_findings()]
        for key, runs in self.cases.items():
            bare = any(run["mode"] == "bare" and run["state"] == "passed" for run in runs)
            problems += [f"{' '.join(key)}: {mode}: outputs are {what}" for mode, what in comparison(runs).items() if what == DIFFERENT]
            problems += [f"{_name(run)}: {run['state']} ({run['reason']}), and passed bare" for run in runs
                         if bare and run["mode"] != "bare" and run["state"] in ("failed", "skipped", "timed out")]
        return problems

    def missing(self) -> list[str]:
        """Runs without a result: they ran out of time, or fail without cuvmm as well."""
        missing = [f"{_name(run)}: {run['state']} ({run['reason']})" for run in self.runs
                   if run["state"] in ("out of time", "not started")
                   or (run["mode"] == "bare" and run["state"] in ("failed", "timed out"))]
        return missing + [f"{' '.join(key)}: {mode}: outputs: {what}" for key, runs in self.cases.items()
                          for mode, what in comparison(runs).items() if what == UNREPEATED]

    def exit_code(self) -> int:
        """1: the gate is broken. 3: it holds, but not all was run. 0: all was."""
        return 1 if self.broken() else 3 if self.missing() else 0

    def as_json(self) -> dict:
        return {**self.head, "summary": self.summary(), "broken": self.broken(), "missing": self.missing(),
                "unused_judgements": self.unused,
                "cases": [{"program": key[0], "allocator": key[1], "outputs": comparison(runs), "runs": runs}
                          for key, runs in self.cases.items()]}

    def summary(self) -> dict:
        states = collections.Counter(run["state"] for run in self.runs)
        verdicts = collections.Counter(finding["verdict"] for run in self.runs for finding in run.get("findings", [])
                                       if needs_verdict(finding))
        return {"runs": dict(states), "findings": dict(verdicts), "work": dict(self.work())}

    def work(self, mode: str | None = None) -> collections.Counter:
        """The counts of `work`, summed over runs."""
        total: collections.Counter = collections.Counter()
        for run in self.runs:
            if mode in (None, run["mode"]):
                total.update(counts(run))
        return total


def _name(run: dict) -> str:
    return f"{run['program']} {run['allocator']} {run['mode']}"


def write(folder: pathlib.Path, stem: str, result: Result) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    value = result.as_json()
    cases = ",\n".join(json.dumps(case) for case in value.pop("cases"))  # a line each: short, and fit for diff
    (folder / f"{stem}.json").write_text(json.dumps(value, indent=1)[:-2] + f',\n "cases": [\n{cases}\n]}}\n')
    path = folder / f"{stem}.md"
    path.write_text(markdown(result))
    return path


def markdown(result: Result) -> str:
    head, summary = result.head, result.summary()
    devices, driver = head["driver"]["devices"], head["driver"]["version"]
    lines = [f"# The bank: {len(devices)} x {devices[0] if devices else 'no device'}, driver {driver}", "",
             f"{head['date']}: " + ", ".join(f"{count} {state}" for state, count in summary["runs"].items()) + ".", "",
             ", ".join(f"{name} {version}" for name, version in head.get("software", {}).items()) + ".", "",
             "Findings by verdict: " + (", ".join(f"{count} {name}" for name, count in summary["findings"].items()) or "none") + ".", ""]
    lines += _listed("What breaks the gate", result.broken()) + _listed("What was not shown", result.missing())
    lines += _listed("Judgements of nothing that came", result.unused)
    lines += _findings(result) + _work(result) + _cases(result)
    return "\n".join(lines) + "\n"


def _listed(title: str, entries: list[str]) -> list[str]:
    return [f"## {title}", "", *(f"- {entry}" for entry in entries), ""] if entries else []


def _cell(text: str) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def _findings(result: Result) -> list[str]:
    groups: dict[tuple, dict] = {}
    for run in result.runs:
        for finding in run.get("findings", []):
            key = (finding["rule"], finding["kind"], finding["call"], place(finding), finding["verdict"])
            group = groups.setdefault(key, {"runs": [], "count": 0, "finding": finding})
            group["runs"].append(run)
            group["count"] += finding.get("count", 1)
    if not groups:
        return []
    lines = ["## Findings", "", "| rule | kind | call | place | count | in | verdict | reason |", "| --- | --- | --- | --- | --: | --- | --- | --- |"]
    for (rule, kind, call, where, verdict), group in groups.items():
        among = sorted({f"{run['program']} {run['allocator']} {run['mode']}" for run in group["runs"]})
        named = ", ".join(among[:4]) + (f" and {len(among) - 4} more" if len(among) > 4 else "")
        reason = group["finding"]["verdict_reason"] or group["finding"].get("message", "")
        verdict_shown = verdict if needs_verdict(group["finding"]) or verdict != judgements.UNJUDGED else "quiet"
        lines.append("| " + " | ".join(map(_cell, (rule, kind, call, where, group["count"], named, verdict_shown, reason))) + " |")
    return [*lines, ""]


def _work(result: Result) -> list[str]:
    """The launches of each case in its most exact mode, and of all together, by what the shim did with them."""
    rows = []
    for (program, allocator), runs in result.cases.items():
        by_mode = {run["mode"]: counts(run) for run in runs}
        rows.append((f"{program} {allocator}", by_mode.get("exact") or by_mode.get("observed") or {}))
    rows += [(f"all, {mode}", result.work(mode)) for mode in plan.MODES[1:]]
    keys = list(dict.fromkeys(key for _, work in rows for key in work))
    if not keys:
        return []
    lines = ["## Work that was followed", "", "| of | " + " | ".join(keys) + " |", "| --- |" + " --: |" * len(keys)]
    lines += [f"| {name} | " + " | ".join(str(work.get(key, 0)) for key in keys) + " |" for name, work in rows if work]
    return [*lines, ""]


def _cases(result: Result) -> list[str]:
    lines = ["## Programs", "", "Seconds are those of the whole process, while others ran on the same GPU: they are for planning.", "",
             "| program | allocator | outputs: observed, exact | s bare | s observed | s exact | state |",
             "| --- | --- | --- | --: | --: | --: | --- |"]
    for (program, allocator), runs in result.cases.items():
        by_mode = {run["mode"]: run for run in reversed(runs)}
        compared = comparison(runs)
        seconds = [str(by_mode.get(mode, {}).get("seconds", "")) for mode in plan.MODES]
        states = {f"{mode}: {run['state']}" + (f" ({run['reason']})" if run["reason"] else "")
                  for mode, run in by_mode.items() if run["state"] != "passed"}
        if all(run["state"] == "skipped" and run["reason"] == runs[0]["reason"] for run in runs):
            states = {f"skipped ({runs[0]['reason']})"}
        outputs = ", ".join(compared.get(mode, "-") for mode in plan.MODES[1:])
        cells = (program, allocator, outputs, *seconds, "; ".join(sorted(states)) or "passed")
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return lines
