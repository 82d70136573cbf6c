# SPDX-License-Identifier: Apache-2.0
"""Tests cuvmm run in bad conditions: killed processes, garbled reports, broken streams, odd names.

Usage: robust_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import unittest

import cli_test
from cli_test import LEGAL, OFFSET, CliTest

FINDING = {"rule": "cuMemMap-offset-zero", "kind": "error", "call": "cuMemMap", "arguments": {}, "message": "m",
           "documented": [], "result": "CUDA_SUCCESS", "count": 2, "call_index": 1, "stack": [], "objects": [],
           "fix": "f", "url": "u"}


def document(ended="exit", findings=(), **more):
    return json.dumps({"schema": 1, "ended": ended, "findings": list(findings), **more}) + "\n"


class Killed(CliTest):
    """Processes that leave hand-made reports in the shim's form, and are killed."""

    def leave(self, text, then="", name="$$-1.2.json"):
        """A shell command that leaves `text` as the report of its process, and then does `then`."""
        file = self.path(f"left-{len(os.listdir(self.folder))}", text)
        return f'cat {file} > "$CUVMM_REPORT_DIR/{name}"; {then}'

    def ran(self, script, *options):
        return self.report_of("--emulate", "--error-exitcode", "9", *options, "--", "sh", "-c", script)

    def assert_note(self, report, result, pattern):
        self.assertTrue(any(re.search(pattern, note) for note in report["notes"]), report["notes"])
        self.assertRegex(result.stderr, "(?m)^cuvmm: .*" + pattern)
        self.validate(report)

    def test_what_a_killed_program_had_found_counts(self):
        for name in ["KILL", "TERM"]:
            report, result = self.ran(self.leave(document("running", [FINDING]), f"kill -{name} $$"))
            self.assertEqual(result.returncode, 9, result.stderr)
            self.assertEqual(report["summary"]["error"], 2)
            self.assert_note(report, result, rf"process \d+ was ended by signal \d+ \(SIG{name}\) before it could look")

    def test_a_clean_program_that_is_killed_keeps_its_exit_code(self):
        report, result = self.ran(self.leave(document("running"), "kill -KILL $$"))
        self.assertEqual(result.returncode, 128 + 9)
        self.assert_note(report, result, "before it could look for leaks")
        self.assertNotIn("nothing was checked", result.stderr)

    def test_a_killed_child_counts(self):
        child = self.path("child.sh", self.leave(document("running", [FINDING]), "kill -TERM $$"))
        report, result = self.ran(f"sh {child}; exit 3")
        self.assertEqual(result.returncode, 9, result.stderr)
        self.assert_note(report, result, r"leaks \(killed, or it became another program\)")

    def test_the_signal_that_ended_an_orphan_is_known(self):
        # The child ends itself once `cuvmm run` has become its parent.
        child = self.path("child.py", f"""
import os, signal
open(os.environ["CUVMM_REPORT_DIR"] + "/%d-1.2.json" % os.getpid(), "w").write({document("running", [FINDING])!r})
while os.getppid() != int(os.environ["RUNNER"]): pass
os.kill(os.getpid(), signal.SIGKILL)
""")
        report, result = self.ran(f"RUNNER=$PPID {sys.executable} {child} & exit 3")
        self.assertEqual(result.returncode, 9, result.stderr)
        self.assert_note(report, result, r"by signal 9 \(SIGKILL\) before it could look")

    def test_a_process_that_is_left_running_is_noted(self):
        # The child has none of the runner's streams, because this test would otherwise wait until it ends.
        script = self.leave(document("running", [FINDING]), name="77-1.2.json")
        report, result = self.ran(script + "exec sleep 60 </dev/null >/dev/null 2>&1 & echo $!; "
                                  'while [ ! -s "$CUVMM_REPORT_DIR/77-1.2.json" ]; do :; done; exit 3', "--wait", "0")
        os.kill(int(result.stdout), signal.SIGKILL)
        self.assertEqual(result.returncode, 9, result.stderr)
        self.assert_note(report, result, r"process 77 .* leaks \(killed, or still running\)")

    def test_a_lost_report_is_noted_with_its_process(self):
        for text in ["", document()[:40]]:
            report, result = self.ran(self.leave(text, name="77-1.2.json") + "exit 0")
            self.addCleanup(shutil.rmtree, re.search(r"(\S+)/77-1", result.stderr).group(1))
            self.assertEqual(result.returncode, 125, "nobody knows whether there were findings")
            self.assert_note(report, result, "process 77 used a driver, and its report was lost: .*the disk was full")
            self.assertIn("no process's report could be read", result.stderr)
            self.assertNotIn("nothing was checked", result.stderr)

    def test_else_a_lost_report_leaves_the_exit_code_alone(self):
        for options, code in [([], 0), ([], 3), (["--error-exitcode", "9"], 3)]:
            script = self.leave("", name="77-1.2.json") + f"exit {code}"
            report, result = self.report_of("--emulate", *options, "--", "sh", "-c", script)
            self.addCleanup(shutil.rmtree, re.search(r"(\S+)/77-1", result.stderr).group(1))
            self.assertEqual((result.returncode, len(report["notes"])), (code, 1))

    def test_the_last_whole_one_of_appended_reports_counts(self):
        whole = document("running") + document("running", [FINDING])
        for tail, count in [("", 2), (document("exit", [{**FINDING, "count": 5}])[:-9], 2),
                            (document("exit", [{**FINDING, "count": 5}]), 5)]:
            report, result = self.ran(self.leave(whole + tail))
            self.assertEqual((report["summary"]["error"], report["processes"]), (count, 1))
            if len(report["notes"]) == 2:
                self.assert_note(report, result, "a part is torn")
                self.addCleanup(shutil.rmtree, re.search(r"(/\S+)/\d+-1.2.json", result.stderr).group(1))

    def test_what_a_process_notes_is_in_the_report(self):
        report, result = self.ran(self.leave(document(notes=["leaks were not looked for"]), name="77-1.2.json"))
        self.assert_note(report, result, "process 77: leaks were not looked for")

    def test_quiet_keeps_all_that_for_the_report(self):
        script = (self.leave(document("running", [FINDING]), name="77-1.2.json") + self.leave("", name="78-1.2.json") +
                  f"{cli_test.CUVMM} replay {self.path('bad.txt', OFFSET)} >/dev/null")
        report, result = self.ran(script, "--quiet", "--leak-check=full")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (9, "", ""))
        self.assertGreaterEqual(report["summary"]["error"], 3)
        self.assertGreaterEqual(len(report["notes"]), 2)
        lost = [re.search(r"(/\S+)/78-1", note) for note in report["notes"]]
        self.addCleanup(shutil.rmtree, [match for match in lost if match][0].group(1))


