# SPDX-License-Identifier: Apache-2.0
"""./dev rule ID [--kind KIND] and ./dev entry NAME --area AREA: write the skeleton of a rule or of an entry point.

The first run writes lines marked TODO(ID) and names each. A later run writes nothing: it says which of them are left.
When none is, it builds and runs the tests that judge the rule or entry point, and says what they miss.
CONTRIBUTING.md has the path. --check runs the tests at once. KIND: error, undefined, advice, question, leak or uncheckable.
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import entry as entries  # noqa: E402
import gates  # noqa: E402
import rule as rules  # noqa: E402
from tree import Mistake, Tree  # noqa: E402


def arguments(typed):
    usage = "./dev rule ID [--kind KIND] [--check], or ./dev entry NAME --area AREA [--check]"
    parser = argparse.ArgumentParser(prog="./dev", usage=usage, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rule", "entry"))
    parser.add_argument("name", metavar="ID or NAME")
    parser.add_argument("--kind", choices=rules.KINDS, help="of a new rule")
    parser.add_argument("--area", help="of a new entry point")
    parser.add_argument("--check", action="store_true", help="run the tests although something is left to do")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                        help=argparse.SUPPRESS)
    parser.add_argument("--preset", default="dev", help=argparse.SUPPRESS)
    return parser.parse_args(typed)


def place(path, line):
    return f"{path}:{line}" if line else path


def say_written(tree, typed):
    """The first line of each written piece. Looked up after all are written, because a piece further up may move it."""
    mark = f"TODO({typed.name})"
    for path, line, what in tree.written:
        lines = tree.read(path).split("\n")
        near = [number for number, text in enumerate(lines, 1) if mark in text]
        print(f"  {place(path, line if line in near or not near else min(near, key=lambda n: abs(n - line)))}: {what}")


def judged(typed, subject):
    """Builds and runs the gates, stage by stage. Returns whether all pass."""
    stages = gates.of_rule(typed.name, subject.kind, typed.root) if typed.what == "rule" else gates.of_entry(typed.name)
    for number, stage in enumerate(stages, 1):
        output = gates.build(typed.root, typed.preset, stage)
        if output:
            print("It does not build yet:")
            for line in gates.failures(output):
                print("  | " + line)
            return False
        failed = gates.run(typed.root, typed.preset, stage, explained(typed))
        if failed:
            waiting = sum(len(later) for later in stages[number:])
            print(f"{len(failed)} of these tests {'misses' if len(failed) == 1 else 'miss'} something."
                  + (f" {waiting} more wait until they pass." if waiting else ""))
            return False
    return True


def explained(typed):
    """Whether the survivors' file has a reason: a rule that no call can break may survive its mutation."""
    path = os.path.join(typed.root, "conformance", "mutation", "mutation_survivors.txt")
    with open(path, encoding="utf-8") as file:
        known = re.search(r"^%s " % re.escape(typed.name), file.read(), re.M)
    return ("the cases notice an emulator that forgets it",) if known else ()


def main(typed):
    typed = arguments(typed)
    tree = Tree(typed.root)
    module = rules if typed.what == "rule" else entries
    subject = rules.NewRule(tree, typed.name, typed.kind) if typed.what == "rule" else entries.NewEntry(tree, typed.name, typed.area)
    command = f"./dev {typed.what} {typed.name}"
    if subject.is_new:
        module.write(subject)
        print("Written:")
        say_written(tree, typed)
        print(f"Files to edit: {len({path for path, _, _ in tree.written})}. Fill in what is marked TODO({typed.name}), delete the marks,\n"
              f"then type `{command}` again: it says what is still missing.")
        if typed.what == "entry":
            print("Only where it applies:")
            for note in entries.notes(subject):
                print("  - " + note)
        return 0
    left = module.missing(subject)
    for path, line, words in left:
        print(f"  {place(path, line)}: {words}")
    if left:
        print(f"{len(left)} left to do by hand. Nothing was written.")
        if not typed.check:
            print(f"When they are done, `{command}` runs the tests; `{command} --check` does so now.")
            return 1
    else:
        known = "a rule" if typed.what == "rule" else "an entry point"
        print(f"{typed.name} is {known} already, and nothing of it is marked TODO. These tests judge it:", flush=True)
    if not judged(typed, subject) or left:
        return 1
    print("Nothing is missing. `./dev test` runs all the other tests, `./dev lint` checks the style.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Mistake as mistake:
        print(f"./dev {' '.join(sys.argv[1:2])}: {mistake}.", file=sys.stderr)
        sys.exit(2)
