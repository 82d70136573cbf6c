# SPDX-License-Identifier: Apache-2.0
"""The programs of the bank: programs.toml as data, and the runs that follow from it."""

from __future__ import annotations

import dataclasses
import fnmatch
import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
MODES = ("bare", "observed", "exact")
DEFAULT_TIMEOUT_S = 150

_KEYS = {"name", "run", "needs", "allocators", "devices", "timeout"}


class PlanError(ValueError):
    """A table with an error; the text names the error."""


@dataclasses.dataclass(frozen=True)
class Program:
    """One program. `argv` starts it; it prints `digest=...`, or ends with 77 and a line `skipped: ...`."""

    name: str
    argv: tuple[str, ...]
    needs: tuple[str, ...]
    devices: int
    timeout: float  # seconds


@dataclasses.dataclass(frozen=True)
class Case:
    """A program with one allocator. It runs in each mode, and the runs are compared."""

    program: Program
    allocator: str
    environment: tuple[tuple[str, str], ...]

    @property
    def key(self) -> tuple[str, str]:
        return self.program.name, self.allocator


@dataclasses.dataclass(frozen=True)
class Plan:
    cases: tuple[Case, ...]
    environment: dict[str, str]  # for every run

    def packages(self) -> set[str]:
        return {package for case in self.cases for package in case.program.needs}

    def chosen(self, programs: list[str], allocators: list[str], shard: tuple[int, int]) -> Plan:
        """The cases that match one of the globs of each list (an empty one: all), and of these every N-th, from the K-th."""

        def among(name: str, globs: list[str]) -> bool:
            return not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs)

        found = [case for case in self.cases if among(case.program.name, programs) and among(case.allocator, allocators)]
        return dataclasses.replace(self, cases=tuple(found[shard[0] - 1::shard[1]]))


def load(path: pathlib.Path, python: str) -> Plan:
    with path.open("rb") as file:
        table = tomllib.load(file)
    allocators = table.get("allocators", {})
    cases: list[Case] = []
    for entry in table.get("program", []):
        name = entry.get("name", "?")
        if unknown := set(entry) - _KEYS:
            raise PlanError(f"{path}: program {name}: unknown {', '.join(sorted(unknown))}")
        if missing := {"name", "run", "allocators"} - set(entry):
            raise PlanError(f"{path}: program {name}: no {', '.join(sorted(missing))}")
        if entry["allocators"] not in allocators:
            raise PlanError(f"{path}: program {name}: there is no [allocators.{entry['allocators']}]")
        program = Program(name, _argv(entry, python), tuple(entry.get("needs", ())), entry.get("devices", 1),
                          float(entry.get("timeout", DEFAULT_TIMEOUT_S)))
        cases += [Case(program, allocator, tuple(sorted(variables.items())))
                  for allocator, variables in allocators[entry["allocators"]].items()]
    if len({case.key for case in cases}) != len(cases):
        raise PlanError(f"{path}: two programs have one name")
    return Plan(tuple(cases), table.get("environment", {}))


def _argv(entry: dict, python: str) -> tuple[str, ...]:
    run = entry["run"]
    if isinstance(run, list):
        return tuple(word.replace("{python}", python) for word in run)
    module, _, function = run.partition(":")
    devices = entry.get("devices", 1)
    launcher = () if devices == 1 else ("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={devices}")
    return (python, *launcher, str(HERE / "programs" / "start.py"), module, function)
