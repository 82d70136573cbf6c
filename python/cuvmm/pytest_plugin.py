# SPDX-License-Identifier: Apache-2.0
"""pytest under cuvmm: a test fails if it misuses CUDA's memory APIs or leaks memory.

`pytest --cuvmm=emulate` needs no GPU. docs/testing/README.md explains options, the marker and fixtures.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Optional

import pytest

import cuvmm
from cuvmm import _fresh, _restart, _sarif
from cuvmm._findings import Finding, finding_from_json
from cuvmm._watch import LEAK_CHOICES, Watch, text_of

_OUTSIDE = "(outside of tests)"
_MARKER = ("cuvmm(allow=[RULE, ...], devices=N, driver='emulate'|'real'|PROFILE, leaks='given-up'|'all'|'no'): "
           "the rules that this test may break, and the driver that it runs on")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cuvmm", "misuse of CUDA's memory APIs (cuvmm)")
    group.addoption("--cuvmm", nargs="?", const="auto", default=None, metavar="emulate|real|PROFILE",
                    help="run under cuvmm: findings and leaks fail their test. emulate, or a profile: without a GPU. "
                         "Alone (or auto): on this machine's driver, or the emulator if there is none")
    group.addoption("--cuvmm-devices", type=int, default=None, metavar="N", help="devices that the emulator has")
    group.addoption("--cuvmm-report", action="append", default=[], metavar="FILE",
                    help="write the findings: FILE.json as `cuvmm run --report`, FILE.sarif for code hosts")
    group.addoption("--cuvmm-leaks", choices=LEAK_CHOICES, default="given-up",
                    help="the leaks at the end of a test: memory that the test gave up and still pins (the default), "
                         "all objects that it made and did not end, or none")
    group.addoption("--cuvmm-relay", default=None, metavar="FILE", help=argparse.SUPPRESS)


def _check_mode(mode: str) -> None:
    looks_like_tests = "::" in mode or mode.endswith(".py") or os.path.isdir(mode)
    if looks_like_tests:
        raise pytest.UsageError(f"--cuvmm took {mode!r} as its value: write --cuvmm=auto {mode}")
    words = ("auto", "emulate", "real")
    near = difflib.get_close_matches(mode.lower(), words, 1, 0.75)
    if mode not in words and near and not os.path.exists(mode):
        raise pytest.UsageError(f"--cuvmm={mode}: did you mean --cuvmm={near[0]}?")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    options = early_config.known_args_namespace
    mode = getattr(options, "cuvmm", None)
    if mode is None or hasattr(early_config, "workerinput"):
        return
    _check_mode(mode)
    for report in options.cuvmm_report:
        if not report.endswith((".json", ".sarif")):
            raise pytest.UsageError(f"--cuvmm-report {report}: expected a name that ends in .json or .sarif")
        if report.endswith(".sarif") and (problem := _sarif.cannot_write(report)):
            raise pytest.UsageError(f"--cuvmm-report {report}: {problem}")
    if cuvmm.active():
        return
    if _restart.STARTED in os.environ:
        raise pytest.UsageError("--cuvmm: `cuvmm run` started this pytest, but its shim is not here. "
                                "Is this Python statically linked, or set-user-ID?")
    command = _restart.find_command()
    if command is None:
        raise pytest.UsageError("--cuvmm: there is no `cuvmm` command in PATH; CUVMM_COMMAND may name it")
    program = _restart.own_program(early_config.invocation_params.args)
    if program is None:
        raise pytest.UsageError("--cuvmm: a program has started pytest by pytest.main(); "
                                "start that program by `cuvmm run -- PROGRAM`")
    reports = [os.path.abspath(report) for report in options.cuvmm_report if report.endswith(".json")]
    if len(reports) > 1:
        raise pytest.UsageError("--cuvmm-report: expected one FILE.json at most")
    run = _restart.run_options(mode, options.cuvmm_devices, reports[0] if reports else None)
    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)  # so that the new process writes to pytest's own stdout
    os.execve(command, [command, "run", *run, "--", *program], _restart.environment_for(os.environ))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("--cuvmm") is None or not cuvmm.active():
        return
    if _restart.STARTED not in os.environ and not hasattr(config, "workerinput"):
        if any(report.endswith(".json") for report in config.getoption("--cuvmm-report")):
            raise pytest.UsageError("--cuvmm-report FILE.json: pytest runs under `cuvmm run` already; "
                                    "give --report to that")
    config.pluginmanager.register(Plugin(config), "cuvmm-session")


@dataclasses.dataclass
class Mark:
    """A moment, and the findings since then."""

    value: int

    def findings(self) -> list[Finding]:
        return cuvmm.findings(self.value)

    def count(self, rule: Optional[str] = None) -> int:
        return cuvmm.count(rule, since=self.value)

    def leaks(self, *, alive: bool = False) -> list[Finding]:
        return cuvmm.leaks(self.value, alive=alive)


@pytest.fixture
def cuvmm_mark() -> Mark:
    """The start of the test. .findings(), .count() and .leaks() tell of the time since then."""
    return Mark(cuvmm.mark())


@pytest.fixture
def cuvmm_expect() -> Callable[..., AbstractContextManager[None]]:
    """`with cuvmm_expect("cuMemMap-offset-zero"): ...`: the test fails unless the block breaks this rule."""
    return cuvmm.expect


@pytest.fixture
def cuvmm_fail() -> Callable[..., AbstractContextManager[cuvmm.Failures]]:
    """`with cuvmm_fail("cuMemCreate@3"): ...`: the third cuMemCreate of the block fails."""
    return cuvmm.fail


@pytest.fixture
def cuvmm_fail_each() -> Callable[..., Iterator[cuvmm.Attempt]]:
    """`for attempt in cuvmm_fail_each():` / `with attempt: ...`: each call of the block fails in turn."""
    return cuvmm.fail_each


@dataclasses.dataclass
class _Wishes:
    """The settings in the markers of a test. The nearest marker wins."""

    allow: list[str]
    devices: Optional[int]
    driver: Optional[str]
    leaks: Optional[str]

    @classmethod
    def of(cls, item: pytest.Item) -> _Wishes:
        wishes = cls([], None, None, None)
        for marker in item.iter_markers("cuvmm"):
            unknown = set(marker.kwargs) - {"allow", "devices", "driver", "leaks"}
            if unknown or marker.args:
                raise pytest.UsageError(f"{item.nodeid}: expected @pytest.mark.{_MARKER.split(':')[0]}")
            allow = marker.kwargs.get("allow", [])
            wishes.allow += [allow] if isinstance(allow, str) else list(allow)
            for name in ("devices", "driver", "leaks"):
                if getattr(wishes, name) is None:
                    setattr(wishes, name, marker.kwargs.get(name))
        if wishes.leaks not in (None, *LEAK_CHOICES):
            raise pytest.UsageError(f"{item.nodeid}: leaks={wishes.leaks!r}: expected one of {LEAK_CHOICES}")
        return wishes


class Plugin:
    """The plugin of a session whose process has the shim."""

    def __init__(self, config: pytest.Config):
        self.config = config
        self.worker = hasattr(config, "workerinput")
        self.mode: str = config.getoption("--cuvmm")
        self.devices: Optional[int] = config.getoption("--cuvmm-devices")
        self.leaks: str = config.getoption("--cuvmm-leaks")
        self.relay: Optional[str] = config.getoption("--cuvmm-relay")
        self.watch = Watch()
        # (test, its file and line, finding); with xdist, the controller has those of all workers
        self.found: list[tuple[str, Optional[tuple[str, int]], Finding]] = []
        self.ran: set[str] = set()  # names of tests, those of all workers included
        self.driver = cuvmm.info()
        if self.mode == "real" and self.driver is not None and self.driver.emulated:
            raise pytest.UsageError("--cuvmm=real: there is no CUDA driver here, cuvmm uses its emulator")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for rule in _Wishes.of(item).allow:
                try:
                    with cuvmm.expect(rule):
                        pass
                except cuvmm.ExpectationError:
                    pass  # the rule exists
                except cuvmm.CuvmmError as error:
                    raise pytest.UsageError(f"{item.nodeid}: allow={rule!r}: {error}") from None

    def _needs_its_own(self, wishes: _Wishes) -> bool:
        emulated = self.driver is not None and self.driver.emulated
        here = {self.mode} | ({"emulate"} if emulated and self.mode == "auto" else set())
        here |= {"real"} if not emulated else set()
        other_driver = wishes.driver is not None and wishes.driver not in here
        other_devices = wishes.devices is not None and wishes.devices != self.devices
        return other_driver or (other_devices and (emulated or other_driver))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: Optional[pytest.Item]) -> bool:
        from _pytest.runner import runtestprotocol

        wishes = _Wishes.of(item)
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        if self.relay is None and self._needs_its_own(wishes):
            mode = wishes.driver or ("emulate" if self.mode == "auto" else self.mode)
            reports = _fresh.run(item, mode, wishes.devices or self.devices, wishes.leaks or self.leaks)
            # Fixtures of a module or session end here, if this was their last test.
            item.session._setupstate.teardown_exact(nextitem)
        else:
            with self.watch.test(item.nodeid, wishes.allow, wishes.leaks or self.leaks) as found:
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
            _judge(item, reports, found)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            yield
        else:  # the fixture outlives the test
            with cuvmm.scope(f"fixture {fixturedef.argname} ({fixturedef.scope})", keeps=True, quiet=True):
                yield

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.relay is not None:
            data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
            with open(self.relay, "a", encoding="utf-8") as file:
                file.write(json.dumps(data) + "\n")
        if report.when == "setup" and not report.skipped:
            self.ran.add(report.nodeid)
        for value in getattr(report, "cuvmm", []):
            path, line, _ = report.location
            self.found.append((report.nodeid, (path, (line or 0) + 1), finding_from_json(value)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for value in (getattr(node, "workeroutput", None) or {}).get("cuvmm", []):
            self.found.append((_OUTSIDE, None, finding_from_json(value)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        rest = self.watch.outside()
        if self.worker:
            self.config.workeroutput["cuvmm"] = [dict(one.raw) for one in rest]  # type: ignore[attr-defined]
            return
        self.found += [(_OUTSIDE, None, one) for one in rest]
        if session.exitstatus == pytest.ExitCode.OK and any(test == _OUTSIDE for test, _, _ in self.found):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        for report in self.config.getoption("--cuvmm-report"):
            if report.endswith(".sarif"):
                with open(report, "w", encoding="utf-8") as file:
                    json.dump(_sarif.document(self.found, str(self.config.rootpath)), file, indent=1)
                    file.write("\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_sep("=", "cuvmm")
        known = self.driver
        driver = "the emulator" if known is not None and known.emulated else (known.driver if known else "no driver")
        tests = {test for test, _, _ in self.found if test != _OUTSIDE}
        outside = sum(one.count for test, _, one in self.found if test == _OUTSIDE)
        inside = sum(one.count for _, _, one in self.found) - outside
        all_tests = f"{len(self.ran)} test{'' if len(self.ran) == 1 else 's'}"
        where = f"{len(tests)} of {all_tests}" if tests else all_tests
        beside = f", {outside} outside of tests" if outside else ""
        terminalreporter.write_line(f"{inside or 'no'} finding{'' if inside == 1 else 's'} in {where}{beside}, on {driver}")
        for test, _, one in self.found:
            times = f", {one.count} times" if one.count > 1 else ""
            terminalreporter.write_line(f"{test}: {one.kind}: {one.rule}{times}")
        for test, _, one in self.found:
            if test == _OUTSIDE:
                terminalreporter.write_line("\n" + one.text.rstrip("\n"))
        for report in self.config.getoption("--cuvmm-report"):
            if report.endswith(".sarif") and self.relay is None:
                terminalreporter.write_line(f"SARIF in {report}")


def _judge(item: pytest.Item, reports: list[pytest.TestReport], found: list[Finding]) -> None:
    """Makes the test fail if it has findings, and adds their text to its report."""
    if not found:
        return
    report = next((one for one in reports if one.when == "call"), reports[0])
    report.cuvmm = [dict(one.raw) for one in found]  # type: ignore[attr-defined]
    text = text_of(item.nodeid, found)
    if report.outcome == "failed" or hasattr(report, "wasxfail"):
        report.sections.append(("cuvmm", text))
        if hasattr(report, "wasxfail"):
            report.outcome = "skipped"  # an expected failure (xfail)
        return
    report.outcome = "failed"
    report.longrepr = text
