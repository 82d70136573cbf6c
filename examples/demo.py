#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo.py BUILD [--verbose]: shows cuvmm's findings for one clean program and for bugs of real projects; needs no GPU.

Prints the findings of two of them and of a Python program in full, and a line for each other bug; --verbose prints
all in full. Exit code 1 if the findings of a program are not those that its comment names.
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import expectation
import under_shim

HERE = pathlib.Path(__file__).resolve().parent
TOLD = {
    "map_past_reservation": "A page is mapped past the end of its tensor's addresses. The driver says CUDA_SUCCESS.",
    "unmap_under_work": "Memory is unmapped while a fill still runs. The driver says CUDA_SUCCESS here too.",
}
# Examples may make multicast calls only here, because the emulator answers them.
ENVIRONMENT = {"CUVMM_EXAMPLE_MULTICAST": "1", "CUVMM_MULTICAST_TIMEOUT_MS": "200"}


def heading(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else ("", "")
    print(f"\n{bold}== {text}{plain}", flush=True)


def project(source: pathlib.Path) -> str:
    """The project that had this bug, as the example's first comment names it: "pytorch/pytorch"."""
    comment = " ".join(line[2:].strip() for line in source.read_text().splitlines()[1:6] if line.startswith("//"))
    first = re.sub(r"^(Field bugs? ?[\d, and]*(\([^)]*\))?: |As |The other end of )", "", comment)
    named = re.match(r"([\w.-]+(/[\w.-]+)?)(?=,|'s| pull| issue|#)", first) or re.search(r"(\b[\w-]+/[\w-]+) (issue|pull)", comment)
    return named[1] if named else "-"


def place(finding: dict, name: str) -> str:
    """The line of the example at which it was found, or at which the object was made."""
    stacks = [finding.get("stack", [])] + [one.get("stack", []) for one in finding.get("objects", [])]
    for frame in (frame for stack in stacks for frame in stack):
        if frame.get("file", "").endswith(f"/{name}.cc"):
            return f"{name}.cc:{frame['line']}"
    return "-"


def short(text: str) -> str:
    """The first finding and the sum, of all that a run says."""
    lines = text.replace(f"{HERE.parent}/", "").splitlines()
    starts = [number for number, line in enumerate(lines) if re.match("cuvmm: (error|undefined|leak): ", line)]
    if not starts:
        return text
    end = next((n for n in range(starts[0] + 1, len(lines)) if not lines[n].startswith(" ")), len(lines))
    return "\n".join(lines[starts[0]:end] + [line for line in lines[end:] if re.match(r"cuvmm: \d+ errors?, ", line)])


class Demo:
    def __init__(self, build: pathlib.Path, verbose: bool):
        self.build, self.verbose = under_shim.Build(build), verbose
        self.wrong: list[str] = []

    def options(self, wanted: expectation.Expectation) -> list[str]:
        return ["--enforce"] * wanted.enforce + ["--streams=late"] * wanted.late

    def in_full(self, argv: list[str], options: list[str] = []) -> None:
        typed = ["cuvmm", "run", "--emulate", *options, "--", *argv]
        print("$ " + " ".join(word.replace(f"{HERE.parent}/", "") for word in typed), flush=True)
        done = subprocess.run([str(self.build.command), *typed[1:]], env=os.environ | ENVIRONMENT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        print(done.stdout if self.verbose else short(done.stdout), flush=True)

    def check(self, name: str, source: pathlib.Path) -> tuple[str, list[dict]]:
        """Runs one; what it yields must be what its comment says."""
        wanted = expectation.read(source)
        run = self.build.run([str(self.build.program(name))], emulate=True, enforce=wanted.enforce,
                             environment=ENVIRONMENT | {"CUVMM_STREAMS": "late" if wanted.late else "eager"})
        faults = wanted.difference(run.findings) + ([] if run.code == 0 else [run.end()])
        if faults:
            self.wrong.append(f"{name}: {'; '.join(faults)}")
            print(run.output)
        return name, run.findings


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if argument != "--verbose"]
    if len(arguments) != 1:
        print(__doc__)
        return 2
    build, verbose = pathlib.Path(arguments[0]), "--verbose" in sys.argv
    demo = Demo(build, verbose)
    bugs = {source.stem: source for source in sorted((HERE / "bugs").glob("*/*.cc"))}
    show = list(bugs) if verbose else list(TOLD)

    heading("A clean program: it reserves once, grows by mapping, shrinks, and frees")
    _, findings = demo.check("growable_buffer", HERE / "growable_buffer" / "main.cc")
    print("no finding" if not findings else f"{len(findings)} findings")
    for name in show:
        heading(TOLD.get(name, name) + f" ({project(bugs[name])})")
        demo.in_full([str(demo.build.program(name))], demo.options(expectation.read(bugs[name])))
    heading("Python: a cache gives a block up and forgets to release it; the program ends without an error")
    demo.in_full(["python3", str(HERE / "python_leak.py")])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        checked = list(pool.map(lambda name: demo.check(name, bugs[name]), bugs))
    rest = [(name, findings) for name, findings in checked if name not in show]
    if rest:
        heading(f"{len(rest)} more, each a bug that a real project had")
        print(f"{'bug':34} {'who had it':27} {'found as':51} at")
        for name, findings in rest:
            first = next((one for one in findings if one["rule"] in expectation.read(bugs[name]).rules), {})
            print(f"{name:34} {project(bugs[name]):27} {first.get('rule', '-'):51} {place(first, name)}")

    page = build / "demo.html"
    subprocess.run([str(demo.build.command), "run", "--emulate", "--quiet", "--report", str(page), "--",
                    str(demo.build.program("growable_buffer"))], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    command = os.path.relpath(demo.build.command)
    heading("Next")
    print(f"{page}: the first program's address space and memory over time, for a browser\n"
          f"{command} run --emulate -- YOUR PROGRAM     your own program, without a GPU\n"
          f"{command} explain cuMemMap-inside-reservation\n"
          f"./dev demo --verbose     each of the {len(bugs)} bugs in full")
    if demo.wrong:
        heading("Found otherwise than expected")
        print("\n".join(demo.wrong))
    return 1 if demo.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
