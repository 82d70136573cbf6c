#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that unmap memory under a kernel many times, with the wait put back and without it.

  real-driver-tests/repeat_unmap.py --build build/release --times 100 --out real-driver-tests/results

Without the wait, each run must have one finding, cuMemUnmap-idle of kind undefined; with it, none. Writes
DATE-gpu-driver-unmap-times.json and .md. Exit code 1 where a run showed something else.
"""

import argparse
import collections
import concurrent.futures
import datetime
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]
sys.dont_write_bytecode = True

import machine  # noqa: E402
import outcome  # noqa: E402
import under_shim  # noqa: E402

PROGRAMS = ("kernel", "torch")
NOTHING = "nothing"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch (default: %(default)s)")
    parser.add_argument("--times", type=int, default=100, help="runs of each kind (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=8, help="runs at once (default: %(default)s)")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="some of them (default: %(default)s)")
    parser.add_argument("--modes", default="observed", help="--async of each, some of observed,exact (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results", help="folder of the result")
    parser.add_argument("--emulate", action="store_true", help="on the emulator, whose streams are late")
    return parser.parse_args()


def command(build: under_shim.Build, program: str, python: str) -> list[str]:
    folder = build.folder / "bin" / "workloads"
    if program == "kernel":
        return [str(folder / "unmap_under_kernel")]
    return [python, str(HERE / "workloads" / "torch_early_unmap.py"), str(folder / "libearly_unmap.so")]


def shown(run: under_shim.Run) -> str:
    """The outcome of a run, in a line; equal outcomes have equal lines."""
    if run.report is None:
        rules = ", ".join(sorted(set(re.findall(r"\[(cu\w+-[\w-]+)\]", run.output))))
        return f"no report, {rules or 'nothing'} in the output; {run.end()}"
    found = sorted(f"{finding['rule']} ({finding['kind']})" for finding in run.findings for _ in range(finding["count"]))
    if run.code != 0:
        found.append(run.end())
    return ", ".join(found) or NOTHING


def repeat(options: argparse.Namespace, build: under_shim.Build, program: str, mode: str, waits: bool) -> dict:
    # After a fault, the program can free nothing.
    environment = {"CUVMM_LEAK_CHECK": "no", "CUVMM_ASYNC": mode}
    environment |= {"EARLY_UNMAP_WAITS": "1"} if waits else {}
    environment |= {"CUVMM_STREAMS": "late"} if options.emulate else {}
    argv = command(build, program, options.python)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = list(pool.map(lambda _: build.run(argv, emulate=options.emulate, environment=environment, timeout=150),
                             range(options.times)))
    counts = collections.Counter(shown(run) for run in runs)
    expected = NOTHING if waits else "cuMemUnmap-idle (undefined)"
    first_other = next((run.output[-2000:] for run in runs if shown(run) != expected), "")
    return {"program": program, "async": mode, "waits": waits, "times": options.times, "expected": expected,
            "as_expected": counts[expected], "shown": dict(counts), "output_of_another": first_other}


def table(driver: dict, date: str, rows: list[dict]) -> str:
    lines = [f"# {', '.join(driver['devices']) or 'no device'}, driver {driver['version']}", "",
             f"{date}: memory is unmapped under a kernel, and the same with the wait put back, each in a",
             "process of its own.", "", "| program | `--async` | waits first | runs | as expected | what was shown |", "|---|---|---|---:|---:|---|"]
    for row in rows:
        found = "; ".join(f"{what}: {count}" for what, count in sorted(row["shown"].items()))
        lines.append(f"| {row['program']} | {row['async']} | {'yes' if row['waits'] else 'no'} | {row['times']} "
                     f"| {row['as_expected']} | {found} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    options = arguments()
    build = under_shim.Build(options.build)
    driver = machine.driver(build, options.emulate)
    rows = [repeat(options, build, program, mode, waits) for program in options.programs.split(",")
            for mode in options.modes.split(",") for waits in (False, True)]
    now = datetime.datetime.now(datetime.timezone.utc)
    text = table(driver, now.isoformat(timespec="seconds"), rows)
    print(text, end="")
    for row in rows:
        if row["output_of_another"]:
            print(row["output_of_another"])
    options.out.mkdir(parents=True, exist_ok=True)
    name = f"{outcome.stem(str(now.date()), driver)}-unmap-times"
    (options.out / f"{name}.md").write_text(text)
    head = {"schema": 1, "date": now.isoformat(timespec="seconds"), "driver": driver,
            "software": machine.software(options.python, HERE.parent)}
    (options.out / f"{name}.json").write_text(json.dumps(head | {"rows": rows}, indent=1) + "\n")
    return int(any(row["as_expected"] != row["times"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
