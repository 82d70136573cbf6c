# SPDX-License-Identifier: Apache-2.0
"""A fleet whose machines are killed at random, on one machine:

    storm.py CUVMM [--shards N] [--first N] [--nodes N] [--kill PERCENT] [--at-once N] [--seed N]
             [--job NAME] [--out DIR]

Starts `cuvmm work run --emulate` for each shard on simulated nodes. Of the processes, PERCENT are killed
(SIGKILL, with all that they started) at a random moment, and their shards are queued again, on any node.
In the end each unit of the job must have a result, and each node's result of it stands there once. Prints
what was seen as JSON; exits with 1 where that does not hold."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("cuvmm", type=pathlib.Path)
    parser.add_argument("--shards", type=int, default=10000)
    parser.add_argument("--first", type=int, help="only so many of the shards")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--kill", type=float, default=10)
    parser.add_argument("--at-once", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--job", default="pairs")
    parser.add_argument("--out")
    given = parser.parse_args()
    given.first = given.first or given.shards
    return given


class Storm:
    def __init__(self, given, out):
        self.given, self.out = given, out
        self.random, self.lock = random.Random(given.seed), threading.Lock()
        self.queue = collections.deque(range(1, given.first + 1))
        self.seen = collections.Counter()
        self.typical = 0.2  # seconds that a shard takes; kills come within that time or a little later

    def choose(self):
        """The next shard, its node, and the seconds after which it is killed, or None."""
        with self.lock:
            if not self.queue:
                return None
            kill = self.random.random() * 100 < self.given.kill
            return (self.queue.popleft(), self.random.randrange(self.given.nodes),
                    self.random.random() * 1.2 * self.typical if kill else None)

    def work(self):
        while (chosen := self.choose()) is not None:
            shard, node, delay = chosen
            command = [self.given.cuvmm, "work", "run", "--emulate", "--" + self.given.job, "--shard",
                       f"{shard}/{self.given.shards}", "--out", self.out, "--node", f"n{node}"]
            began = time.monotonic()
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True) as run:
                try:
                    _, problem = run.communicate(timeout=delay)
                except subprocess.TimeoutExpired:
                    os.killpg(run.pid, signal.SIGKILL)
                    _, problem = run.communicate()
            with self.lock:
                if run.returncode == 0:
                    self.seen["done"] += 1
                    self.typical = 0.9 * self.typical + 0.1 * (time.monotonic() - began)
                elif run.returncode == -signal.SIGKILL:
                    self.seen["killed"] += 1
                    self.queue.append(shard)
                else:
                    self.seen["failed"] += 1
                    print(f"shard {shard}: {run.returncode}: {problem.decode(errors='replace')}", file=sys.stderr)


def judge(given, out):
    plan = subprocess.run([given.cuvmm, "work", "plan", "--" + given.job, "--shards", str(given.shards)],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    units = sum(len(range(index, int(plan.split()[2]), given.shards)) for index in range(given.first))
    began = time.monotonic()
    merged = os.path.join(out, "merged")  # no .json: it is no result
    merge = subprocess.Popen([given.cuvmm, "work", "merge", out, "--json", merged], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(merge.pid, 0)
    merge.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    with open(merged, encoding="utf-8") as file:
        found = json.load(file)
    files = [path for path in pathlib.Path(out).rglob("*") if path.is_file() and path.name != "merged"]
    left = sum(path.suffix != ".json" for path in files)
    names = collections.Counter(path.name for path in files)
    summary = {"units": units, "cases": found["cases"], "results": found["results"], "repeated": found["repeated"],
               "missing": len(found["missing"]), "refused": len(found["refused"]), "outliers": len(found["outliers"]),
               "files": found["files"], "left behind": left, "same name": [name for name, count in names.items() if count > 1],
               "merge": {"exit": merge.returncode, "seconds": round(seconds, 2), "MiB": usage.ru_maxrss // 1024}}
    whole = (summary["cases"] == units and summary["missing"] == given.shards - given.first and not summary["refused"] and not summary["outliers"]
             and not summary["repeated"] and not summary["same name"])
    return summary, whole


def main():
    given = arguments()
    given.cuvmm = given.cuvmm.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        out = given.out or temporary
        storm = Storm(given, out)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(given.at_once) as pool:
            for each in [pool.submit(storm.work) for _ in range(given.at_once)]:
                each.result()
        # Does the shards that are left: a worker may queue a killed shard after all other workers have ended.
        storm.work()
        summary, whole = judge(given, out)
        print(json.dumps({"seconds": round(time.monotonic() - began, 1), **storm.seen, **summary}, indent=1))
        return 0 if whole and not storm.seen["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
