# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, on small suites that are written here, and on examples/pytest_allocator.

Usage: plugin_test.py CUVMM [unittest arguments]. Exit code 77 where this Python has no pytest.
"""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = SOURCE / "examples" / "pytest_allocator"
CUVMM = ""

PRELUDE = """
import ctypes, os, subprocess, sys
import cuvmm, driver, pytest
M = 2 << 20
def leak():
    driver.start()
    driver.create(M)
def allocate():
    driver.start()
    address = ctypes.c_uint64()
    driver._must("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(M))
    return address
def misuse():
    driver.start()
    base = driver.reserve(M)
    driver.unmap(base, M)
    driver.free_address(base, M)
LEAK = "import driver; driver.start(); driver.create(2 << 20)"
"""


class Outcome:
    """The output of a run of pytest, by test."""

    def __init__(self, process):
        self.code, self.text, self.errors = process.returncode, process.stdout, process.stderr
        self.counts = {word: int(number) for number, word in re.findall(
            r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)", self.text.splitlines()[-1] if self.text else "")}
        # The text of each failure, by the name of its test.
        parts = re.split(r"^_{3,} (?:ERROR at \w+ of )?([\w\[\]. -]+?) _{3,}$", self.text, flags=re.M)
        self.failures = dict(zip(parts[1::2], parts[2::2]))


class Suite(unittest.TestCase):
    def pytest(self, *options, folder, environment=None):
        inherited = {name: value for name, value in os.environ.items()
                if not name.startswith(("CUVMM_", "PYTEST_")) and name != "LD_PRELOAD"}
        inherited |= {"PYTHONPATH": f"{SOURCE / 'python'}:{EXAMPLE}", "CUVMM_COMMAND": CUVMM, "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "cuvmm.pytest_plugin", *options],
            capture_output=True, text=True, cwd=folder, env=inherited | (environment or {}), check=False)
        return Outcome(process)

    def suite(self, body, *options, **more):
        """Runs one test file under cuvmm on the emulator."""
        with tempfile.TemporaryDirectory(prefix="cuvmm-suite-") as folder:
            pathlib.Path(folder, "pytest.ini").write_text("[pytest]\n")
            pathlib.Path(folder, "test_it.py").write_text(PRELUDE + textwrap.dedent(body))
            outcome = self.pytest("--cuvmm=emulate", *options, folder=folder, **more)
            for name in ("r.json", "r.sarif"):
                file = pathlib.Path(folder, name)
                if file.exists():
                    setattr(outcome, name[2:], json.loads(file.read_text()))
            return outcome

    def counted(self, outcome, **counts):
        self.assertEqual(outcome.counts, counts, outcome.text + outcome.errors)


class Example(Suite):
    def test_two_red_tests_with_the_right_words(self):
        outcome = self.pytest("--cuvmm=emulate", folder=EXAMPLE)
        self.counted(outcome, failed=2, passed=1)
        self.assertEqual(outcome.code, 1)
        self.assertIn("cuvmm: 1 finding in test_arena.py::test_shrinks", outcome.failures["test_shrinks"])
        self.assertIn("was never released: 2 MiB is still allocated, and nothing maps it [cuMemCreate-released]",
                      outcome.failures["test_shrinks"])
        self.assertIn("cuvmm: 1 finding in test_arena.py::test_sleeps", outcome.failures["test_sleeps"])
        self.assertIn("cuMemUnmap: nothing is mapped in [0x", outcome.failures["test_sleeps"])
        self.assertIn("test_sleeps at ", outcome.failures["test_sleeps"])
        self.assertNotIn("_multicall at ", outcome.text)  # pytest's own frames
        self.assertIn("2 findings in 2 of 3 tests, on the emulator", outcome.text)

    def test_green_when_mended(self):
        outcome = self.pytest("--cuvmm=emulate", folder=EXAMPLE, environment={"ARENA_MENDED": "1"})
        self.counted(outcome, passed=3)
        self.assertEqual(outcome.code, 0)
        self.assertIn("no findings in 3 tests, on the emulator", outcome.text)

    def test_green_without_cuvmm(self):
        emulator = os.path.join(os.path.dirname(CUVMM), "../lib/emulator")
        outcome = self.pytest(folder=EXAMPLE, environment={"LD_LIBRARY_PATH": emulator})
        self.counted(outcome, passed=3)


class FailsOnPurpose(Suite):
    def test_each_call_of_a_block(self):
        outcome = self.suite("""
            def grow(clean):
                base, handle = driver.reserve(M), None
                try:
                    handle = driver.create(M)
                    driver.map_at(base, M, handle)
                    driver.unmap(base, M)
                except driver.CudaError:
                    if clean:
                        if handle: driver.release(handle)
                        driver.free_address(base, M)
                    raise
                driver.release(handle); driver.free_address(base, M)
            def test_one(cuvmm_fail):
                driver.start()
                with cuvmm_fail("cuMemCreate@1") as failures, pytest.raises(driver.CudaError): driver.create(M)
                assert [one.call for one in failures.failed] == ["cuMemCreate"]
            def test_forgets(cuvmm_fail_each):
                driver.start()
                for attempt in cuvmm_fail_each("cuMemCreate"):
                    with attempt: grow(False)
            def test_clears_up(cuvmm_fail_each):
                driver.start()
                for attempt in cuvmm_fail_each("cuMemCreate"):
                    with attempt: grow(True)
            """)
        self.counted(outcome, failed=1, passed=2)
        self.assertIn("cuMemCreate (call 2) answered CUDA_ERROR_OUT_OF_MEMORY", outcome.failures["test_forgets"])


class Findings(Suite):
    def test_allow_expect_mark_and_xfail(self):
        outcome = self.suite("""
            @pytest.mark.cuvmm(allow=["cuMemUnmap-*"])
            def test_allowed(): misuse()
            @pytest.mark.cuvmm(allow=["cuMemUnmap-*"])
            def test_another_rule(): leak()
            @pytest.mark.cuvmm(leaks="no")
            def test_no_leaks(): leak()
            @pytest.mark.cuvmm(leaks="all")
            def test_all_leaks():
                driver.start(); driver.reserve(M)
            @pytest.mark.cuvmm(leaks="all")
            def test_all_memory():
                allocate()
            @pytest.mark.cuvmm(leaks="all")
            def test_all_freed():
                driver._must("cuMemFree_v2", allocate())
            def test_alive():
                driver.start(); driver.reserve(M); allocate()
            def test_expected(cuvmm_expect):
                with cuvmm_expect("cuMemUnmap-mapped"): misuse()
            def test_expected_in_vain(cuvmm_expect):
                with cuvmm_expect("cuMemUnmap-mapped"): pass
            def test_mark(cuvmm_mark):
                with cuvmm.expect("cuMemCreate-released"):
                    leak()
                    assert cuvmm_mark.leaks() == [] and cuvmm_mark.count() == 0
            @pytest.mark.xfail
            def test_known_bug(): leak()
            def test_fails_itself():
                misuse(); assert False, "for this reason"
            """, "--cuvmm-report=r.json", "--cuvmm-report=r.sarif")
        self.counted(outcome, failed=5, passed=6, xfailed=1)
        self.assertEqual(set(outcome.failures), {"test_another_rule", "test_all_leaks", "test_all_memory",
                                                 "test_expected_in_vain", "test_fails_itself"})
        self.assertIn("(2 MiB) is still there [memory-freed]", outcome.failures["test_all_memory"])
        self.assertIn("the reservation of 2 MiB", outcome.failures["test_all_leaks"])
        self.assertIn("came", outcome.failures["test_expected_in_vain"])
        self.assertIn("for this reason", outcome.failures["test_fails_itself"])
        self.assertIn("cuMemUnmap-mapped", outcome.failures["test_fails_itself"])
        results = outcome.sarif["runs"][0]["results"]
        found = {(one["properties"]["test"], one["ruleId"]) for one in results}
        self.assertIn(("test_it.py::test_another_rule", "cuMemCreate-released"), found)
        place = results[0]["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"], {"uri": "test_it.py", "uriBaseId": "SRCROOT"})
        # The place is the innermost Python line, which is in a helper of PRELUDE, and not the test's line.
        self.assertLessEqual(place["region"]["startLine"], PRELUDE.count("\n"))
        self.assertEqual(outcome.json["expected"], 4)
        self.assertNotIn("(outside of tests)", outcome.text)
        self.assertIn("test_it.py::test_another_rule", {one.get("scope") for one in outcome.json["findings"]})

    def test_one_place_two_tests(self):
        outcome = self.suite("""
            def test_first(): misuse()
            def test_second(): misuse()
            """)
        self.counted(outcome, failed=2)

    def test_fixtures_that_live_longer(self):
        outcome = self.suite("""
            @pytest.fixture(scope="module")
            def pool():
                driver.start(); handle = driver.create(M)
                yield handle
                driver.release(handle)
            @pytest.fixture(scope="module")
            def bad_pool():
                driver.start(); yield driver.create(M)
            @pytest.fixture
            def page():
                driver.start(); handle = driver.create(M)
                yield handle
                driver.release(handle)
            def test_good(pool, page): pass
            def test_bad(bad_pool): pass
            """)
        # No test made the leak, so the session fails.
        self.counted(outcome, passed=2)
        self.assertEqual(outcome.code, 1, outcome.text)
        self.assertIn("(outside of tests): leak: cuMemCreate-released", outcome.text)
        self.assertIn("\nno findings in 2 tests, 1 outside of tests, on the emulator\n", outcome.text)
        self.assertEqual(outcome.text.count("[cuMemCreate-released]"), 1, outcome.text)
        self.assertIn("fixture bad_pool (module)", outcome.text)

    def test_garbage_is_no_leak(self):
        outcome = self.suite("""
            class Page:
                def __init__(self):
                    driver.start(); self.handle = driver.create(M); self.me = self
                def __del__(self): driver.release(self.handle)
            def test_cycle(): Page()
            """)
        self.counted(outcome, passed=1)

    def test_processes_that_a_test_starts(self):
        outcome = self.suite("""
            def run(code): subprocess.run([sys.executable, "-c", code], check=True)
            def test_clean(): run("import driver; driver.start()")
            def test_subprocess(): run(LEAK)
            def test_fork():
                child = os.fork()
                if child == 0:
                    leak()
                    os._exit(0)
                os.waitpid(child, 0)
            def test_after(): run("import driver; driver.start()")
            """)
        self.counted(outcome, failed=2, passed=2)
        self.assertEqual(set(outcome.failures), {"test_subprocess", "test_fork"})
        self.assertIn("in process ", outcome.failures["test_subprocess"])


class Runs(Suite):
    def test_other_devices(self):
        outcome = self.suite("""
            import ctypes
            def devices():
                driver.start(); n = ctypes.c_int()
                ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(n))
                return n.value
            def test_here(): assert devices() == 3
            @pytest.mark.cuvmm(devices=2)
            def test_two(): assert devices() == 2
            @pytest.mark.cuvmm(devices=2)
            def test_two_and_a_leak(): assert devices() == 2; leak()
            @pytest.mark.cuvmm(driver="documented")
            def test_profile(): assert os.environ["CUVMM_PROFILE"] == "documented"
            """, "--cuvmm-devices=3")
        self.counted(outcome, failed=1, passed=3)
        self.assertIn("cuMemCreate-released", outcome.failures["test_two_and_a_leak"])

    @unittest.skipUnless(importlib.util.find_spec("xdist"), "pytest-xdist is not installed")
    def test_xdist(self):
        outcome = self.suite("""
            @pytest.mark.parametrize("n", range(4))
            def test_leaks(n): leak()
            @pytest.mark.parametrize("n", range(4))
            def test_good(n): driver.start()
            """, "-n2", "--cuvmm-report=r.json", "--cuvmm-report=r.sarif")
        self.counted(outcome, failed=4, passed=4)
        tests = {f"test_it.py::test_leaks[{n}]" for n in range(4)}
        self.assertEqual({one["properties"]["test"] for one in outcome.sarif["runs"][0]["results"]}, tests)
        self.assertEqual({one["scope"] for one in outcome.json["findings"]}, tests)
        self.assertEqual(len({one["pid"] for one in outcome.json["findings"]}), 2)
        self.assertIn("4 findings in 4 of 8 tests", outcome.text)

    def test_mistakes_of_the_user(self):
        for options, sentence in (
                (["--cuvmm", "test_it.py"], "write --cuvmm=auto test_it.py"),
                (["--cuvmm=emulat"], "--cuvmm=emulat: did you mean --cuvmm=emulate?"),
                (["--cuvmm-report=nowhere/r.sarif"], "there is no folder "),
                (["--cuvmm-report=r.txt"], "expected a name that ends in .json or .sarif"),
                (["--cuvmm=real"], "there is no CUDA driver here" if not os.path.exists("/dev/nvidiactl") else "")):
            outcome = self.suite("def test_it(): pass", *options)
            if sentence:
                self.assertEqual(outcome.code, 4, outcome.text)
                self.assertIn(sentence, outcome.errors + outcome.text)
        for marker, sentence in (("allow=['cuMemMap-nonsense']", "no rule has this id"), ("permit=[]", "expected @pytest.mark.cuvmm("),
                             ("leaks='some'", "expected one of")):
            outcome = self.suite(f"@pytest.mark.cuvmm({marker})\ndef test_it(): pass")
            self.assertNotEqual(outcome.code, 0)
            self.assertIn(sentence, outcome.errors + outcome.text)

    def test_without_the_option_nothing_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "test_it.py").write_text(
                "import pytest, cuvmm\n@pytest.mark.cuvmm(allow=['x'], devices=2)\n"
                "def test_it(cuvmm_mark, cuvmm_expect):\n    assert not cuvmm.active()\n    assert cuvmm_mark.leaks() == []\n"
                "    with cuvmm_expect('x'): pass\n")
            self.counted(self.pytest(folder=folder), passed=1)


if __name__ == "__main__":
    if importlib.util.find_spec("pytest") is None:
        other = os.environ.get("CUVMM_PYTHON", str(SOURCE / ".deps/venv/bin/python3"))
        if os.path.exists(other) and os.path.abspath(other) != sys.executable and "CUVMM_TEST_AGAIN" not in os.environ:
            os.environ["CUVMM_TEST_AGAIN"] = "1"
            os.execv(other, [other, *sys.argv])
        print(f"skipped: {sys.executable} has no pytest; `./dev test` installs it (emulator/python/requirements.txt)")
        sys.exit(77)
    CUVMM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