class Garbled(CliTest):
    def test_hostile_files_are_named_and_kept(self):
        script = ('cd "$CUVMM_REPORT_DIR" && echo "{" > 1-torn.json && echo x > 2-left.json.2.3.tmp && '
                  'ln -s /etc/passwd 3-link.json && mkfifo 4-pipe.json && '
                  "echo '{\"schema\":1,\"findings\":[7]}' > 5-odd.json")
        report, result = self.report_of("--emulate", "--", "sh", "-c",
                                        f"{cli_test.CUVMM} replay {self.path('good.txt', LEGAL)} && {script}")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(report["processes"], 2)  # only one member of the second report is wrong
        notes = "\n".join(report["notes"])
        for name in ["1-torn.json", "2-left.json", "3-link.json", "4-pipe.json", "5-odd.json"]:
            self.assertIn(name, notes)
            self.assertIn(name, result.stderr)
        kept = re.search(r"(\S+)/1-torn\.json", notes).group(1)
        self.addCleanup(shutil.rmtree, kept)
        self.assertTrue(os.path.exists(kept + "/1-torn.json"))
        self.validate(report)

    def test_a_killed_process_is_noted(self):
        report, result = self.report_of("--emulate", "--", "sh", "-c", "kill -KILL $$")
        self.assertEqual(result.returncode, 128 + 9)
        self.assertTrue(any("signal 9" in note for note in report["notes"]), report["notes"])

    def run_with(self, text):
        """A program that leaves that report, beside the good one of a process with a finding."""
        script = (f'cat {self.path("garbled", text)} > "$CUVMM_REPORT_DIR/7-1.2.json"; '
                  f'cat {self.path("good", document(findings=[FINDING]))} > "$CUVMM_REPORT_DIR/8-1.2.json"; exit 3')
        report, result = self.report_of("--emulate", "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("cuMemMap-offset-zero", [finding["rule"] for finding in report["findings"]])
        for kept in set(re.findall(r"(/\S+)/7-1\.2\.json", result.stderr)):
            self.addCleanup(shutil.rmtree, kept)
        self.validate(report)
        return report, result

    def test_deep_nesting(self):
        for opening, closing in [("[", "]"), ('{"a":', "}")]:
            text = document()[:-2] + ',"x":' + opening * 300000 + "1" + closing * 300000 + "}"
            report, _ = self.run_with(text)
            self.assertIn("nested deeper than 64", report["notes"][0])

    def test_wrong_types(self):
        odd = {**FINDING, "memory": "x", "related": "notalist"}
        text = document({}, [odd, {**odd, "related": 5, "stack": 7}, {**odd, "rule": "\033[31mred"}], notes=[1, {}],
                        driver={"path": {}}, calls={"cuMemMap": "x"}, alive=[], unchecked=7, ipc="x", suppressed=-1)
        report, result = self.run_with(text)
        self.assertEqual(report["processes"], 2)
        self.assertEqual(len(report["findings"]), 3)
        self.assertIn('"driver" was left out: expected an object with "path"', "\n".join(report["notes"]))
        self.assertNotIn("\033", result.stderr)

    def test_thousands_of_ipc_records(self):
        # A finding for each pair of these would make 36 million findings.
        use = {"handle": "x", "call": 1, "from": 1}
        uses = ([{**use, "role": "export", "ended_by_call": i, "until": 5} for i in range(3000)] +
                [{**use, "role": "open", "ended_by_call": 2, "until": 9}] * 3000)
        script = "".join(f'cat {self.path(f"{pid}", document(ipc=uses))} > "$CUVMM_REPORT_DIR/{pid}-1.2.json"; '
                         for pid in (1, 2))
        report, result = self.report_of("--emulate", "--", "sh", "-c", script + "exit 3")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(len(report["findings"]), 1000)
        self.assertIn("5000 more findings of memory that was freed", "\n".join(report["notes"]))


class Streams(CliTest):
    """If cuvmm's own streams fail, the program's exit code and the report stay right."""

    def broken(self, how):
        """A function that breaks stderr and stdout of the child before it becomes cuvmm."""
        read, write = os.pipe()
        os.close(read)
        self.addCleanup(os.close, write)
        full = os.open("/dev/full", os.O_WRONLY)
        self.addCleanup(os.close, full)

        def prepare(descriptor):
            signal.signal(signal.SIGPIPE, signal.SIG_IGN if how == "ignored" else signal.SIG_DFL)
            if how == "closed":
                os.close(descriptor)
            else:
                os.dup2(full if how == "full" else write, descriptor)
        return prepare

    def test_stderr(self):
        for how in ["closed", "full", "pipe", "ignored"]:
            with self.subTest(how=how):
                prepare = self.broken(how)
                path = self.path(f"{how}.json")
                command = [cli_test.CUVMM, "run", "--emulate", "--report", path, "--", "sh", "-c", "exit 7"]
                self.assertEqual(subprocess.run(command, preexec_fn=lambda: prepare(2)).returncode, 7)
                with open(path) as file:
                    self.validate(json.load(file))
                self.assertEqual(subprocess.run([cli_test.CUVMM, "rum"], preexec_fn=lambda: prepare(2)).returncode, 2)

    def test_stdout(self):
        for how, code in [("closed", 125), ("full", 125), ("ignored", 128 + signal.SIGPIPE), ("pipe", -signal.SIGPIPE)]:
            with self.subTest(how=how):
                prepare = self.broken(how)
                for command in [["rules"], ["explain", "cuMemMap-offset-zero"], ["--version"], ["run", "--help"],
                                ["replay", "--emulate", self.path("p.txt", LEGAL)]]:
                    result = subprocess.run([cli_test.CUVMM, *command], preexec_fn=lambda: prepare(1),
                                            stderr=subprocess.PIPE, text=True)
                    self.assertEqual(result.returncode, code, (command, result.stderr))

    def test_the_program_has_the_streams_that_the_runner_got(self):
        program = ["import os, sys", "code = 0", "for fd in 0, 1, 2:", "  try: os.fstat(fd)",
                   "  except OSError: code += 1 << fd", "sys.exit(code)"]
        for closed in range(8):
            def close():
                for fd in (0, 1, 2):
                    if closed & 1 << fd:
                        os.close(fd)
            # -I: what Python itself opens stays the same.
            command = [cli_test.CUVMM, "run", "--emulate", "--", sys.executable, "-I", "-c", "\n".join(program)]
            self.assertEqual(subprocess.run(command, preexec_fn=close, stderr=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL).returncode, closed)


class Files(CliTest):
    def test_only_a_report_that_was_written_is_named(self):
        path = self.path("r.json")
        result = self.run_("--emulate", "--report", "/dev/full", "--report", path, "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("report in " + path, result.stderr)
        self.assertNotIn("report in /dev/full", result.stderr)
        # The run may have taken hours.
        instead = re.search(r"--report /dev/full: .*No space left on device; the report is in (\S+/full) instead", result.stderr)[1]
        with open(instead) as file:
            self.assertEqual(json.load(file)["schema"], 1)
        shutil.rmtree(os.path.dirname(instead))

    def test_a_private_report_stays_private_and_a_link_stays_a_link(self):
        target = self.path("private.json", "old", 0o600)
        link = self.path("link.json")
        os.symlink("private.json", link)
        self.assertEqual(self.run_("--emulate", "--report", link, "--", "true").returncode, 0)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(stat.S_IMODE(os.stat(target).st_mode), 0o600)
        with open(target) as file:
            self.assertEqual(json.load(file)["schema"], 1)

    def test_it_works_where_the_loader_would_split_its_name(self):
        lib = os.path.join(os.path.dirname(cli_test.CUVMM), "..", "lib")
        for name in ["a:b", "a b", "$LIB"]:
            root = self.path(name)
            for folder in ["bin", "lib/emulator", "lib/links"]:
                os.makedirs(os.path.join(root, folder))
            shutil.copy(cli_test.CUVMM, os.path.join(root, "bin"))
            for file in ["libcuvmm-shim.so", "emulator/libcuda.so.1"]:
                os.symlink(os.path.realpath(os.path.join(lib, file)), os.path.join(root, "lib", file))
            for file in ["libcuda.so", "libcuda.so.1"]:
                os.symlink("../libcuvmm-shim.so", os.path.join(root, "lib", "links", file))
            odd = os.path.join(root, "bin", "cuvmm")
            command = [odd, "run", "--emulate", "--error-exitcode", "9", "--", *self.replay_command(OFFSET)]
            before = set(os.listdir(self.temporary()))
            result = subprocess.run(command, capture_output=True, text=True,
                                    env={**os.environ, "TMPDIR": self.temporary()})
            self.assertEqual(result.returncode, 9, result.stderr)
            self.assertNotIn("ERROR: ld.so", result.stderr)
            self.assertEqual(set(os.listdir(self.temporary())), before)
            for command in [["replay", "--emulate", self.path("p.txt", LEGAL)],
                            ["conform", "--emulate", "--filter", "cuMemMap/offset-zero"]]:
                result = subprocess.run([odd, *command], capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stderr)
            shutil.rmtree(root)

    def temporary(self):
        folder = self.path("tmp")
        os.makedirs(folder, exist_ok=True)
        return folder

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root, for a mount namespace")
    def test_a_container_whose_root_is_read_only(self):
        def run(folders):
            frozen = "".join(f"mount --bind {one} {one} && mount -o remount,bind,ro {one} && " for one in folders)
            program = [cli_test.CUVMM, "run", "--emulate", "--error-exitcode", "9", "--", *self.replay_command(OFFSET)]
            environment = {key: value for key, value in os.environ.items() if key != "TMPDIR"}
            return subprocess.run(["unshare", "--mount", "sh", "-c", frozen + 'exec "$@"', "sh", *program], capture_output=True, text=True,
                                  env=environment)
        result = run(["/tmp", "/var/tmp"])
        self.assertEqual(result.returncode, 9, result.stderr)
        result = run(["/tmp", "/var/tmp", "/dev/shm"])
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertRegex(result.stderr, r"^cuvmm run: no temporary folder can be made \(/tmp: Read-only file system; /var/tmp: .*; /dev/shm: .*\)\. Set TMPDIR")

    def test_no_descriptor_is_free(self):
        # Functions and lines are read from files, and the program has used up what cuvmm needs to open them.
        source = """#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
static void *cuda;
static int (*map)(unsigned long long, size_t, size_t, unsigned long long, unsigned long long);
int forget_the_handle(void) { return map(4096, 4096, 4096, 0, 0) == 0; }
int main(void) {
  struct rlimit limit = {128, 128}, after;
  int wrong, last = -1, fd;
  setrlimit(RLIMIT_NOFILE, &limit);
  cuda = dlopen("libcuda.so.1", RTLD_NOW);
  ((int (*)(unsigned))dlsym(cuda, "cuInit"))(0);
  *(void **)&map = dlsym(cuda, "cuMemMap");
  while ((fd = open("/dev/null", O_RDONLY)) >= 0) last = fd;
  for (int i = 0; i < LEFT; ++i) close(last - i);
  wrong = forget_the_handle();
  fd = open("/dev/null", O_RDONLY);
  getrlimit(RLIMIT_NOFILE, &after);
  printf("%d %d %d\\n", wrong, fd == (LEFT ? last - LEFT + 1 : -1), after.rlim_cur == 128);
  return 0;
}
"""
        for left in (0, 1, 4):
            program = self.compiled(f"left{left}", source, "-g", f"-DLEFT={left}", "-ldl")
            report, result = self.report_of("--emulate", "--", program)
            self.assertEqual(result.stdout, "0 1 1\n", result.stderr)
            self.assertEqual(report["findings"][0]["stack"][0]["function"], "forget_the_handle", result.stderr)
            self.assertRegex(result.stderr, rf"#0 forget_the_handle at .*left{left}.c:8 .*\n +int forget_the_handle")

    def test_a_driver_that_is_only_read_is_not_loaded(self):
        program = """
import ctypes, mmap, os
ctypes.CDLL("libcuda.so.1").cuInit(0)
driver = os.open(os.environ["CUVMM_DRIVER"], os.O_RDONLY)
maps = [mmap.mmap(driver, 4096, flags, mmap.PROT_READ) for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED)]
os._exit(0)  # with the maps in place
"""
        report, result = self.report_of("--emulate", "--", sys.executable, "-c", program)
        self.assertEqual(report["processes"], 1)
        self.assertEqual(report["unchecked"], [], result.stderr)


if __name__ == "__main__":
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    # The tests choose drivers and options themselves, and some of the programs that they start die.
    for name in [name for name in os.environ if name.startswith("CUVMM_")]:
        del os.environ[name]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
