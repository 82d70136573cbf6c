# SPDX-License-Identifier: Apache-2.0
"""Budgets of counts (instructions, cache lines): the newest count of bench/trend.csv, plus 5 percent.

trend.csv has a line `date,what,count` for each recorded count, the newest last. A change whose counts stay within the
budgets adds no line. A change that costs more adds lines (`--record`), and its commit says what the cost is good for.
So the file shows how the cost grew, and small steps cannot add up unseen. The first 15 lines are older limits, at most a
tenth above the counts of their day.
"""
import csv
import datetime
import os

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trend.csv")
ROOM = 1.05


def counts(path=FILE):
    """what -> its counts, the oldest first."""
    found = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["what"], []).append(float(row["count"]))
    return found


def record(new, path=FILE):
    today = datetime.date.today().isoformat()
    with open(path, "a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows((today, what, f"{count:.0f}") for what, count in new.items())


def judge(new, path=FILE):
    """Prints a line for each count. Returns whether all are within their budgets. Counts must be positive."""
    known, good = counts(path), True
    for what, count in new.items():
        history = known.get(what)
        within = 0 < count <= (history[-1] * ROOM if history else 0)
        good = good and within
        change = f"{count / history[-1] - 1:+7.1%} of {history[-1]:6.0f}, {count / history[0] - 1:+7.1%} since the first" if history else "no budget"
        print(f"{what:42} {count:7.0f}  {change}  {'ok' if within else 'FAILED'}")
    if not good:
        print("More than a twentieth above bench/trend.csv. Make it cheaper, or add the counts by --record, and say in the commit what they buy.")
    return good
