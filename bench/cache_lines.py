#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the cache lines that the shim touches per call. A call with cold caches waits for these lines.

bench/cache_lines.py BENCH EMULATOR SHIM [--work KIND] [--by-function] [--only NAME] [--budget | --record]

Follows every access of some lives of a block (bench/measure/life.h) with valgrind's lackey, leaves out what the
emulator touches, and prints a Markdown table: distinct lines of 64 bytes per call, as the average of the last
lives. Lines of the stack count separately, because the driver uses the same lines. --by-function says which functions
touch each line first, by call; --only NAME does so for one. --work counts other calls (cuvmm-bench --work). --budget
holds a cycle to bench/trend.csv, --record adds a line there. All is counted twice: for the shim alone, and with the
files that `cuvmm run` switches on.
"""

import argparse
import bisect
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import trend

SKIPPED = 77
WARM, COUNTED = 24, 8  # lives
LINE = 6  # log2 of its bytes
REACH = 1 << 16  # of the stack, in bytes
KINDS = ("code", "data", "stack")
CYCLE = ("cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease",
         "cuMemAddressFree")
# The measured configurations, by their names in bench/trend.csv: variables of the shim that name folders for files.
CONFIGURATIONS = {"cache lines of a cycle": (), "cache lines of a cycle, cuvmm run": ("CUVMM_RING", "CUVMM_LIVE")}


class Library:
    """The address range of a shared object, and its functions by address."""

    def __init__(self, path, maps):
        line = r"^(\w+)-(\w+) (\S+) .*/" + re.escape(path.rsplit("/", 1)[-1]) + r"[\d.]*$"
        spans = [(int(low, 16), int(high, 16), mode) for low, high, mode in re.findall(line, maps, re.MULTILINE)]
        self.low = min(span[0] for span in spans)
        self.text = next((low, high) for low, high, mode in spans if "x" in mode)
        listing = subprocess.run(["nm", "-C", "-S", "--defined-only", path], check=True,
                                 capture_output=True, text=True).stdout
        self.symbols = sorted(
            (self.low + int(start, 16), int(size, 16), name) for start, size, name in
            re.findall(r"^(\w{16}) (\w{16}) [tTwWdDbBrRvVu] (.*)$", listing, re.MULTILINE))
        self.starts = [symbol[0] for symbol in self.symbols]

    def name(self, address):
        start, size, name = self.symbols[max(bisect.bisect_right(self.starts, address) - 1, 0)]
        return name if start <= address < start + max(size, 1) else "?"

    def entries(self):
        """cuMem* and cuLaunchKernel: address to name."""
        return {start: name for start, _, name in self.symbols if re.fullmatch(r"cuMem\w+|cuLaunchKernel", name)}


class Call:
    """The cache lines of one call, each with the shim's instruction that touched it first."""

    def __init__(self, name):
        self.name = name
        self.lines = {kind: {} for kind in KINDS}

    def add(self, kind, address, size, where):
        for line in range(address >> LINE, (address + size - 1 >> LINE) + 1):
            self.lines[kind].setdefault(line, where)


def valgrind(tool, command, maps):
    return ["valgrind", *tool, "--log-fd=1", *command, "--lives", str(WARM + COUNTED), "--out", maps]


