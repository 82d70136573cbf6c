# SPDX-License-Identifier: Apache-2.0
"""Reads and writes api/decisions/history.txt.xz: the changes that concern memory in each CUDA version, as facts.

`./dev headers-diff --update` writes the file; `xz -dc` shows it.
"""
import collections
import itertools
import lzma
import os
import re

import header
import scope

PATH = "api/decisions/history.txt.xz"
FIRST = 12040  # the oldest version with a history
HEAD = """# What concerns memory in the CUDA headers, version after version: names and hashes, written by
# `./dev headers-diff --update`; never edited. A line without a sign begins a version and a kind. + is new, ~ changed,
# - is gone. An abi is what cuGetProcAddress is asked: name, version, flags. A symbol is what is linked where a function
# is written. A struct's hash is of its fields, a comment's of its words: above a function, or inside an enum or a
# structure.
"""
# version: 13010 of CUDA 13.1. sign: + ~ or -. kind: function, abi, symbol, comment, struct, enumerator or macro.
# hash: of the item from this version on; "" if the version removed it.
Event = collections.namedtuple("Event", "version sign kind name hash")
KINDS = ("function", "abi", "symbol", "comment", "struct", "enumerator", "macro")


def dotted(version):
    """13010 -> "13.1"."""
    return f"{version // 1000}.{version % 1000 // 10}"


def number(text):
    """"13.1" -> 13010."""
    major, minor = text.split(".")
    return int(major) * 1000 + int(minor) * 10


def snapshot(items):
    """(kind, name) -> hash, of the items that concern memory. All fields of a structure are one item."""
    within = scope.Scope(items)
    found, fields = {}, collections.defaultdict(list)
    for item in items.values():
        if not within.has(item):
            continue
        if item.kind == "field":
            fields[within.plain(item.of)].append(f"{item.name.partition('.')[2]} {item.text}")
        else:
            found[item.kind, within.plain(item.name)] = header.fingerprint(item.text)
    for name, declared in fields.items():
        found["struct", name] = header.fingerprint("\n".join(declared))
    return found


def differences(version, before, after):
    """The events that lead from one snapshot to the next."""
    signs = [("+", kind, name) for kind, name in after if (kind, name) not in before]
    signs += [("-", kind, name) for kind, name in before if (kind, name) not in after]
    signs += [("~", kind, name) for kind, name in after if before.get((kind, name), after[kind, name]) != after[kind, name]]
    return [Event(version, sign, kind, name, after.get((kind, name), ""))
            for sign, kind, name in sorted(signs, key=lambda found: (KINDS.index(found[1]), found[2]))]


def read(root):
    """The events in the file of a checkout."""
    with lzma.open(os.path.join(root, PATH), "rt", encoding="utf-8") as file:
        return parse(file.read())


def save(root, events):
    path = os.path.join(root, PATH)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
        file.write(write(events))


def parse(text):
    events, version, kind = [], 0, ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line[0] in "+~-":
            name, *rest = line[1:].split()
            events.append(Event(version, line[0], kind, name, rest[0] if rest else ""))
        else:
            dots, kind = line.split()
            version = number(dots)
    return events


def write(events):
    lines = [HEAD]
    for (version, kind), group in itertools.groupby(events, lambda event: (event.version, event.kind)):
        lines.append(f"{dotted(version)} {kind}\n")
        lines += [f"{event.sign}{event.name} {event.hash}".rstrip() + "\n" for event in group]
    return "".join(lines)


def state(events, version):
    """The snapshot that the events lead to, up to a version."""
    found = {}
    for event in events:
        if event.version <= version:
            found[event.kind, event.name] = event.hash
            if event.sign == "-":
                del found[event.kind, event.name]
    return found


def newest(events):
    return max((event.version for event in events), default=0)


def unknown(events, version, found, comments_of):
    """The differences between the headers of a version and the history.

    Comments count only from the version `comments_of` on, because they change from one patch of the headers to the next.
    """
    events_of_version = differences(version, state(events, version), found)
    return [event for event in events_of_version if event.kind != "comment" or version >= comments_of]


def updated(events, snapshots):
    """The history with these versions written anew. snapshots: version -> snapshot."""
    lost = {event.version for event in events if event.version >= min(snapshots)} - set(snapshots)
    if lost:
        raise ValueError(f"what comes later is written anew too: give it also {', '.join(map(dotted, sorted(lost)))}")
    out = [event for event in events if event.version < min(snapshots)]
    before = state(out, min(snapshots))
    for version in sorted(snapshots):
        out += differences(version, before, snapshots[version])
        before = snapshots[version]
    return out


def in_file(name):
    """The CUDA version of a file of decisions, such as 13.1.txt; None for other names."""
    match = re.fullmatch(r"(\d+\.\d+)\.txt", name)
    return number(match.group(1)) if match else None
