# SPDX-License-Identifier: Apache-2.0
"""Tests which code's findings count: programs in C and Python call an installed library that makes a mistake.

Usage: blame_run_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import cli_test  # noqa: E402

RULE = "cuMemAddressReserve-size-nonzero"
LIBRARY = """
#include <pthread.h>
int cuInit(unsigned);
int cuMemAddressReserve(unsigned long long*, unsigned long, unsigned long, unsigned long long, unsigned long long);
int wrong(void) {
  unsigned long long address = 0;
  cuInit(0);
  return 0 * cuMemAddressReserve(&address, 0, 0, 0, 0);
}
static void* work(void* unused) { wrong(); return unused; }
int wrong_in_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  return pthread_join(thread, 0);
}
"""
APP = """
int wrong(void);
int wrong_in_a_thread(void);
int main(int argc, char** argv) { return argc > 1 ? wrong_in_a_thread() : wrong(); }
"""
PACKAGE = """
import ctypes, os
library = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "libwrong.so"))
def call(name):
    return getattr(library, name)()
"""
TRAIN = """
import sys
sys.path.insert(0, {packages!r})
import pkg
def train():
    pkg.call(sys.argv[1])
train()
"""
RETAINED = """init()
r0 = cuMemAddressReserve(2M)
h0 = cuMemCreate(2M, device=0)
cuMemMap(r0, 2M, h0)
h1 = cuMemRetainAllocationHandle(r0)
cuMemUnmap(r0, 2M)
cuMemRelease(h0)
cuMemAddressFree(r0, 2M)
"""


class Blame(cli_test.CliTest):
    def setUp(self):
        super().setUp()
        top = pathlib.Path(self.folder)
        self.mine, packages = top / "mine", top / "venv/lib/python3/site-packages"
        package = packages / "pkg"
        self.mine.mkdir()
        package.mkdir(parents=True)
        self.script, self.app = self.mine / "train.py", self.mine / "app"
        (package / "__init__.py").write_text(PACKAGE)
        self.script.write_text(TRAIN.format(packages=str(packages)))
        (top / "wrong.c").write_text(LIBRARY)
        (top / "app.c").write_text(APP)
        library = package / "libwrong.so"
        for command in (["-shared", "-fPIC", "-o", library, "wrong.c", "-pthread"],
                        ["-o", self.app, "app.c", library, f"-Wl,-rpath,{package}", "-Wl,--unresolved-symbols=ignore-in-shared-libs"]):
            if subprocess.run(["cc", "-g", *map(str, command)], cwd=top, capture_output=True).returncode:
                self.skipTest("cc makes no shared library here")

    def judged(self, *options, command, **more):
        """Runs the program. Returns its finding, exit code and stderr."""
        report, result = self.report_of("--emulate", "--error-exitcode", "9", *options, "--", *map(str, command), **more)
        self.validate(report)
        self.assertEqual([finding["rule"] for finding in report["findings"]], [RULE], result.stderr)
        return report["findings"][0], result

    def test_a_library_called_by_the_program_is_the_programs(self):
        finding, result = self.judged("--blame", "mine", command=[self.app])
        self.assertEqual(result.returncode, 9)
        self.assertEqual(finding["blamed"]["frame"]["function"], "main")
        self.assertFalse(finding["blamed"]["library"])
        self.assertNotIn("not counted", result.stderr)

    def test_other_code_does_not_count_and_is_reported(self):
        os.mkdir(self.path("other"))
        finding, result = self.judged("--blame", "other", command=[self.app])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIs(finding["blamed"]["counts"], False)
        self.assertIn(f"[{RULE}]", result.stderr)
        self.assertIn("cuvmm: 1 error, 0 undefined", result.stderr)
        self.assertRegex(result.stderr, r"cuvmm: 1 is not counted, because --blame counts \S+/other alone: 1 of \S*app\.c\n")

    def test_the_thread_of_a_library_is_the_librarys(self):
        for options in ([], ["--no-symbols"]):
            finding, result = self.judged("--blame", "mine", *options, command=[self.app, "thread"])
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((finding["blamed"]["library"], finding["blamed"]["code"]), (True, "pkg"))
            self.assertIn("alone: 1 of pkg\n", result.stderr)
        self.assertEqual(self.judged(command=[self.app, "thread"])[1].returncode, 9, "without --blame all count")

    def test_an_object_and_an_installed_package_may_be_ones_own(self):
        for word in ("libwrong.so", "venv/lib/python3/site-packages/pkg"):
            finding, result = self.judged("--blame", word, command=[self.app, "thread"])
            self.assertEqual(result.returncode, 9, word)
            self.assertFalse(finding["blamed"]["library"])
        self.assertEqual(self.judged("--blame", "app", command=[self.app])[1].returncode, 9, "the program's name")

    def test_functions_of_python_count(self):
        finding, result = self.judged("--blame", "mine/train.py", command=[sys.executable, self.script, "wrong"])
        self.assertEqual(result.returncode, 9, result.stderr)
        self.assertEqual((finding["blamed"]["frame"]["function"], finding["blamed"]["frame"]["line"]), ("train", 6))
        finding, result = self.judged("--blame", "mine", command=[sys.executable, self.script, "wrong_in_a_thread"])
        self.assertEqual((result.returncode, finding["blamed"]["code"]), (0, "pkg"))

    def test_what_is_not_known_counts(self):
        os.mkdir(self.path("other"))
        for options in (["--stack-depth", "1"], ["--no-python-frames"]):
            finding, result = self.judged("--blame", "other", *options, command=[sys.executable, self.script, "wrong"])
            self.assertEqual(result.returncode, 9, options)
            self.assertNotIn("blamed", finding)

    def test_the_environment_and_the_file_of_settings(self):
        os.mkdir(self.path("other"))
        other = {"environment": {"CUVMM_BLAME": f"{self.path('other')}:libnone.so"}}
        self.assertEqual(self.judged(command=[self.app], **other)[1].returncode, 0)
        self.assertEqual(self.judged("--blame", "mine", command=[self.app], **other)[1].returncode, 9)
        self.path("cuvmm.toml", '[run]\nblame = ["other", "libnone.so"]\n')
        self.assertEqual(self.judged(command=[self.app])[1].returncode, 0)

    def test_a_mistyped_word_is_an_error(self):
        for word in ("mnie", "./mnie", "/no/folder"):
            result = self.run_("--emulate", "--blame", word, "--", str(self.app))
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"--blame {word}: there is no such file or folder", result.stderr)


class Retained(cli_test.CliTest):
    def test_an_allocation_is_not_made_by_the_call_that_retained_it(self):
        report, result = self.report_of("--emulate", "--", *self.replay_command(RETAINED))
        self.validate(report)
        created, retained = report["findings"][0]["objects"]
        self.assertGreater(created["made_by_call"], 0)
        self.assertEqual(retained["made_by_call"], 0)
        self.assertEqual(retained["retained_by_call"], created["made_by_call"] + 2)
        call = retained["retained_by_call"]
        self.assertRegex(result.stderr, rf"allocation 0x\w+ \(2 MiB\), retained by call {call} \(cuMemRetainAllocationHandle\)\n")
        self.assertEqual(result.stderr.count("made by call"), 1)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
