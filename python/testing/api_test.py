# SPDX-License-Identifier: Apache-2.0
"""`import cuvmm` under the shim and without it.

Usage: api_test.py CUVMM CLIENTS_FOLDER [unittest arguments]. CLIENTS_FOLDER has the programs of include/testing.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CUVMM, CLIENTS = "", ""

PRELUDE = """
import sys
sys.path[:0] = [{python!r}, {example!r}]
import threading, os, subprocess, cuvmm, driver
M = 2 << 20
def start():
    driver.start()
    return driver.reserve(M)
def misuse(base, times=1):
    for _ in range(times): driver.unmap(base, M)
"""


def run(body, *options, shim=True):
    """(process, report) of a Python program."""
    prelude = PRELUDE.format(python=str(SOURCE / "python"), example=str(SOURCE / "examples/pytest_allocator"))
    return run_program([sys.executable, "-c", prelude + body], *options, shim=shim)


def run_program(command, *options, shim=True):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUVMM_")}
    with tempfile.TemporaryDirectory(prefix="cuvmm-api-") as folder:
        report = pathlib.Path(folder, "r.json")
        if shim:
            command = [CUVMM, "run", "--emulate", "--report", str(report), *options, "--", *command]
        process = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        return process, json.loads(report.read_text()) if report.exists() else None


class Native(unittest.TestCase):
    """The programs in C89 and C++, which call every function, have equal results."""

    def test_under_the_shim(self):
        for program in ("cuvmm_api_c89", "cuvmm_api_cxx"):
            with self.subTest(program):
                process, report = run_program([os.path.join(CLIENTS, program)])
                self.assertEqual(process.returncode, 0, process.stderr)
                # The program expects 3 + 5 findings. A leak that cuvmm_leaks() found is not printed again at exit.
                self.assertEqual(report["expected"], 8)
                leaks = [one for one in report["findings"] if one["kind"] == "leak"]
                self.assertEqual([(one["rule"], one["count"]) for one in leaks], [("cuMemCreate-released", 1)])
                self.assertEqual(leaks[0]["objects"][0]["name"], "forgotten")
                scopes = {one.get("scope") for one in report["findings"]}
                self.assertEqual(scopes, {None, "outer", "outer > inner"})
                self.assertIn('"key "cache""', process.stderr)
                self.assertEqual(process.stderr.count("    in: outer\n"), 2)  # in two findings
                self.assertNotIn("outer > inner", process.stderr)  # the scope is quiet

    def test_without_it(self):
        for program in ("cuvmm_api_c89", "cuvmm_api_cxx"):
            emulator = os.path.join(os.path.dirname(CUVMM), "../lib/emulator")
            process = subprocess.run([os.path.join(CLIENTS, program), "none"], capture_output=True, text=True,
                                     env={**os.environ, "LD_LIBRARY_PATH": emulator}, check=False)
            self.assertEqual((process.returncode, process.stderr), (0, ""), program)


class GoogleTest(unittest.TestCase):
    PROGRAM = "cuvmm_gtest_client"

    def test_findings_fail_their_test(self):
        program = os.path.join(CLIENTS, self.PROGRAM)
        if not os.path.exists(program):
            self.skipTest("it was not built")
        process, report = run_program([program])
        self.assertEqual(process.returncode, 1, process.stdout)
        for line in ("[       OK ] Memory.IsReleased", "[       OK ] Memory.MisuseIsExpected",
                     "[  FAILED  ] Memory.IsForgotten", "[  FAILED  ] Memory.IsUnmappedTwice",
                     "cuvmm: 1 finding\n\ncuvmm: leak: 1 reference of handle", "\n    fix: Call cuMemRelease once"):
            self.assertIn(line, process.stdout)
        self.assertEqual({(one["rule"], one["scope"]) for one in report["findings"]},
                         {("cuMemCreate-released", "Memory.IsForgotten"),
                          ("cuMemUnmap-mapped", "Memory.IsUnmappedTwice")})
        self.assertNotIn("leak: 1 reference", process.stderr)

    def test_without_the_shim(self):
        emulator = os.path.join(os.path.dirname(CUVMM), "../lib/emulator")
        program = os.path.join(CLIENTS, self.PROGRAM)
        if not os.path.exists(program):
            self.skipTest("it was not built")
        process = subprocess.run([program, "--gtest_filter=-*Expected"], capture_output=True, text=True,
                                 env={**os.environ, "LD_LIBRARY_PATH": emulator}, check=False)
        self.assertEqual(process.returncode, 0, process.stdout)


class Python(unittest.TestCase):
    def good(self, body, *options, **more):
        process, report = run(body, *options, **more)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process, report

    def test_without_the_shim(self):
        code = f"import sys; sys.path.insert(0, {str(SOURCE / 'python')!r})\n" + """