def trace(command, maps, shim, emulator, bench, environment):
    """The calls of the trace, in their order."""
    entries, (low, high) = shim.entries(), shim.text
    # Skips the text before the first call without parsing it, because nothing there counts.
    first = {b"I  %08x,4\n" % address for address in entries}
    calls, call, in_shim, where, stack = [], None, False, 0, 0
    with subprocess.Popen(valgrind(["--tool=lackey", "--basic-counts=no", "--trace-mem=yes"], command, maps),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        for raw in process.stdout:
            if call is None:
                if raw not in first:
                    continue
                call, in_shim, stack = Call(entries[int(raw[3:-3], 16)]), True, 0
            kind = raw[:2].strip()
            if kind not in (b"I", b"L", b"S", b"M"):
                continue
            address, size = raw[3:].split(b",")
            address, size = int(address, 16), int(size)
            if kind == b"I":
                if low <= address < high:
                    in_shim, where = True, address
                elif emulator.text[0] <= address < emulator.text[1]:
                    in_shim = False
                elif bench.text[0] <= address < bench.text[1]:
                    calls.append(call)
                    call = None
                    continue
                if in_shim:
                    call.add("code", address, size, where)
            elif in_shim:
                # The wrapper's first store is a push. Its address counts as the start of a cache line, because its
                # real place in a line depends on the size of the environment.
                if not stack and kind == b"S":
                    stack = address
                if -REACH < address - stack < REACH:
                    call.add("stack", address - stack + REACH, size, where)
                else:
                    call.add("data", address, size, where)
    return calls


def short(name):
    name = re.sub(r"cuvmm::|shim::|\(anonymous namespace\)::|calls::|std::|__cxx11::", "", name)
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    return re.sub(r"\(.*", "", name).split(" ")[-1] if "(" in name else name


def print_table(by_name):
    print("| cache lines per call | " + " | ".join(KINDS) + " | all |\n|---|" + "---:|" * (len(KINDS) + 1))
    totals = dict.fromkeys(KINDS, 0)
    for name in sorted(by_name):
        means = {kind: sum(len(c.lines[kind]) for c in by_name[name]) / len(by_name[name]) for kind in KINDS}
        if name in CYCLE:
            for kind in KINDS:
                totals[kind] += means[kind]
        print(f"| {name} | " + " | ".join(f"{means[kind]:.1f}" for kind in KINDS) + f" | {sum(means.values()):.1f} |")
    print("| the seven calls of a cycle | " + " | ".join(f"{totals[kind]:.0f}" for kind in KINDS) +
          f" | {sum(totals.values()):.0f} |")
    return sum(totals.values())


def print_functions(by_name, shim, only):
    for name in sorted(by_name):
        if only and name != only:
            continue
        seen = collections.defaultdict(lambda: dict.fromkeys(KINDS, 0))
        for call in by_name[name]:
            for kind in KINDS:
                for where in call.lines[kind].values():
                    seen[short(shim.name(where))][kind] += 1 / len(by_name[name])
        print(f"\n{name}\n  " + "".join(f"{kind:>8}" for kind in KINDS))
        for function, lines in sorted(seen.items(), key=lambda item: -sum(item[1].values())):
            print("  " + "".join(f"{lines[kind]:8.1f}" for kind in KINDS) + f"  {function}")


def count(args, variables):
    """The calls of the last lives, by name, and the shim's library."""
    command = [args.bench, "--driver", args.emulator, "--shim", args.shim] + (["--work", args.work] if args.work else [])
    with tempfile.TemporaryDirectory() as folder:
        for variable in variables:
            os.mkdir(f"{folder}/{variable}")
        environment = {**os.environ, **{variable: f"{folder}/{variable}" for variable in variables}}
        # Under valgrind all addresses are equal in each run.
        subprocess.run(valgrind(["--tool=none"], command, f"{folder}/maps"), check=True, capture_output=True, env=environment)
        with open(f"{folder}/maps", encoding="utf-8") as file:
            maps = file.read()
        shim, emulator, bench = (Library(path, maps) for path in (args.shim, args.emulator, args.bench))
        calls = trace(command, f"{folder}/again", shim, emulator, bench, environment)
    by_name = collections.defaultdict(list)
    for call in calls[len(calls) * WARM // (WARM + COUNTED):]:
        by_name[call.name].append(call)
    if not by_name:
        sys.exit("no call was seen")
    return by_name, shim


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bench", "emulator", "shim"):
        parser.add_argument(name)
    parser.add_argument("--work")
    parser.add_argument("--by-function", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--budget", action="store_true")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        print("no valgrind: skipped")
        return SKIPPED
    counted = {}
    for name, variables in CONFIGURATIONS.items():
        print(f"\n{name}\n" if variables else "")
        by_name, shim = count(args, variables)
        counted[name] = print_table(by_name)
        if args.by_function or args.only:
            print_functions(by_name, shim, args.only)
    if args.record:
        trend.record(counted)
    return 1 if args.budget and not trend.judge(counted) else 0


if __name__ == "__main__":
    sys.exit(main())
