# SPDX-License-Identifier: Apache-2.0
"""The first example in the help of each command runs as it stands there.

Usage: examples_test.py CUVMM EMULATOR PROGRAM CUDA_INCLUDE [unittest arguments]. PROGRAM makes legal calls and a leak.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CUVMM, EMULATOR, PROGRAM, CUDA_INCLUDE = sys.argv[1:5]
# A success, findings, and work that is not done: the example was understood, and the command did its work.
DONE = {0, 1, 75}
ALLOCATOR = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "examples", "pytest_allocator"))
HOLDER = "import driver, os, time; driver.start(); driver.create(2 << 20); print(os.getpid(), flush=True); time.sleep(600)"


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-examples-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.environment = {name: value for name, value in os.environ.items() if not name.startswith("CUVMM_")}
        # The emulator is this machine's driver.
        cls.environment |= {"PATH": f"{os.path.dirname(CUVMM)}:{os.environ['PATH']}", "LD_LIBRARY_PATH": os.path.dirname(EMULATOR),
                            "LIBRARY_PATH": os.path.dirname(EMULATOR), "CPATH": CUDA_INCLUDE, "XDG_RUNTIME_DIR": cls.folder}
        for name in ("app", "test"):
            shutil.copy(PROGRAM, os.path.join(cls.folder, name))
        # The files that examples read.
        for command in ("cuvmm run --emulate --timeline --report report.json --trace trace.txt --ring crashes -- ./app",
                        "cp report.json b.json; cp report.json a.json",
                        "cuvmm conform --emulate --filter 'cuMemMap*' --json 580.json; cp 580.json 590.json",
                        "cuvmm work run --emulate --conformance --shard 3/100 --out results"):
            done = cls.shell(command)
            assert done.returncode in DONE, (command, done.stdout, done.stderr)

    @classmethod
    def shell(cls, command, seconds=300):
        return subprocess.run(["sh", "-c", command], cwd=cls.folder, env=cls.environment, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=seconds, check=False)

    def examples(self):
        """The first example by command, without the remark behind it."""
        waiting, found = [[]], {}
        for command in waiting:
            text = subprocess.run([CUVMM, *command, "--help"], env={**self.environment, "COLUMNS": "120"}, text=True,
                                  capture_output=True, check=True).stdout
            for heading, lines in re.findall(r"^(\S[^\n]*):\n((?:  [^\n]*\n)+)", text, re.M):
                if heading == "Subcommands" or not command and heading not in ("Options", "Examples"):
                    waiting += [[*command, word] for word in re.findall(r"^  ([a-z-]+) ", lines, re.M)]
            first = text[text.index("Examples:\n"):].splitlines()[1]
            found[" ".join(command)] = re.split(r"  +", first.strip())[0]
        return found

    def test_each_runs(self):
        examples = self.examples()
        self.assertGreater(len(examples), 24)
        living = subprocess.Popen([CUVMM, "run", "--emulate", "--quiet", "--", sys.executable, "-c", HOLDER],
                                  env={**self.environment, "PYTHONPATH": ALLOCATOR}, stdout=subprocess.PIPE, text=True)
        try:
            pid = living.stdout.readline().strip()
            ring = next(name for name in os.listdir(os.path.join(self.folder, "crashes")) if name.endswith(".ring"))
            for command, example in examples.items():
                with self.subTest(command=command, example=example):
                    typed = example.replace("4711", pid).replace("71-1700000000.5.ring", ring)
                    self.assertTrue(typed.startswith("cuvmm " + command), typed)
                    if command == "top":
                        self.top(typed)
                        continue
                    done = self.shell(typed)
                    self.assertIn(done.returncode, DONE, done.stdout[-2000:] + done.stderr[-2000:])
                    self.assertNotIn("Try 'cuvmm", done.stderr)
        finally:
            os.kill(int(pid), signal.SIGTERM)
            living.wait()
            living.stdout.close()

    def top(self, typed):
        """`cuvmm top` shows tables until somebody ends it."""
        with subprocess.Popen(typed.split(), cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True) as shown:
            time.sleep(.1)
            self.assertIn("PID", shown.stdout.readline() + shown.stdout.readline())
            shown.terminate()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=1)
