# SPDX-License-Identifier: Apache-2.0
"""The sources to which a scaffold adds lines, and the entry points and rules in their tables."""
import collections
import glob
import os
import re

# The folders in which a scaffold may write a TODO.
FOLDERS = ("api", "rulebook", "conformance", "emulator", "shim", "fuzz")

Entry = collections.namedtuple("Entry", "name area parameters")  # parameters: (kind, type, name)
Rule = collections.namedtuple("Rule", "macro name id entry kind text line")  # line: its last in the file, from 1
RULE = re.compile(r'^CUVMM_(RULE|QUESTION|UNCHECKABLE)\(\s*(\w+),\s*"([^"]*)",\s*(\w+),\s*"[^"]*",\s*(\w+),', re.M)


class Mistake(Exception):
    """Raised if the command line cannot be obeyed. The text says what was expected."""


def closing(text, start):
    """Index of the bracket that closes the one at `start`. Brackets in strings and comments do not count."""
    depth = 0
    for token in re.finditer(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|[(){}\[\]]', text[start:]):
        if token.group() in ("(", "{", "["):
            depth += 1
        elif token.group() in (")", "}", "]"):
            depth -= 1
            if depth == 0:
                return start + token.start()
    return len(text) - 1


class Tree:
    """A checkout. Paths are relative to its root."""

    def __init__(self, root):
        self.root = root
        self.written = []  # (path, line, what)

    def full(self, path):
        return os.path.join(self.root, path)

    def read(self, path):
        with open(self.full(path), encoding="utf-8") as file:
            return file.read()

    def exists(self, path):
        return os.path.exists(self.full(path))

    def find(self, *patterns):
        """Paths that match, sorted."""
        return sorted({path for pattern in patterns for path in glob.glob(pattern, root_dir=self.root, recursive=True)})

    def insert(self, path, at, lines, what):
        """Inserts whole lines before line `at` (from 0). Changes no existing line."""
        present = self.read(path).split("\n") if self.exists(path) else []
        if not present:
            at, lines = 0, [*lines[lines[0] == "":], ""]  # a blank line separates the new lines
        present[at:at] = lines
        temporary = self.full(path) + ".scaffold"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write("\n".join(present))
        if self.exists(path):
            os.chmod(temporary, os.stat(self.full(path)).st_mode)
        os.replace(temporary, self.full(path))
        self.written.append((path, at + 1, what))

    def todos(self, mark):
        """(path, line, text) of each line with TODO(mark)."""
        found = []
        for folder in FOLDERS:
            for where, names, files in os.walk(self.full(folder)):
                names.sort()
                for name in sorted(files):
                    if not name.endswith((".h", ".cc", ".def", ".family", ".cuvmm", ".txt", ".toml")):
                        continue
                    path = os.path.relpath(os.path.join(where, name), self.root)
                    for number, line in enumerate(self.read(path).split("\n"), 1):
                        if f"TODO({mark})" in line:
                            found.append((path, number, line.strip().lstrip("/# ")))
        return found

    def entries(self):
        """name without cu -> Entry, in the order of the table."""
        text = self.read("api/entry_points.def")
        found = {}
        for line in re.finditer(r"^CUVMM_ENTRY\((\w+), (\w+)(.*)\)$", text, re.M):
            parameters = [(kind, kind_of.strip(), name) for kind, kind_of, name in
                          re.findall(r"\((\w+), ([^()]*), (\w+)\)", line.group(3))]
            found[line.group(1)] = Entry(line.group(1), line.group(2), parameters)
        return found

    def symbols(self):
        """name -> [(symbol, query, version, flags)]"""
        found = collections.defaultdict(list)
        for name, symbol, query, version, flags in re.findall(
                r"^CUVMM_SYMBOL\((\w+), (\w+), (\w+), (\d+), (\d)\)", self.read("api/entry_points.def"), re.M):
            found[name].append((symbol, query, int(version), int(flags)))
        return found

    def areas(self):
        """The areas with rules, in the catalogue's order."""
        return re.findall(r'#include "rulebook/rules/(\w+)\.def"', self.read("rulebook/catalogue/rules.def"))

    def rules(self, area):
        """The rules of one area, in order."""
        text = self.read(f"rulebook/rules/{area}.def")
        ends = [(found, closing(text, text.index("(", found.start()))) for found in RULE.finditer(text)]
        return [Rule(*found.groups(), text[found.start():end + 1], line_of(text, end) + 1) for found, end in ends]

    def all_rules(self):
        return {rule.id: rule for area in self.areas() for rule in self.rules(area)}


def line_of(text, index):
    """Number of the line (from 0) that holds text[index]."""
    return text.count("\n", 0, index)
