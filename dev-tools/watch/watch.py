#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./dev headers-diff`: shows the changes of CUDA versions that concern memory, and checks that each has a decision.

Usage: watch.py diff [--all] OLD NEW | words NAME OLD NEW | check [FOLDER...] | update FOLDER... | open | page FILE.
OLD, NEW and FOLDER are include folders of CUDA. See api/decisions/README.md.
"""
import difflib
import os
import sys

import decisions
import header
import history
import page
import scope
from headers import version

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Watch:
    """The history and the decisions of a checkout."""

    def __init__(self, root):
        self.root = root
        self.events = history.read(root)
        self.entries = decisions.Entries(root)
        self.decided, self.missing, self.mistakes = decisions.judge(self.events, decisions.Table(root), self.entries)

    def complaints(self):
        """The mistakes that show without any header."""
        out = list(self.mistakes)
        if self.missing:
            out.append(f"{len(self.missing)} items that concern memory have no decision; api/decisions/README.md says how it is written")
            out += decisions.to_paste(self.missing)
        return out

    def strange(self, folder, comments_of):
        """The differences between these headers and the history. comments_of: the version from which on comments count."""
        ver = version(folder)
        found = history.unknown(self.events, ver, history.snapshot(header.items(folder)), comments_of)
        if not found:
            return []
        return [f"CUDA {history.dotted(ver)} ({folder}) has {len(found)} differences that concern memory from {history.PATH}:",
                *[f"  {event.sign} {event.kind} {event.name}" for event in found],
                f"Take them in by `./dev headers-diff --update {history.dotted(ver)}`, read them by `./dev headers-diff "
                f"{history.dotted(self.before(ver))} {history.dotted(ver)}`, then decide."]

    def before(self, ver):
        return max((event.version for event in self.events if event.version < ver), default=history.FIRST)

    def page(self):
        return page.page(self.decided, self.entries)


def diff(watch, old, new, everything):
    """Prints a line per difference. Lines that concern memory have the decision."""
    items = [header.items(old), header.items(new)]
    within = [scope.Scope(items[0]), scope.Scope(items[1])]
    lines, about_memory = [], 0
    for key in sorted(items[0].keys() | items[1].keys()):
        was, now = items[0].get(key), items[1].get(key)
        if was and now and was.text == now.text:
            continue
        memory = bool(was and within[0].has(was) or now and within[1].has(now))
        about_memory += memory
        if key[0] == "type" or not (memory or everything):
            continue
        sign = "+" if not was else "-" if not now else "~"
        if key[0] == "comment" and sign != "~":
            continue  # the line of its function stands for it
        verdict = verdict_of(watch, key, sign, within[1], now or was) if memory else ""
        lines.append(f"{sign} {key[0]:<11}{key[1]:<64}  {verdict}".rstrip())
    print(f"CUDA {history.dotted(version(old))} to {history.dotted(version(new))}: {about_memory} differences concern memory"
          + ("" if everything else "; --all lists the others too"))
    print("\n".join(lines))


def verdict_of(watch, key, sign, within, item):
    """The newest decision about an item. For a field: about its structure."""
    kind, name = ("struct", within.plain(item.of)) if item.kind == "field" else (key[0], within.plain(key[1]))
    hashed = header.fingerprint(item.text) if kind == "comment" else ""
    found = [each.verdict for each in watch.decided
             if (each.event.kind, each.event.name) == (kind, name) and (kind == "struct" or each.event.sign == sign)
             and hashed in ("", each.event.hash)]
    return found[-1] if found else "no decision"


def documentation(name, folder):
    items = header.items(folder)
    plain = scope.Scope(items).plain
    return next((item for item in items.values() if item.kind == "comment" and name in (item.of, plain(item.of))), None)


def words(name, old, new):
    """Prints how the documentation of a function, a structure or an enum changed. Reads this machine's headers, and stores no text."""
    texts = [documentation(name, folder) for folder in (old, new)]
    if not all(texts):
        sys.exit(f"headers-diff: {name} is not documented in both versions")
    before, after = (text.text.split() for text in texts)
    for sort, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if sort != "equal":
            print(f"... {' '.join(before[max(0, a - 6):a])}")
            for sign, part in (("-", before[a:b]), ("+", after[c:d])):
                if part:
                    print(f"  {sign} {' '.join(part)}")


def check(watch, folders):
    """Prints the complaints. Returns the exit status. Comments count from the newest known version on, as a patch may change them."""
    out = watch.complaints()
    for folder in folders:
        out += watch.strange(folder, history.newest(watch.events))
    print("\n".join(out), file=sys.stderr, end="\n" if out else "")
    if not out:
        still = sum(each.verdict == "open" for each in watch.decided)
        seen = ", ".join(history.dotted(version(folder)) for folder in folders)
        print(f"headers-diff: {len(watch.decided)} items have a decision, {still} of them are open"
              + (f"; nothing is new in the headers of {seen}" if seen else ""))
    return 1 if out else 0


def update(watch, folders):
    snapshots = {version(folder): history.snapshot(header.items(folder)) for folder in folders}
    try:
        events = history.updated(watch.events, snapshots)
    except ValueError as error:
        sys.exit(f"headers-diff: {error}")
    history.save(watch.root, events)
    print(f"{history.PATH}: {len(events)} lines, {len(set(events) - set(watch.events))} of them new")
    again = Watch(watch.root)
    print("\n".join(again.complaints()), end="\n" if again.complaints() else "")


def show_open(watch):
    blocks = list(dict.fromkeys(each.block for each in watch.decided if each.verdict == "open"))
    for block in sorted(blocks, key=lambda block: -block.version):
        names = [f"{kind} {name}" for kind, name, _ in block.items]
        print(f"{block.where}: {', '.join(names)}\n    {block.change}\n    {block.words}")
    print(f"{sum(each.verdict == 'open' for each in watch.decided)} open items in {len(blocks)} blocks")


def main(command="", *arguments):
    watch = Watch(ROOT)
    if command == "diff" and len(arguments) in (2, 3):
        diff(watch, *arguments[-2:], arguments[0] == "--all")
    elif command == "words" and len(arguments) == 3:
        words(*arguments)
    elif command == "check":
        return check(watch, arguments)
    elif command == "update" and arguments:
        update(watch, arguments)
    elif command == "open":
        show_open(watch)
    elif command == "page" and len(arguments) == 1:
        with open(arguments[0], "w", encoding="utf-8") as file:
            file.write(watch.page())
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
