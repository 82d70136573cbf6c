# SPDX-License-Identifier: Apache-2.0
"""The tests of CI that judge a rule or an entry point (gates). Each runs only the part that concerns it."""
import collections
import glob
import os
import re
import subprocess
import sys

# what: a description. targets: the targets to build. command: the program and its arguments; {bin}, {lib} and {root}
# are folders. advice: printed if the gate fails.
Gate = collections.namedtuple("Gate", "what targets command advice")


def gtest(target, chosen, *needs):
    return (target, *needs), ["{bin}/" + target, "--gtest_brief=1", "--gtest_color=no", "--gtest_filter=" + chosen]


def cases_of(root, rule_id):
    """GoogleTest's names of the hand-written cases that break the rule."""
    found = []
    for path in sorted(glob.glob(os.path.join(root, "conformance", "cases", "*", "*.cuvmm"))):
        name = ""
        with open(path, encoding="utf-8") as file:
            for words in filter(None, (line.split() for line in file)):
                if words[0] == "case":
                    name = words[1]
                elif words[0] == "breaks" and rule_id in words[1:]:
                    found.append(re.sub(r"[^a-zA-Z0-9_]", "__", name.replace("+", "plus").replace("^", "to").replace("-", "_")))
    return found


def conform(function):
    """Targets and command for the families and cases named after the function. The command needs the shim, too."""
    return ("cuvmm", "cuvmm_emulator", "cuvmm_shim"), [
        "{bin}/cuvmm", "conform", "--emulate=documented", "--devices", "2", "--strict", "--filter", f"{function}*"]


def of_rule(rule_id, kind=None, root="."):
    """The stages of gates. The gates of a stage are built together, and a later stage runs only after the earlier ones pass."""
    word = rule_id.replace("-", "_")
    function = rule_id.partition("-")[0]
    quick = [
        Gate("the line of the table", *gtest("cuvmm_rule_test", f"*{word}"),
             "rulebook/catalogue/rules.def explains the fields"),
        Gate("the check builds; where it has a RuleCase, it fires on the broken call, and not on the near miss",
             *gtest("cuvmm_check_test", f"*/{word}_*:RuleCases.*"), "the check in rulebook/*/check_*.cc, or its pair in the test"),
    ]
    cases = [
        Gate("what recorded drivers do", *gtest("cuvmm_profile_test", "*"),
             "a recorded driver accepts the call: a CUVMM_FORBIDDEN line behind the rule says why it stays an error; "
             "without a reason it is Advice"),
    ]
    users = []
    if kind not in ("leak", "uncheckable"):
        cases += [
            Gate("a family or a case breaks it", *gtest("cuvmm_conform_test", "Suite.*"),
                 "a `break` in conformance/families/, or a case in conformance/cases/"),
            Gate("the cases notice an emulator that forgets it", ("cuvmm-mutate", "cuvmm_emulator"),
                 ["{bin}/cuvmm-mutate", "--emulator", "{lib}/emulator/libcuda.so.1", "--cases", "conformance/cases",
                  "--families", "conformance/families", "--rule", rule_id],
                 "the break has another rule's code as well: break this one alone. If none can: a reason in "
                 "conformance/mutation/mutation_survivors.txt"),
            Gate("the emulator answers as documented", *conform(function), "the check, or what the family says is legal"),
        ]
        by_hand = cases_of(root, rule_id)
        if by_hand:
            chosen = ":".join(f"*/{case}" for case in by_hand)
            users += [
                Gate("the emulator answers the cases as documented", *gtest(
                    "cuvmm_conformance_emulator_test", chosen, "cuvmm-record", "cuvmm_emulator"),
                    "the check, or a verdict in rulebook/profiles/"),
                Gate("the shim finds this rule and no other", *gtest(
                    "cuvmm_conformance_shim_test", chosen, "cuvmm-record", "cuvmm_emulator", "cuvmm_shim"),
                    "the case breaks another rule too, or the check fires on a legal call"),
            ]
        users += [
            Gate("the fuzzer's naive reference agrees", *gtest("cuvmm_fuzz_test", "*", "cuvmm_emulator"),
                 "the fuzzer makes calls that break this rule: say so in fuzz/reference/reference_*.cc, without a look at the check"),
        ]
    return [quick, cases, users]


def of_entry(function):
    return [[
        Gate("the tables, and what follows from them", *gtest("cuvmm_api_test", "*"), "api/entry_points.def"),
        Gate("the checks", *gtest("cuvmm_check_test", "*"), "rulebook/*/check_*.cc"),
        Gate("the families", *gtest("cuvmm_conform_test", "Suite.*"), "conformance/families/"),
    ], [
        Gate("the shim finds a misuse of it", *gtest("cuvmm_shim_test", "EveryEntry.*"),
             "no call of nothing but zeros, and none into an empty reservation, breaks a rule of it: is the check connected? "
             "If no call can be wrong, shim/intercept/every_entry_test.cc lists why"),
        Gate("the emulator exports it", *gtest("cuvmm_emulator_test", "ProcAddress*", "cuvmm_emulator"),
             "api/symbols/update_table.py writes the table of symbols"),
        Gate("the emulator answers as documented", *conform(function), "the perform() of the emulator, or the family's legal call"),
    ]]


def fill(root, preset, text):
    build = os.path.join(root, "build", preset)
    return text.format(bin=os.path.join(build, "bin"), lib=os.path.join(build, "lib"), root=root)


def failures(output):
    """The lines with error messages of a compiler, GoogleTest, unittest or cuvmm-mutate."""
    lines = output.splitlines()
    chosen = []
    for number, line in enumerate(lines):
        if re.search(r"\berror:|: Failure$|^AssertionError|SURVIVES|0 tests from 0 test suites|^(fail|deviation|crash|timeout) ", line):
            chosen += lines[number:number + (6 if line.endswith("Failure") else 2)]
    return chosen[:24] or lines[-12:]


def build(root, preset, gates):
    """Builds the targets of the gates. Returns the output if the build fails, else None."""
    targets = sorted({target for gate in gates for target in gate.targets})
    if not os.path.exists(os.path.join(root, "build", preset, "build.ninja")):
        subprocess.run([os.path.join(root, "dev"), "setup"], check=True)
        subprocess.run(["cmake", "--preset", preset, "-Wno-dev"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    print(f"== building {len(targets)} targets in build/{preset}", flush=True)
    result = subprocess.run(["cmake", "--build", os.path.join(root, "build", preset), "--target", *targets],
                            cwd=root, capture_output=True, text=True)
    return None if result.returncode == 0 else result.stdout + result.stderr


def passed(gate, result):
    if result.returncode != 0 or "0 tests from 0 test suites ran" in result.stdout:
        return False
    # With --rule, the exit code of cuvmm-mutate is no verdict, so its output decides.
    return "SURVIVES" not in result.stdout


def run(root, preset, gates, explained=()):
    """Runs each gate, prints a line for it, and returns the gates that failed. `explained`: descriptions of gates that may fail."""
    failed = []
    for gate in gates:
        command = [fill(root, preset, part) for part in gate.command]
        result = subprocess.run(command, cwd=root, capture_output=True, text=True)
        good = passed(gate, result) or gate.what in explained
        print(f"  {'ok     ' if good else 'MISSING'}  {gate.what}", flush=True)
        if good:
            continue
        failed.append(gate)
        print(f"           {os.path.basename(gate.command[0]) if gate.command[0] != sys.executable else gate.command[1].format(root='.')}:")
        for line in failures(result.stdout + result.stderr):
            print("           | " + line)
        print(f"           what to do: {gate.advice}")
    return failed
