# SPDX-License-Identifier: Apache-2.0
"""The decisions: those in api/decisions/VERSION.txt, and those that follow from the functions in api/entry_points.def."""
import collections
import os
import re

from history import FIRST, KINDS, dotted, in_file
from tree import Tree

FOLDER = "api/decisions"
VERDICT = re.compile(r"(checked|followed)(?=[:.])|passes because (?=\w)|open: (?=\w)")
OF_FUNCTIONS = ("abi", "symbol")
VERDICTS = ("checked:", "followed:", "passes because REASON", "open: WHAT IS MISSING")
# items: (kind, name, hash). change: a description of the change. verdict: checked, followed, passes or open.
# words: the text of the decision. where: file and line.
Block = collections.namedtuple("Block", "version items change verdict words where")
# event: of the history. block: the decision about it; None if `area` decides, which is the area of its entry point.
Decided = collections.namedtuple("Decided", "event block area verdict")


class Table:
    """All blocks of the files, and the mistakes in their form."""

    def __init__(self, root):
        self.blocks, self.mistakes = [], []
        self.root = root
        folder = os.path.join(root, FOLDER)
        for name in sorted(os.listdir(folder)):
            if in_file(name):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    self.read(in_file(name), f"{FOLDER}/{name}", file.read())

    def read(self, version, path, text):
        items, words, start = [], [], 0
        for number, line in enumerate((*text.splitlines(), ""), 1):
            if line.startswith("#"):
                continue
            if line.startswith(" "):
                words.append(line.strip())
                continue
            if words:  # end of the block
                self.finish(version, items, words, f"{path}:{start}")
                items, words = [], []
            if line:
                start = start if items else number
                kind, *rest = line.split()
                if kind not in KINDS or len(rest) != (2 if kind == "comment" else 1):
                    self.mistakes.append(f"{path}:{number}: expected `KIND NAME`, KIND one of {', '.join(KINDS)}, and behind "
                                         f"the name of a comment its hash; found '{line}'")
                    continue
                items.append((kind, rest[0], rest[1] if rest[1:] else ""))
            elif items:
                self.mistakes.append(f"{path}:{start}: no decision is below this; indent it")
                items = []

    def finish(self, version, items, words, where):
        if not items:
            self.mistakes.append(f"{where}: this text is below no item")
            return
        at = next((number for number, line in enumerate(words) if VERDICT.match(line)), None)
        if at is None:
            self.mistakes.append(f"{where}: no line of the text begins with one of: {', '.join(VERDICTS)}")
            return
        verdict = re.match(r"\w+", words[at]).group()
        self.blocks.append(Block(version, tuple(items), " ".join(words[:at]), verdict, " ".join(words[at:]), where))


class Entries:
    """The decisions of api/entry_points.def: an entry point of an area with rules is checked, any other is followed."""

    def __init__(self, root):
        tree = Tree(root)
        ruled = {area for area in tree.areas() if tree.rules(area)}
        self.rules = tree.all_rules()
        self.rule_area = {rule.id: area for area in tree.areas() for rule in tree.rules(area)}
        areas = {rule.partition("-")[0] for rule in self.rules if not rule.startswith("cu")}
        self.rule = re.compile(r"(?<![\w/-])(?:cu[A-Z]\w*|%s)-[a-z]\w*(?:-\w+)*" % "|".join(sorted(areas)))
        self.areas = {"cu" + name: entry.area for name, entry in tree.entries().items()}
        self.ruled = ruled
        self.abis, self.symbols = {}, {}
        for name, rows in tree.symbols().items():
            for symbol, query, version, flags in rows:
                area = self.areas.get("cu" + name)
                if area or name == "Other":
                    self.abis[f"{query}:{version}:{flags}"] = area or "other"
                if area:
                    self.areas.setdefault(symbol, area)
                    self.symbols[f"{query}:{symbol}"] = area

    def area(self, event):
        """The area that decides about the event; None if none does. "other": the function is known, but not checked."""
        if event.sign == "-":
            return None
        known = {"function": self.areas, "abi": self.abis, "symbol": self.symbols}
        return known.get(event.kind, {}).get(event.name)

    def verdict(self, area):
        return "passes" if area == "other" else "checked" if area in self.ruled else "followed"


def needs_decision(event, events):
    """Whether the event needs a decision. A new item's comment needs none of its own. In the oldest version, only functions do."""
    if event.kind == "comment":
        return event.sign == "~" and event.version > FIRST
    if event.kind == "symbol" and event.sign == "-":
        return False  # programs link the symbol that replaced it
    return event.version > FIRST or event.kind == "function" or (
        event.kind in OF_FUNCTIONS and ("function", event.name.split(":")[0]) in events)


def judge(events, table, entries):
    """(decided events, events without a decision, mistakes of the table)."""
    mistakes = list(table.mistakes)
    written, used = {}, set()
    for block in table.blocks:
        for item in block.items:
            if (block.version, *item) in written:
                mistakes.append(f"{block.where}: {' '.join(item).strip()} is decided twice for CUDA {dotted(block.version)}")
            written[(block.version, *item)] = block
        for rule in entries.rule.findall(block.change + " " + block.words):
            if rule.startswith("cu") and rule not in entries.rules:
                mistakes.append(f"{block.where}: {rule} is no rule")
    names = {(event.kind, event.name) for event in events}
    by_function = {(block.version, name): block for block in table.blocks for kind, name, _ in block.items if kind == "function"}
    decided, missing = [], []
    for event in events:
        if not needs_decision(event, names):
            continue
        key = (event.version, event.kind, event.name, event.hash if event.kind == "comment" else "")
        block, area = written.get(key), entries.area(event)
        used.add(key)
        if block and area not in (None, "other"):
            mistakes.append(f"{block.where}: {event.kind} {event.name} is in api/entry_points.def, which decides it: delete the line")
        elif not block and not area and event.kind in OF_FUNCTIONS:
            block = covering(event, by_function)
        if block or area:
            decided.append(Decided(event, block, area, block.verdict if block else entries.verdict(area)))
        else:
            missing.append(event)
    for key, block in written.items():
        if key not in used:
            mistakes.append(f"{block.where}: {' '.join(key[1:]).strip()} is nothing that CUDA {dotted(key[0])} added, changed or "
                            "removed: the line is stale, or its name or hash is mistyped")
    return decided, missing, mistakes


def covering(event, by_function):
    """The decision on a function that also covers this event: cuMemAdvise_v2 brought another cuMemAdvise."""
    query = event.name.split(":")[0]
    for (version, name), block in by_function.items():
        if version == event.version and re.fullmatch(rf"{query}(_v\d+)?", name):
            return block
    return None


def to_paste(missing):
    """The lines to add, by file."""
    out = []
    for version in sorted({event.version for event in missing}):
        out.append(f"{FOLDER}/{dotted(version)}.txt")
        for event in missing:
            if event.version == version:
                out.append(f"  {event.kind} {event.name}{' ' + event.hash if event.kind == 'comment' else ''}"
                           f"{'  (gone)' if event.sign == '-' else ''}"
                           f"{'  (or a CUVMM_SYMBOL in api/entry_points.def)' if event.kind in OF_FUNCTIONS else ''}")
    return out
