# SPDX-License-Identifier: Apache-2.0
"""Writes cuda-versions.md: for each CUDA version, newest first, its changes for memory and the decisions."""
import os
import re

from decisions import OF_FUNCTIONS
from history import FIRST, dotted

HEAD = """<!-- Written by docs/generate from api/decisions/ and api/entry_points.def. -->
# CUDA versions

What each CUDA version changed for memory, from {first} to {last}, and what cuvmm does about it. NVIDIA
publishes no such list: it is taken from the headers by `./dev headers-diff`, in our own words, and
a test fails while anything that concerns memory has no decision. The lines are in
[api/decisions](../api/decisions/README.md), which also says what concerns memory.

| decision | items | meaning |
|---|---|---|
| checked | {checked} | Rules know it. |
| followed | {followed} | No rule is about it, but what it does is known. |
| passes | {passes} | It is left alone, for the reason given. |
| **open** | {open} | Nobody has done it yet: a program that uses it is not checked there, or is judged by older rules. |

An item is a function, a form that cuGetProcAddress hands out, a structure, a value, or what the
headers say about one of them.
"""
WHAT = {("+", "function"): "new function", ("-", "function"): "gone", ("~", "function"): "other parameters",
        ("+", "abi"): "new form", ("-", "abi"): "form gone", ("~", "abi"): "other parameters",
        ("+", "symbol"): "linked by another name", ("~", "comment"): "documentation", ("+", "struct"): "new structure", ("~", "struct"): "other fields",
        ("-", "struct"): "structure gone", ("+", "enumerator"): "new value", ("~", "enumerator"): "other value",
        ("-", "enumerator"): "value gone", ("+", "macro"): "new value", ("~", "macro"): "other value", ("-", "macro"): "value gone"}
MANY = 6  # values that begin alike, before they are folded


def page(decided, entries):
    versions = sorted({each.event.version for each in decided}, reverse=True)
    count = {verdict: sum(each.verdict == verdict for each in decided) for verdict in ("checked", "followed", "passes", "open")}
    out = [HEAD.format(first=dotted(FIRST), last=dotted(versions[0]), **count)]
    for version in versions:
        here = [each for each in decided if each.event.version == version]
        out.append(f"\n## CUDA {dotted(version)}{' and before' if version == FIRST else ''}\n")
        out.append("| what | what is new | decision |\n|---|---|---|")
        blocks = list(dict.fromkeys(each.block for each in here if each.block))
        blocks.sort(key=lambda block: block.verdict != "open")
        out += [row(entries, names([each.event for each in here if each.block is block]), block.change, words(block))
                for block in blocks]
        out += derived(entries, [each for each in here if not each.block])
    return "\n".join(out) + "\n"


def words(block):
    return re.sub(r"^(\w+)(:| because)", r"**\1**\2", block.words)


def row(entries, what, change, decision):
    def link(found):
        rule = entries.rules.get(found.group())
        return f"[{found.group()}](rules/{entries.rule_area[found.group()]}.md#{found.group()})" if rule else found.group()
    return f"| {what} | {entries.rule.sub(link, change)} | {entries.rule.sub(link, decision)} |"


def names(events):
    """The names of the events' items, grouped by the kind of change: "new function: `cuMemFoo`, ..."."""
    found = {}
    functions = {re.sub(r"_v\d+$", "", event.name) for event in events if event.kind == "function"}
    structures = {event.name for event in events if event.kind == "struct"}
    for event in events:
        if event.kind in OF_FUNCTIONS and event.name.split(":")[0] in functions or event.kind == "comment" and event.name in structures:
            continue  # its function or structure is named
        what = "function" if event.version == FIRST else WHAT[event.sign, event.kind]
        found.setdefault(what, []).append(spelled(event))
    return "<br>".join(f"{what}: {folded(list(dict.fromkeys(items)))}" for what, items in found.items())


def spelled(event):
    if event.kind == "symbol":
        return "`{}` as `{}`".format(*event.name.split(":"))
    if event.kind != "abi":
        return f"`{event.name}`"
    query, version, flags = event.name.split(":")
    return f"`{query}` of {dotted(int(version))}" + (" per thread" if flags == "2" else "")


def folded(items):
    """The names as a list. If there are many with a common beginning, only their number and that beginning."""
    alike = os.path.commonprefix(items).strip("`")
    alike = alike[:alike.rfind("_") + 1]
    return ", ".join(items) if len(items) <= MANY or len(alike) < 8 else f"{len(items)} that begin with `{alike}`"


def derived(entries, decided):
    """The decisions of api/entry_points.def: a row per area."""
    areas = {}
    for each in decided:
        areas.setdefault(each.area, []).append(each.event)
    for area, events in sorted(areas.items()):
        if area == "other":
            cell = "**passes** because its parameters are older or newer than those of the entry point; a call is counted as unchecked."
        elif entries.verdict(area) == "checked":
            cell = f"**checked**: [rules](rules/{area}.md)"
        else:
            cell = "**followed**: what it ends is taken out of the model"
        yield f"| {names(events)} |  | {cell} |"