import cuvmm
assert not cuvmm.active() and cuvmm.info() is None and cuvmm.mark() == 0
assert cuvmm.findings() == [] and cuvmm.leaks() == [] and cuvmm.count() == 0
cuvmm.name_range(1, 2, "x"); cuvmm.name_handle(1, "x"); cuvmm.reset()
with cuvmm.scope("s"), cuvmm.expect("nonsense"): pass
with cuvmm.fail("nonsense") as failures: pass
assert (failures.calls, failures.failed) == (0, [])
runs = 0
for attempt in cuvmm.fail_each():
    with attempt: runs += 1
assert runs == 1
"""
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_findings_scopes_and_names(self):
        process, report = self.good("""
assert cuvmm.active() and cuvmm.info().emulated
base = start()
mark = cuvmm.mark()
cuvmm.name_range(base, M, "the cache")
with cuvmm.scope("request 7"):
    misuse(base, 2)
one, = cuvmm.findings(since=mark)
assert (one.rule, one.kind, one.count, one.scope) == ("cuMemUnmap-mapped", "error", 2, "request 7"), one
assert one.counts and one.text.startswith("cuvmm: error: cuMemUnmap: ") and one.fix in one.text
assert [o.name for o in one.objects if o.what == "reservation"] == ["the cache"], one.objects
assert cuvmm.count(since=mark) == 2 and cuvmm.count("cuMemUnmap-mapped") == 2
assert cuvmm.info().scope == ""
cuvmm.reset()
assert cuvmm.count() == 0 and cuvmm.findings() == []
""")
        self.assertEqual(report["summary"]["error"], 2)
        self.assertIn("    in: request 7\n", process.stderr)

    def test_expectations(self):
        _, report = self.good("""
base = start()
with cuvmm.expect("cuMemUnmap-mapped"): misuse(base, 3)
with cuvmm.expect("cuMemUnmap-mapped", count=2): misuse(base, 2)
try:
    with cuvmm.expect("cuMemUnmap-mapped", count=2): misuse(base, 1)
except cuvmm.ExpectationError as error:
    assert str(error) == "cuvmm: expected 2 of cuMemUnmap-mapped; 1 did not come", error
else:
    raise SystemExit("no error")
for wrong in (lambda: cuvmm.expect("cuMemUnmap-nonsense"), lambda: cuvmm.expect("")):
    try:
        with wrong(): pass
    except cuvmm.CuvmmError as error:
        assert "cuvmm: expect(" in str(error)
    else:
        raise SystemExit("no error")
""")
        self.assertEqual((report["expected"], report["findings"]), (6, []))

    def test_leaks_are_told_once(self):
        process, report = self.good("""
base = start()
mark = cuvmm.mark()
driver.create(M)
assert [one.rule for one in cuvmm.leaks(since=mark)] == ["cuMemCreate-released"]
later = cuvmm.mark()
assert cuvmm.leaks(since=later) == []
handle = driver.create(M); driver.map_at(base, M, handle)
assert cuvmm.leaks(since=later) == []
assert [one.rule for one in cuvmm.leaks(since=later, alive=True)] == ["cuMemCreate-released"]
driver.unmap(base, M); driver.release(handle)
""")
        self.assertEqual(report["summary"]["leak"], 2)

    def test_calls_fail(self):
        self.good("""
