#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Markdown tables of cuvmm-bench's JSON files: one row per measurement, one column per variant.

bench/table.py FILE.json...      the files' variants stand side by side; "bare" is what others add to
bench/table.py --apart FILE...   each file is one process with one variant, run several times in turn:
                                 medians over the processes, and what each adds to the median of "bare"
"""

import json
import re
import statistics
import sys

SECTIONS = [
    ("call/", "Each call (median, p99)"),
    ("cycle/", "One cycle of seven calls: reserve, create, map, access, unmap, release, free"),
    ("disjoint/", "Threads on reservations of their own"),
    ("shared/", "Threads on slots of one reservation"),
    ("copies/", "A program that never touches VMM: 64-byte copies and fills"),
    ("copies-beside-vmm/", "The same copies where reservations exist"),
    ("launches/", "Launches: of no parameters, of 16 pointers, and of 16 that move within the same mappings"),
    ("other/", "Functions that are not intercepted, called directly"),
    ("startup/", "Start to end of a program that does nothing else"),
    ("memory/", "Resident memory per live mapping"),
    ("wall/", "Wall time of whole programs"),
]


def load(paths):
    contexts, rows, variants = [], {}, []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        context = {key: value for key, value in data["context"].items() if key != "clock_overhead_ns"}
        if context not in contexts:
            contexts.append(context)
        for result in data["benchmarks"]:
            name, variant = result["name"].rsplit("/", 1)
            # Each process measures the bare driver again, to compare its own variant with it.
            number = 2
            while variant in rows.get(name, {}):
                variant = f"{variant.split('#')[0]}#{number}"
                number += 1
            if variant not in variants:
                variants.append(variant)
            rows.setdefault(name, {})[variant] = result
            for other in reversed(data["benchmarks"]):
                if other["name"] == f"{name}/bare":
                    result["bare"] = other["real_time"]
    return contexts, rows, variants


def load_apart(paths):
    found, variants = {}, []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for result in json.load(file)["benchmarks"]:
                name, variant = result["name"].rsplit("/", 1)
                found.setdefault(name, {}).setdefault(variant, []).append(result)
                if variant not in variants:
                    variants.append(variant)
    rows = {}
    for name, by_variant in found.items():
        rows[name] = {
            variant: results[0] | {key: statistics.median(r[key] for r in results) for key in ("real_time", "p99")}
            for variant, results in by_variant.items()
        }
        if "bare" in rows[name]:
            for result in rows[name].values():
                result["bare"] = rows[name]["bare"]["real_time"]
    return [], rows, variants


def cell(result):
    value = f"{result['real_time']:,.{0 if result['real_time'] >= 100 else 1}f}"
    return f"{value} ({result['p99']:,.0f})" if result["p99"] else value


def added(result):
    """The time that a variant adds to the bare driver of its own process, or of the processes beside it."""
    if "bare" not in result or result["name"].endswith("/bare") or not result["bare"]:
        return ""
    if result["time_unit"] == "calls/s":
        return f" {100 * (result['real_time'] / result['bare'] - 1):+.1f} %"
    more = result["real_time"] - result["bare"]
    return f" **{more:+,.0f}**" if result["time_unit"] == "ns" else f" **{more:+,.1f}**"


def order(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def main(paths, apart):
    contexts, rows, variants = load_apart(paths) if apart else load(paths)
    if apart:
        print("\n# Each column in processes of its own, in turn: medians over the processes")
    for context in contexts:
        print("; ".join(f"{key}: {value}" for key, value in context.items()) + "\n")
    for prefix, title in SECTIONS:
        names = [name for name in rows if name.startswith(prefix)]
        if not names:
            continue
        here = [v for v in variants if any(v in rows[name] for name in names)]
        # Leaves out further bare columns, because they only show how steady the machine is.
        here = [v for v in here if not v.startswith("bare#")]
        unit = next(iter(rows[names[0]].values()))["time_unit"]
        print(f"\n## {title}\n\n| | {' | '.join(f'{v}, {unit}' for v in here)} |")
        print("|---|" + "---:|" * len(here))
        for name in sorted(names, key=order):
            cells = [cell(r) + added(r) if (r := rows[name].get(v)) else "" for v in here]
            print(f"| {name.removeprefix(prefix)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    files = [argument for argument in sys.argv[1:] if argument != "--apart"]
    if not files:
        sys.exit(__doc__)
    main(files, len(files) != len(sys.argv) - 1)
