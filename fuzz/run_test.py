#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the output of fuzz/run, with scripts in place of the targets: run_test.py"""
import importlib.machinery
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RUN = os.path.join(os.path.dirname(os.path.realpath(__file__)), "run")
TARGETS = ("emulator", "shim", "text", "profile", "report", "shareable", "ticket", "flight", "objects")

CLEAN = """
echo '#1 INITED cov: 100 ft: 1'
echo '#70 NEW cov: 107 ft: 2'
echo 'cuvmm: 70 programs, 2100 calls, 80 % succeeded'
"""
FINDS = """
for word in "$@"; do case $word in -artifact_prefix=*) prefix=${word#*=} ;; esac; done
echo '#1 INITED cov: 100 ft: 1'
echo 'emulator: op 3: cuMemMap answered CUDA_SUCCESS'
echo '==7== ERROR: libFuzzer: deadly signal'
echo input > "${prefix}crash-1"
echo "artifact_prefix='$prefix'; Test unit written to ${prefix}crash-1"
exit 77
"""
SHRINKS = """
case $* in
*--binary*) printf seed ;;
*--shrink*) echo 'shrunk from 35 to 4 ops by 120 tries'; echo 'finding: op 1, cuMemMap answered CUDA_SUCCESS'
  echo 'replay: cuvmm-fuzz --replay x.cuvmm'; echo 'C: x.c (cc x.c -lcuda)'; exit 1 ;;
*--last*) echo '3 programs in a folder' ;;
*) echo '50 programs, 1500 calls, 80 % succeeded' ;;
esac
"""
WAITS = """
trap 'echo stat::number_of_executed_units: 5; exit 72' INT
echo '#1 INITED cov: 100 ft: 1'
touch "$0.started"
while :; do sleep 0.05; done
"""


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = folder.name
        os.makedirs(os.path.join(self.build, "bin"))
        for name in TARGETS:
            self.put(f"cuvmm-fuzz-{name}", CLEAN)
        self.put("cuvmm-fuzz", SHRINKS)

    def put(self, name, script):
        path = os.path.join(self.build, "bin", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/usr/bin/env bash\n" + script)
        os.chmod(path, 0o755)
        return path

    def run_targets(self, *arguments):
        return subprocess.run([RUN, self.build, "--seconds", "1", *arguments], capture_output=True, text=True,
                              check=False)

    def test_all_targets_are_run_and_counted(self):
        done = self.run_targets("--jobs", "4")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("15 targets, 4 at a time, 1 s each: 4 s", done.stdout)
        self.assertRegex(done.stdout, r"shim-processes .* 70 programs +[\d,]+/s +[\d,]+/CPU s +2,100 calls +7 new edges  clean")
        self.assertRegex(done.stdout, r"search-shim .* 50 programs .* 1,500 calls")
        self.assertIn("\n0 findings", done.stdout)
        corpus = os.path.join(self.build, "fuzz-corpus")
        self.assertTrue(os.listdir(os.path.join(corpus, "emulator")), "it begins with the corpus")

    def test_one_target_is_no_targets(self):
        self.assertIn("1 target, 1 at a time, 1 s each: 1 s. ", self.run_targets("text").stdout)

    def test_the_forecast_is_not_too_short(self):
        loader = importlib.machinery.SourceFileLoader("fuzz_run", RUN)
        run = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz_run", loader))
        loader.exec_module(run)
        self.assertEqual([run.time_text(seconds) for seconds in (45, 120, 270, 4200)],
                         ["45 s", "2 minutes", "5 minutes", "70 minutes"])

    def test_a_finding_is_told_as_the_judge_said_it(self):
        self.put("cuvmm-fuzz-emulator", FINDS)
        done = self.run_targets("emulator", "text")
        self.assertEqual(done.returncode, 1)
        for words in ("emulator: op 3: cuMemMap answered CUDA_SUCCESS", "shrunk from 35 to 4 ops",
                      f"replay: {os.path.realpath(self.build)}/bin/cuvmm-fuzz --replay x.cuvmm", "C: x.c",
                      "1 finding, in "):
            self.assertIn(words, done.stdout)
        self.assertNotIn("emulator: emulator:", done.stdout)
        self.assertNotIn("deadly signal", done.stdout)
        self.assertRegex(done.stdout, r"\ntext .* clean")

    def test_a_finding_that_only_follows_others_has_the_programs_before_it(self):
        self.put("cuvmm-fuzz-emulator", FINDS.replace("exit 77", 'echo ring > "${prefix}last-programs"; exit 77'))
        self.put("cuvmm-fuzz", SHRINKS.replace("exit 1 ;;", "exit 0 ;;", 1))
        done = self.run_targets("emulator")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"its unit: \S+/emulator-crash-1")
        self.assertIn("the last one was running: 3 programs in a folder", done.stdout)
        self.assertRegex(done.stdout, r"replay: \S+cuvmm-fuzz .* --replay \S+/findings/emulator-\S+\.last\n")

    def test_a_sanitizers_report_is_told_by_its_sentences(self):
        report = ("echo '==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1'\n"
                  "echo 'SUMMARY: AddressSanitizer: heap-buffer-overflow maker.cc:95'\necho 'Shadow bytes'\n")
        finds = FINDS.replace("exit 77", 'echo ring > "${prefix}last-programs"; exit 77')
        self.put("cuvmm-fuzz-emulator", "\n".join(line for line in finds.splitlines() if "op 3" not in line).replace(
            'echo ring', report + 'echo ring'))
        self.put("cuvmm-fuzz", SHRINKS.replace("exit 1 ;;", "exit 0 ;;", 1))
        done = self.run_targets("emulator")
        self.assertEqual(done.returncode, 1)
        self.assertIn("SUMMARY: AddressSanitizer: heap-buffer-overflow maker.cc:95", done.stdout)
        self.assertIn("the last one was running", done.stdout)
        self.assertNotIn("Shadow bytes", done.stdout)

    def test_a_target_that_is_killed_loses_no_unit(self):
        script = CLEAN + 'for word in "$@"; do case $word in -artifact_prefix=*) prefix=${word#*=} ;; esac; done\n'
        self.put("cuvmm-fuzz-shim", script + 'echo ring > "${prefix}last-programs"; kill -KILL $$\n')
        done = self.run_targets("shim")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ended with code -9, and the engine stored no unit", done.stdout)
        self.assertRegex(done.stdout, r"replay: \S+cuvmm-fuzz .* --judge shim .* --replay \S+/findings/shim-\S+\.last\n")

    def test_what_a_parser_does_not_survive_is_replayed_by_its_target(self):
        self.put("cuvmm-fuzz-text", FINDS.replace("libFuzzer: deadly signal", "AddressSanitizer: heap-buffer-overflow"))
        done = self.run_targets("text")
        self.assertEqual(done.returncode, 1)
        self.assertIn("AddressSanitizer: heap-buffer-overflow", done.stdout)
        self.assertRegex(done.stdout, r"replay: \S+/cuvmm-fuzz-text \S+/findings/text-crash-1")

    def test_a_target_that_cannot_run_is_no_clean_one(self):
        self.put("cuvmm-fuzz-report", "echo 'no such driver'; exit 3")
        done = self.run_targets("report")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such driver", done.stdout)

    def test_ctrl_c_keeps_what_was_learned(self):
        target = self.put("cuvmm-fuzz-text", WAITS)
        process = subprocess.Popen([RUN, self.build, "--seconds", "600", "text"], stdout=subprocess.PIPE, text=True)
        while not os.path.exists(target + ".started") and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output = process.communicate()[0]
        self.assertEqual(process.returncode, 130, output)
        self.assertIn("stopped by Ctrl-C, and what was learned is kept", output)
        self.assertNotIn("FINDING", output)

    def test_a_log_has_the_progress_of_targets_that_run(self):
        target = self.put("cuvmm-fuzz-text", CLEAN + 'while [[ ! -e "$0.enough" ]]; do sleep 0.05; done\n')
        process = subprocess.Popen([RUN, self.build, "--seconds", "600", "--progress", "0", "text"],
                                   stdout=subprocess.PIPE, text=True)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.rstrip().endswith(("running", "0 findings")):
                open(target + ".enough", "w", encoding="utf-8").close()
        self.assertEqual(process.wait(), 0)
        process.stdout.close()
        self.assertTrue([line for line in lines if line.startswith("text ") and line.endswith(" running\n")], lines)
        self.assertRegex("".join(lines), r"\ntext .* 70 programs .* clean\n")

    def test_mistakes_in_the_arguments(self):
        self.assertEqual(self.run_targets("emulater").returncode, 2)
        os.remove(os.path.join(self.build, "bin", "cuvmm-fuzz-text"))
        done = self.run_targets()
        self.assertEqual(done.returncode, 2)
        self.assertIn("cuvmm-fuzz-text is not built", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