start()
with cuvmm.fail("cuMemCreate@2=OUT_OF_MEMORY") as failures:
    handle = driver.create(M)
    try: driver.create(M)
    except driver.CudaError as error: assert "answered 2" in str(error)
    else: raise SystemExit("no error")
    driver.release(driver.create(M))
    assert failures.calls == 3, failures.calls
assert failures.failed == [cuvmm.FailedCall("cuMemCreate", 2, "CUDA_ERROR_OUT_OF_MEMORY")], failures.failed
driver.release(driver.create(M)); driver.release(handle)
with cuvmm.fail() as counted: driver.reserve(M)
assert (counted.calls, counted.failed) == (1, [])
try:
    with cuvmm.fail("cuMemNonsense"): pass
except cuvmm.CuvmmError: pass
else: raise SystemExit("no error")
""")

    def test_each_call_of_a_block_fails(self):
        self.good("""
start()
def grow(bug):
    base, handle = driver.reserve(M), None
    try:
        handle = driver.create(M)
        driver._must("cuMemMap", driver._U64(base), driver._SIZE(M), driver._SIZE(0), driver._U64(handle),
                     driver._U64(0))
        driver.unmap(base, M)
    except driver.CudaError:
        if handle and bug != "handle": driver.release(handle)
        if bug != "base": driver.free_address(base, M)
        raise
    driver.release(handle); driver.free_address(base, M)
seen = []
for attempt in cuvmm.fail_each():
    with attempt: grow("")
    seen.append((attempt.number, [one.call for one in attempt.failed], attempt.error is None))
assert seen[0] == (0, [], True), seen
calls = [one[1][0] for one in seen[1::2]]
assert calls == ["cuMemAddressReserve", "cuMemCreate", "cuMemMap"], seen
assert all(not fine for _, _, fine in seen[1:]), seen
for bug, expected in (("handle", "when cuMemMap (call 3)"), ("base", "when cuMemCreate (call 2)")):
    try:
        for attempt in cuvmm.fail_each():
            with attempt: grow(bug)
    except cuvmm.FailureError as error:
        assert expected in str(error) and ("leak" in str(error) or "left behind" in str(error)), error
    else: raise SystemExit("no error")
# The plain attempt raises what the block raises.
try:
    for attempt in cuvmm.fail_each():
        with attempt: raise KeyError(7)
except KeyError: pass
else: raise SystemExit("no error")
""")

    def test_threads(self):
        _, report = self.good("""
base = start()
def work(number):
    for turn in range(10):
        with cuvmm.scope(f"thread {number}"):
            cuvmm.name_range(base, M, f"by {number}")
            misuse(base)
            cuvmm.findings(since=cuvmm.mark())
            cuvmm.leaks(since=cuvmm.mark())
mark = cuvmm.mark()
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
assert cuvmm.count(since=mark) == 40, cuvmm.count(since=mark)
assert cuvmm.info().scope == ""
""", "--quiet")
        self.assertEqual(report["summary"]["error"], 40)

    def test_children_carry_the_scope(self):
        # The parent makes no call, because a started driver does not work in children of fork.
        _, report = self.good("""
with cuvmm.scope("a test", quiet=True):
    cuvmm.mark()
    child = os.fork()
    if child == 0:
        misuse(start())
        assert cuvmm.count() == 1, cuvmm.findings()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    spawned = "import sys; sys.path[:0] = " + repr(sys.path[:2]) + "; import driver; driver.start(); driver.unmap(driver.reserve(2 << 20), 2 << 20)"
    subprocess.run([sys.executable, "-c", spawned], check=True, env={**os.environ, "CUVMM_SCOPE": "a test"})
""")
        self.assertEqual([one["scope"] for one in report["findings"]], ["a test", "a test"])
        self.assertEqual(len({one["pid"] for one in report["findings"]}), 2)


if __name__ == "__main__":
    CUVMM, CLIENTS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
