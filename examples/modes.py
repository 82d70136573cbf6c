# SPDX-License-Identifier: Apache-2.0
"""Runs one program in every mode in which work is followed, and compares the kinds of its findings.

For a given sequence of calls the kind of a finding is the same in each mode that has the finding: whether the work is over
by then is a matter of time. Exit code 0 when that is so, 1 when not, 77 when the program cannot run here.
"""

import argparse
import pathlib
import sys

import expectation
import under_shim

# The user's choices: when the emulator does the work, how cuvmm queries it, and which findings
# there are.
MODES = {
    "eager": {"CUVMM_STREAMS": "eager"},
    "eager, unordered": {"CUVMM_STREAMS": "eager", "CUVMM_UNORDERED": "1"},
    "eager, exact": {"CUVMM_STREAMS": "eager", "CUVMM_ASYNC": "exact", "CUVMM_UNORDERED": "1"},
    "late": {"CUVMM_STREAMS": "late"},
    "late, exact": {"CUVMM_STREAMS": "late:3", "CUVMM_ASYNC": "exact", "CUVMM_UNORDERED": "1"},
    "off": {"CUVMM_STREAMS": "late", "CUVMM_ASYNC": "off"},
}
ALWAYS = {"CUVMM_EXAMPLE_MULTICAST": "1", "CUVMM_EXAMPLE_MANAGED": "1", "CUVMM_MULTICAST_TIMEOUT_MS": "200"}


def mistake(finding: dict) -> tuple[str, str]:
    """The key that all findings of one mistake share: the rule without its ending about time, and the call's place."""
    rule = finding["rule"].removesuffix("-idle").removesuffix("-ordered")
    stack = finding.get("stack") or [{}]
    return rule, f"{stack[0].get('file', '')}:{stack[0].get('line', 0)} {stack[0].get('function', '')}"


def kinds(findings: list[dict]) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for finding in findings:
        found.setdefault(mistake(finding), set()).add(finding["kind"])
    return found


def differences(by_mode: dict[str, dict[tuple[str, str], set[str]]]) -> list[str]:
    """One sentence for each mistake whose kind depends on the mode. Not to be seen in a mode is no difference."""
    faults = []
    for key in sorted({key for found in by_mode.values() for key in found}):
        kinds_of = {mode: found[key] for mode, found in by_mode.items() if key in found}
        if len({frozenset(each) for each in kinds_of.values()}) > 1:
            faults.append(f"{' at '.join(key)}: " + ", ".join(f"{mode}: {'/'.join(sorted(k))}" for mode, k in kinds_of.items()))
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path, help="an example's first source file, or a program text")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build tree")
    options = parser.parse_args()
    build = under_shim.Build(options.build)
    enforce = False
    if options.program.suffix == ".cuvmm":
        argv = [str(build.command), "replay", str(options.program)]
    else:
        enforce = expectation.read(options.program).enforce
        source = options.program
        argv = [str(build.program(source.parent.name if source.stem == "main" else source.stem))]
    by_mode, calls = {}, 0
    for mode, environment in MODES.items():
        run = build.run(argv, emulate=True, enforce=enforce, environment=ALWAYS | environment)
        if run.code == 77:
            return 77
        if run.report is None:
            print(run.output, f"{mode}: there is no report")
            return 1
        calls += sum(run.calls.values())
        by_mode[mode] = kinds(run.findings)
    if calls == 0:
        print("no call was intercepted")
        return 1
    faults = differences(by_mode)
    print("\n".join(faults) or f"one kind in each mode, of {len(set().union(*by_mode.values()))} mistakes")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
