# SPDX-License-Identifier: Apache-2.0
"""Budgets of what is counted (instructions, cache lines): the newest count of bench/trend.csv, and a twentieth more.

trend.csv has a line `date,what,count` per count that somebody recorded, the newest last; later lines are budgets too.
A change within the budget needs no line. One that costs more than that adds lines (`--record`), and its commit says
what the cost buys; so the file shows where the cost went over the months, and small steps do not add up unseen. The lines of 2026-11-28 are
the limits of before, of which the counts were a tenth or less below.
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
    """Prints a line for each count; whether all are within their budgets. A count that is not positive is a mistake."""
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
