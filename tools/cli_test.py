# SPDX-License-Identifier: Apache-2.0
"""Tests the cuvmm command from the outside: exit codes, errors, environment, reports, documents.

Usage: cli_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CUVMM, SOURCE = None, None
LEGAL = "init()\nr0 = cuMemAddressReserve(2M)  # CUDA_SUCCESS\ncuMemAddressFree(r0, 2M)  # CUDA_SUCCESS\n"
OFFSET = """init()
h0 = cuMemCreate(4M, device=0)
r0 = cuMemAddressReserve(4M)
cuMemMap(r0, 2M, h0, offset=2M)  # CUDA_ERROR_INVALID_VALUE !cuMemMap-offset-zero
cuMemRelease(h0)
cuMemAddressFree(r0, 4M)
"""


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cuvmm-cli-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name, text=None, mode=0o644):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, mode)
        return path

    def cuvmm(self, *arguments, environment=None, stdin=""):
        return subprocess.run([CUVMM, *arguments], input=stdin, capture_output=True, text=True,
                              env={**os.environ, **(environment or {})}, cwd=self.folder, timeout=100)

    def run_(self, *arguments, **more):
        return self.cuvmm("run", *arguments, **more)

    def report_of(self, *arguments, **more):
        path = self.path("report.json")
        result = self.run_("--report", path, *arguments, **more)
        with open(path) as file:
            return json.load(file), result

    def emulator(self):
        return self.run_("--emulate", "--quiet", "--", "sh", "-c", "printf %s $CUVMM_DRIVER").stdout

    def validate(self, report):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("needs python3-jsonschema")
        with open(os.path.join(SOURCE, "docs", "report.schema.json")) as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator(schema).validate(report)

    def replay_command(self, text, name="program.txt"):
        return [CUVMM, "replay", self.path(name, text)]

    def compiled(self, name, source, *flags):
        self.path(name + ".c", source)
        build = subprocess.run(["cc", *flags, name + ".c", "-o", name], cwd=self.folder, capture_output=True)
        if build.returncode != 0:
            self.skipTest(f"cc {' '.join(flags)} does not work here")
        return self.path(name)


class Usage(CliTest):
    def assert_usage(self, arguments, *expected):
        result = self.cuvmm(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        for text in expected:
            self.assertIn(text, result.stderr)

    def test_errors_say_what_was_expected(self):
        for arguments, expected in [
            ([], ["cuvmm: no command given; expected `cuvmm run -- PROGRAM` or another"]),
            (["rum"], ["unknown command 'rum'; did you mean run? The commands are run,"]),
            (["zzzzzz"], ["unknown command 'zzzzzz'. The commands are run,"]),
            (["--hlep"], ["cuvmm: unknown option --hlep; did you mean --help?"]),
            (["--versoin", "run"], ["cuvmm: unknown option --versoin; did you mean --version?"]),
            (["-x"], ["cuvmm: unknown option -x\n"]),
            (["run"], ["no program given; expected `cuvmm run"]),
            (["run", "--emualte", "--", "true"], ["unknown option --emualte; did you mean --emulate?"]),
            (["run", "--emualte"], ["unknown option --emualte; did you mean --emulate?"]),
            (["run", "--leak-check=sumary", "--", "true"], ["summary|full|no; did you mean summary?"]),
            (["run", "--devices", "0", "--", "true"], ["'0' is not a whole number in 1..62"]),
            (["run", "--devices", "63", "--", "true"], ["'63' is not a whole number in 1..62"]),
            (["run", "--streams", "late:x", "--", "true"], ["'late:x' is not eager, late or late:SEED"]),
            (["conform", "--devices", "63"], ["'63' is not a whole number in 1..62"]),
            (["run", "--error-exitcode", "256", "--", "true"], ["whole number in 1..255"]),
            (["run", "--wait", "-1", "--", "true"], ["--wait"]),
            (["run", "--wait", "nan", "--", "true"], ["--wait", "'nan' is not a number of seconds from 0 to 1000000000"]),
            (["run", "--wait", "inf", "--", "true"], ["'inf' is not a number of seconds"]),
            (["run", "--wait", "1e300", "--", "true"], ["'1e300' is not a number of seconds"]),
            (["run", "--wait", "1x", "--", "true"], ["'1x' is not a number of seconds"]),
            (["replay", "--timeout", "nan", "x"], ["'nan' is not a number of seconds from 0.001"]),
            (["conform", "--timeout", "0"], ["'0' is not a number of seconds from 0.001"]),
            (["run", "--emulate", "documented", "--", "true"], ["did you mean --emulate=documented?"]),
            (["run", "--emulate", "h200", "--", "true"], ["did you mean --emulate=h200-580.159.04?"]),
            (["run", "--emulate", "H200", "--", "true"], ["did you mean --emulate=h200-580.159.04?"]),
            (["run", "--emulate=documentd", "--", "true"], ["did you mean documented?"]),
            (["run", "--suppressions", "/no/file", "--", "true"], ["/no/file: No such file"]),
            (["run", "--driver", "/tmp", "--", "true"], ["is a folder; a file was expected"]),
            (["run", "--emulate", "--driver", "/bin/sh", "--", "true"], ["exclude each other"]),
            (["explain"], ["RULE is required"]),
            (["explain", "cuMemMap-ofset-zero"], ["did you mean cuMemMap-offset-zero"]),
            (["explain", "zzzz"], ["`cuvmm rules` lists them"]),
            (["rules", "--kind", "eror"], ["error|undefined|leak|advice; did you mean error?"]),
            (["rules", "--entry", "cuMemMa"], ["'cuMemMa' is not one of the ", " known names; did you mean cuMemMap"]),
            (["hlep"], ["unknown command 'hlep'; did you mean help? The commands are run,"]),
            (["work", "pln"], ["work: unknown command 'pln'; did you mean plan? The commands are plan, run, merge, check"]),
            (["help", "work", "pln"], ["unknown command 'pln'; did you mean plan?"]),
            (["work"], ["cuvmm work: no command given; expected one of plan, run, merge, check"]),
            (["rules", "--entry", "cuMemmap"], ["did you mean cuMemMap"]),
            (["rules", "extra"], ["unexpected argument extra"]),
            (["rules", "--output", "x"], ["--format markdown"]),
            (["replay"], ["FILE is required"]),
            (["top", "--srot"], ["cuvmm top: unknown option --srot\n"]),
            (["top", "--onec"], ["cuvmm top: unknown option --onec; did you mean --once?"]),
            (["view", "x.json", "--ouput", "y.html"], ["unknown option --ouput; did you mean --output?"]),
            (["work", "run", "--conformence"], ["cuvmm work run: unknown option --conformence; did you mean --conformance?",
                                                "Try 'cuvmm work run --help'."]),
            (["doctor", "--need", "vmmm"], ["there is no check 'vmmm'; did you mean vmm? The checks are "]),
            (["run", "--fail", "cuMemCreate@3=OUT_OF_MEMROY", "--", "true"], ["did you mean OUT_OF_MEMORY"]),
            (["run", "--leaks-signal", "USR3", "--", "true"], ["'USR3' is not USR1, USR2 or the number of a real-time signal"]),
            (["run", "--leaks-signal", "9", "--", "true"], ["'9' is not USR1"]),
            (["matrix", "h200"], ["did you mean h200-580.159.04?"]),
            (["suppress", self.path("r.sarif", '{"version": "2.1.0"}')], ["r.sarif is no report of cuvmm in JSON"]),
            (["replay", "/no/file"], ["/no/file: No such file"]),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_usage(arguments, *expected)

    def test_a_file_of_another_kind_is_no_program_text(self):
        for name, text, expected in [("r.json", '{"schema": 1}\n' * 50, "this is no program text"), ("r.html", "<!doctype html>\n", "this is no program text"),
                                     ("r.txt", "what\n" * 50, "and 30 more")]:
            for command in ("replay", "predict", "to-c"):
                with self.subTest(name=name, command=command):
                    result = self.cuvmm(command, self.path(name, text))
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertIn(expected, result.stderr)
                    self.assertLess(len(result.stderr.splitlines()), 25)

    def all_commands(self):
        """Each command as a list of words, subcommands of commands included."""
        found = [[]]
        for command in found:
            text = self.cuvmm(*command, "--help", environment={"COLUMNS": "120"}).stdout
            for heading, lines in re.findall(r"^(\S[^\n]*):\n((?:  [^\n]*\n)+)", text, re.M):
                if heading == "Subcommands" or not command and heading not in ("Options", "Examples"):
                    found += [[*command, word] for word in re.findall(r"^  ([a-z-]+) ", lines, re.M)]
        self.assertGreater(len(found), 21)
        return found

    def test_every_help_shows_two_examples(self):
        for command in [[], ["run"], ["explain"], ["rules"], ["replay"], ["to-c"]]:
            with self.subTest(command=command):
                result = self.cuvmm(*command, "--help")
                self.assertEqual(result.returncode, 0)
                examples = result.stdout[result.stdout.index("Examples:"):]
                self.assertGreaterEqual(len(re.findall(r"^  cuvmm ", examples, re.M)), 2)

    def test_help_fits_the_terminal(self):
        for columns in (60, 80, 120):
            for command in self.all_commands():
                with self.subTest(command=command, columns=columns):
                    text = self.cuvmm(*command, "--help", environment={"COLUMNS": str(columns)}).stdout
                    # A command that the user should type stays on one line.
                    long = [line for line in text.splitlines()
                            if len(line) > columns and not re.match(r"  +\S+(?!.*\S  +\S)|Usage: ", line)]
                    self.assertEqual(long, [])

    def test_each_help_begins_with_an_example_of_its_own(self):
        for command in self.all_commands():
            with self.subTest(command=command):
                text = self.cuvmm(*command, "--help").stdout
                examples = text[text.index("Examples:"):].splitlines()
                self.assertTrue(examples[1].startswith(" ".join(["  cuvmm", *command])), examples[1])

    def test_help_names_options_that_exclude_each_other_in_the_description(self):
        for command in self.all_commands():
            self.assertNotRegex(self.cuvmm(*command, "--help").stdout, "Excludes:|Needs:")
        self.assertRegex(" ".join(self.cuvmm("matrix", "--help").stdout.split()), r"--diff .* \(not with --deviations, --pages\)")

    def test_help_of_a_command_by_word(self):
        self.assertEqual(self.cuvmm("help", "map").stdout, self.cuvmm("map", "--help").stdout)
        self.assertEqual(self.cuvmm("help").stdout, self.cuvmm("--help").stdout)
        self.assert_usage(["help", "mpa"], "unknown command 'mpa'; did you mean map?")

    def test_options_of_run_stand_under_headings(self):
        text = self.cuvmm("run", "--help").stdout
        plain = text[text.index("\nOptions:"):text.index("\nDriver:")]
        self.assertEqual(re.findall(r"^  (?:-h,)?(--\S+)", plain, re.M), ["--help", "--wait", "--config"])

    def test_commands_with_options_of_run_describe_their_own(self):
        for command in ("fail", "hostile"):
            text = self.cuvmm(command, "--help").stdout
            self.assertIn("\nOptions of `cuvmm run` (see `cuvmm run --help`):\n", text)
            self.assertEqual(re.findall(r"^  --quarantine N", text, re.M), [])

    def test_arguments_of_a_command_are_named_without_more_words(self):
        for command, expected in (("matrix", "FILE  "), ("leaks", "PID  "), ("memory", "REPORT  ")):
            self.assertIn(f"\nPositionals:\n  {expected}", self.cuvmm(command, "--help").stdout)
        self.assertNotIn("...", re.search(r"^  --report .*", self.cuvmm("run", "--help").stdout, re.M)[0])

    def test_a_reader_that_has_seen_enough_is_no_failure(self):
        for command in (["rules"], ["explain", "cuMemMap-offset-zero"]):
            reading, writing = os.pipe()
            os.close(reading)
            done = subprocess.run([CUVMM, *command], stdout=writing, stderr=subprocess.PIPE, text=True,
                                  preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
            os.close(writing)
            self.assertEqual((done.returncode, done.stderr), (141, ""))

    def test_a_bad_file_of_settings_stops_no_explanation(self):
        self.path("cuvmm.toml", 'devices = "x"\n')
        done = self.cuvmm("explain", "cuMemMap-offset-zero")
        self.assertEqual(done.returncode, 0)
        self.assertIn("cuvmm.toml:1:1: devices stands before any table", done.stderr)
        self.assertIn("cuMemMap-offset-zero", done.stdout)
        self.assert_usage(["doctor", "--emulate"], "cuvmm.toml:1:1: devices stands")

    def test_folders_of_an_installation(self):
        for option in ("--cmakedir", "--pkgconfigdir"):
            self.assert_usage([option], f"{option}: this cuvmm is not installed")

    def test_version(self):
        self.assertRegex(self.cuvmm("--version").stdout, r"^cuvmm \d+\.\d+\.\d+\n$")


class Documents(CliTest):
    def test_rules_json_has_every_rule_of_the_text(self):
        rules = json.loads(self.cuvmm("rules", "--format", "json").stdout)
        lines = [line for line in self.cuvmm("rules").stdout.splitlines() if line]
        self.assertEqual([rule["id"] for rule in rules], [line.split()[1] for line in lines])
        self.assertGreater(len(rules), 90)

    def test_rules_of_one_function(self):
        def of(function):
            return {line.split()[1] for line in self.cuvmm("rules", "--entry", function).stdout.splitlines() if line}
        self.assertLessEqual({"cuMemMap-bounds", "driver-initialized"}, of("cuMemMap"))
        self.assertFalse([rule for rule in of("cuMemMap") if rule.startswith(("fabric-copy-", "copy-", "memory-"))])
        # A function that has rules only together with others.
        self.assertIn("managed-location", of("cuMemAdvise_v2"))
        self.assertNotIn("cuMemMap-bounds", of("cuMemAdvise_v2"))

    def test_explain_names_the_functions_of_a_rule_and_shows_a_program(self):
        for rule, functions in [("cuMemMap-bounds", "cuMemMap, parameter size"), ("driver-initialized", "any entry point"),
                                ("fabric-copy-owner", "cuFabricCpyBatchAsync, parameter opList"),
                                ("memory-free-once", "cuMemFree")]:
            with self.subTest(rule=rule):
                text = self.cuvmm("explain", rule).stdout
                self.assertRegex(text, r"\n  call +" + re.escape(functions))
                if functions != "any entry point":
                    self.assertIn("A program that breaks it", text)


class Run(CliTest):
    def test_the_exit_code_is_the_programs(self):
        for script, code in [("exit 0", 0), ("exit 42", 42), ("kill -SEGV $$", 128 + signal.SIGSEGV)]:
            self.assertEqual(self.run_("--emulate", "--", "sh", "-c", script).returncode, code)

    def test_programs_that_cannot_be_started(self):
        result = self.run_("--", "no-such-program")
        self.assertEqual((result.returncode, result.stderr), (127, "cuvmm run: no-such-program: not found in PATH\n"))
        self.assertEqual(self.run_("--", self.path("data", "x")).returncode, 126)
        self.assertEqual(self.run_("--", self.folder).returncode, 126)
        script = self.path("orphan", "#!/no/such/interpreter\n", 0o755)
        result = self.run_("--emulate", "--", script)
        self.assertEqual(result.returncode, 127)
        self.assertIn("interpreter", result.stderr)

    def test_arguments_reach_the_program_unchanged(self):
        for arguments in [["-n", "--emulate"], ["a b", "", "*"], ["--", "--report", "x"]]:
            for separator in [["--"], []]:
                result = self.run_("--emulate", *separator, sys.executable, "-c",
                                   "import sys; print(sys.argv[1:])", *arguments)
                self.assertEqual(result.stdout, f"{arguments}\n", result.stderr)

    def test_stdin_and_stdout_belong_to_the_program(self):
        self.assertEqual(self.run_("--emulate", "--", "cat", stdin="hello").stdout, "hello")

    def test_environment(self):
        result = self.run_("--emulate=documented", "--devices", "3", "--enforce", "--leak-check=full",
                           "--trace", "t.%p", "--", "env",
                           environment={"LD_LIBRARY_PATH": "/x", "CUVMM_ERROR_EXITCODE": "7"})
        child = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        self.assertTrue(child["LD_PRELOAD"].split(":")[0].endswith("/libcuvmm-shim.so"))
        links, emulator, rest = child["LD_LIBRARY_PATH"].split(":")
        self.assertTrue(os.path.samefile(links + "/libcuda.so", child["LD_PRELOAD"].split(":")[0].replace("$LIB", "lib")))
        self.assertTrue(os.path.exists(emulator + "/libcudart.so.13"))
        self.assertTrue(os.path.exists(emulator + "/libnvidia-ml.so.1"))
        static = ["libcuvmm-static-cudart.so"] if platform.machine() == "x86_64" else []
        self.assertEqual([os.path.basename(library) for library in child["LD_PRELOAD"].split(":")[1:]],
                         ["libcudart.so.13", "libcudart.so.12", "libcuvmm-blas.so", *static, "libcuvmm-other-libc.so"])
        self.assertEqual(child["PYTHONPATH"], emulator + "/torch")
        self.assertEqual(rest, "/x")
        self.assertTrue(child["CUVMM_DRIVER"].endswith("/emulator/libcuda.so.1"))
        wanted = {"PROFILE": "documented", "DEVICES": "3", "ENFORCE": "1", "LEAK_CHECK": "full", "TRACE": self.path("t.%p")}
        self.assertEqual({name: child["CUVMM_" + name] for name in wanted}, wanted)
        self.assertNotIn("CUVMM_ERROR_EXITCODE", child)
        self.assertFalse(os.path.exists(child["CUVMM_REPORT_DIR"]), "the folder is removed at the end")
        self.assertFalse(os.path.exists(child["CUVMM_LAUNCH_COUNT"]), "so is the count")

    def test_python_keeps_its_own_start_up_code(self):
        self.path("sitecustomize.py", "print('own')\n")
        result = self.run_("--emulate", "--python", "--", sys.executable, "-c",
                           "import cuvmm_runtime, sys; print(any('cuvmm' in type(f).__module__ for f in sys.meta_path))",
                           environment={"PYTHONPATH": self.folder})
        self.assertEqual(result.stdout, "own\nTrue\n", result.stderr)

    def test_pythons_start_up_modules_run_once_each(self):
        self.path("sitecustomize.py", "print('own')\n")
        names = "import sys; print(sorted(n for n in sys.modules if n.startswith('cuvmm_')), 'torch' in sys.modules)"
        nested = (CUVMM, "run", "--emulate", "--python", "--", sys.executable, "-c", names)
        for words, modules in ((("--torch=skip",), []), ((), ["cuvmm_start", "cuvmm_torch"]),
                               (("--python",), ["cuvmm_runtime", "cuvmm_start", "cuvmm_torch"])):
            result = self.run_("--emulate", *words, "--", sys.executable, "-c", names, environment={"PYTHONPATH": self.folder})
            self.assertEqual(result.stdout, f"own\n{modules} False\n", result.stderr)
        result = self.run_("--emulate", "--", *nested, environment={"PYTHONPATH": self.folder})
        self.assertEqual(result.stdout, "own\n['cuvmm_runtime', 'cuvmm_start', 'cuvmm_torch'] False\n", result.stderr)

    def test_a_python_without_the_package_gets_a_hint(self):
        for words, hint in ((["-m", "cuvmm.first_finding"], "the program is examples/first_finding.py"),
                            (["-m", "cuvmm"], "PYTHONPATH=python has it"),
                            (["-c", "exit(4)", "--cuvmm=emulate"], "PYTEST_PLUGINS=cuvmm.pytest_plugin")):
            result = self.run_("--emulate", "--", sys.executable, "-I", *words)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("if Python found no module cuvmm: install the wheel for this Python", result.stderr)
            self.assertIn(hint, result.stderr)
        self.assertNotIn("module cuvmm", self.run_("--emulate", "--", sys.executable, "-c", "exit(4)").stderr)
        of_the_plugin = self.run_("--emulate", "--", sys.executable, "-c", "exit(4)", "--cuvmm=emulate", environment={"CUVMM_PYTEST": "{}"})
        self.assertNotIn("module cuvmm", of_the_plugin.stderr)

    def test_options_of_the_emulator_without_it_are_named(self):
        result = self.run_("--driver", self.emulator(), "--python", "--torch=skip", "--skipped-exitcode", "3", "--", "true")
        self.assertEqual(result.returncode, 0)
        self.assertIn("--python has no effect", result.stderr)
        self.assertIn("--torch has no effect", result.stderr)
        self.assertIn("--skipped-exitcode has no effect", result.stderr)

    def test_a_report_that_cannot_be_written_stops_the_program(self):
        mark = self.path("started")
        result = self.run_("--report", "/no/such/folder/r.json", "--", "touch", mark)
        self.assertEqual(result.returncode, 125)
        self.assertIn("/no/such/folder: No such file", result.stderr)
        self.assertFalse(os.path.exists(mark))

    def test_a_report_that_fails_at_the_end_is_no_success(self):
        self.assertEqual(self.run_("--emulate", "--report", "/dev/full", "--", "true").returncode, 125)

    def test_no_driver_means_the_emulator_and_says_so(self):
        has = subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"], capture_output=True)
        if has.returncode == 0:
            self.skipTest("this machine has a driver")
        result = self.run_("--", *self.replay_command(LEGAL))
        self.assertEqual(result.stderr.count("using the emulator"), 1)
        self.assertNotIn("using the emulator", self.run_("--quiet", "--", "true").stderr)

    def test_a_driver_that_is_none_is_refused(self):
        with open("/proc/self/maps") as maps:
            libc = re.search(r"/\S*libc\.so\.6", maps.read())
        result = self.run_("--driver", libc.group(0), "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("exports no cuInit", result.stderr)

    def test_signals_are_forwarded(self):
        ready = self.path("ready")
        runner = subprocess.Popen([CUVMM, "run", "--emulate", "--", "sh", "-c",
                                   f"trap 'exit 9' TERM; touch {ready}; while :; do sleep 0.05; done"],
                                  stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not os.path.exists(ready) and time.monotonic() < deadline:
            time.sleep(0.05)
        runner.send_signal(signal.SIGTERM)
        self.assertEqual(runner.wait(60), 9)

    def test_a_static_program_is_named(self):
        program = self.compiled("fixed", "int main(void) { return 5; }", "-static")
        result = self.run_("--emulate", "--", program)
        self.assertEqual(result.returncode, 5)
        self.assertIn("cannot be checked: it is statically linked", result.stderr)
        self.assertIn("nothing was checked", result.stderr)

    def test_an_address_sanitizer_program_runs_and_is_still_sanitized(self):
        program = self.compiled("asan", """#include <stdlib.h>
            int main(int count, char** words) { char* p = malloc(4); free(p); (void)words; return count > 1 ? p[1] : 6; }
            """, "-fsanitize=address")
        result = self.run_("--emulate", "--", program)
        self.assertEqual(result.returncode, 6, result.stderr)
        self.assertIn("AddressSanitizer", result.stderr)
        self.assertIn("heap-use-after-free", self.run_("--emulate", "--", program, "bad").stderr)


class Reports(CliTest):
    def test_a_clean_program(self):
        report, result = self.report_of("--emulate", "--error-exitcode", "9", "--", *self.replay_command(LEGAL))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(report["findings"], [])
        self.assertEqual(report["calls"]["cuMemAddressReserve"], 1)
        self.assertTrue(report["driver"]["emulated"])
        self.assertIn("0 errors, 0 undefined, 0 leaks", result.stderr)
        self.validate(report)

    def test_a_finding(self):
        other = self.path("second.json")
        report, result = self.report_of("--report", other, "--emulate=documented", "--error-exitcode", "9", "--",
                                        *self.replay_command(OFFSET))
        self.assertEqual(result.returncode, 9)
        self.assertIn("cuMemMap-offset-zero", [finding["rule"] for finding in report["findings"]])
        self.assertGreaterEqual(report["summary"]["error"], 1)
        self.assertRegex(result.stderr, r"cuvmm explain [\w-]+\n")
        with open(other) as file:
            self.assertEqual(json.load(file), report)
        self.validate(report)

    def test_without_error_exitcode_the_programs_code_stays(self):
        self.assertEqual(self.run_("--emulate=documented", "--", *self.replay_command(OFFSET)).returncode, 0)

    def test_the_whole_tree_is_in_one_report(self):
        self.path("bad.txt", OFFSET)
        self.path("good.txt", LEGAL)
        script = (f"{CUVMM} replay good.txt; ({CUVMM} replay bad.txt; sleep 0.3; {CUVMM} replay bad.txt) & "
                  f"{CUVMM} replay bad.txt; exit 3")
        report, result = self.report_of("--emulate=documented", "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 3)
        offsets = [finding for finding in report["findings"] if finding["rule"] == "cuMemMap-offset-zero"]
        self.assertEqual(len({finding["pid"] for finding in offsets}), 3)
        self.assertEqual(report["processes"], 4)
        self.assertEqual(report["calls"]["cuMemMap"], 3)
        self.validate(report)

    def test_leaks_of_two_processes_name_each_other(self):
        # One process keeps the descriptor, the other never releases the memory that it imported through it.
        program = """init()
h0 = cuMemCreate(2M, device=0, handle_types=posix_fd)
fd0 = cuMemExportToShareableHandle(h0, posix_fd)
@p1 init()
@p1 h1 = cuMemImportFromShareableHandle(fd0, posix_fd)
@p2 init()
@p2 m0 = cuImportExternalMemory({type=opaque_fd, fd=fd0, size=2M})
@p1 close(fd0)
cuMemRelease(h0)
"""
        report, result = self.report_of("--emulate", "--", *self.replay_command(program))
        leaks = {finding["rule"]: finding for finding in report["findings"]}
        rules = {"cuMemExportToShareableHandle-fd-closed", "cuMemImportFromShareableHandle-released",
                 "cuImportExternalMemory-destroyed"}
        self.assertEqual(set(leaks), rules, result.stderr)
        self.assertEqual(len({leak["memory"] for leak in leaks.values()}), 1)
        for rule, leak in leaks.items():
            self.assertEqual({other["rule"] for other in leak["related"]}, rules - {rule})
            self.assertEqual({other["pid"] for other in leak["related"]},
                             {leaks[other]["pid"] for other in rules - {rule}})

    def test_traces_of_a_tree_do_not_overwrite_each_other(self):
        for name in ["p.txt", "q.txt"]:
            self.path(name, LEGAL)
        trace = self.path("trace.txt")
        self.run_("--emulate", "--trace", trace, "--", "sh", "-c", f"{CUVMM} replay p.txt; sh -c true; true")
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.txt", "q.txt", "trace.txt"])
        self.assertEqual(self.cuvmm("replay", "--emulate", trace).returncode, 0)
        self.run_("--emulate", "--trace", trace, "--", "sh", "-c", f"{CUVMM} replay p.txt; {CUVMM} replay q.txt")
        self.assertEqual(len([name for name in os.listdir(self.folder) if re.match(r"trace\.txt\.\d+$", name)]), 2)

    def test_quiet_says_nothing(self):
        result = self.run_("--quiet", "--emulate=documented", "--error-exitcode", "9", "--", *self.replay_command(OFFSET))
        self.assertEqual((result.returncode, result.stderr), (9, ""))

    def test_suppressions(self):
        rules = self.path("s.txt", "# known\nrule:cuMemMap-*\n")
        report, _ = self.report_of("--emulate=documented", "--suppressions", rules, "--", *self.replay_command(OFFSET))
        self.assertNotIn("cuMemMap-offset-zero", [finding["rule"] for finding in report["findings"]])
        self.assertGreaterEqual(report["suppressed"], 1)

    def test_a_line_of_suppressions_that_cannot_be_read_is_said_before_the_program_runs(self):
        rules = self.path("s.txt", "# known\nrule:cuMemMap-*\nrule cuMemCreate\nfunction:\n")
        for command in (["run"], ["fail", "--each"], ["hostile"]):
            result = self.cuvmm(*command, "--emulate", "--suppressions", rules, "--", "touch", self.path("ran"))
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(f"{rules}:3:1: expected rule:GLOB or function:GLOB, found 'rule'", result.stderr)
            self.assertIn(f"{rules}:4:10: expected a pattern after 'function:'", result.stderr)
            self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_report_that_cannot_be_written_is_said_before_the_program_runs(self):
        result = self.run_("--emulate", "--report", "/proc/x.json", "--", "touch", self.path("ran"))
        self.assertEqual(result.returncode, 125)
        self.assertIn("--report /proc/x.json", result.stderr)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_enforce_answers_the_documented_code(self):
        result = self.run_("--emulate", "--enforce", "--", *self.replay_command(OFFSET))
        self.assertEqual(result.returncode, 0, result.stdout)


class Replay(CliTest):
    def test_expectations_that_hold(self):
        result = self.cuvmm("replay", "--emulate=documented", self.path("p.txt", OFFSET))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("6 statements: 1 as expected, 0 different, 5 without expectation", result.stdout)

    def test_a_difference(self):
        result = self.cuvmm("replay", "--emulate", "-", stdin=OFFSET)  # an H200 answers NOT_SUPPORTED
        self.assertEqual(result.returncode, 1)
        self.assertIn("CUDA_ERROR_NOT_SUPPORTED, expected CUDA_ERROR_INVALID_VALUE", result.stdout)

    def test_json(self):
        result = self.cuvmm("replay", "--emulate", "--json", "-", stdin=OFFSET)
        value = json.loads(result.stdout)
        self.assertEqual(value["different"], 1)
        bad = [one for one in value["statements"] if not one["ok"]]
        self.assertEqual([(one["line"], one["breaks"]) for one in bad], [(4, ["cuMemMap-offset-zero"])])

    def test_a_statement_that_could_not_run_is_a_difference(self):
        text = "init()\nh0 = cuMemCreate(1, device=0)  # CUDA_ERROR_INVALID_VALUE\ncuMemRelease(h0)\n"
        result = self.cuvmm("replay", "--emulate", "-", stdin=text)
        self.assertEqual(result.returncode, 1)
        self.assertIn("not-run", result.stdout)

    def test_mistakes_have_file_line_and_column(self):
        path = self.path("p.txt", "init()\ncuMemMapp(1)\ncuMemMap(\n")
        result = self.cuvmm("replay", path)
        self.assertEqual(result.returncode, 2)
        lines = result.stderr.splitlines()
        self.assertRegex(lines[0], re.escape(path) + r":2:\d+: expected")
        self.assertRegex(lines[1], re.escape(path) + r":3:\d+: expected")


FOREIGN = """
#include <stdio.h>
static void seen(void) { FILE* f = fopen("seen", "a"); fputs("cuMulticast\\n", f); fclose(f); }
int cuInit(unsigned flags) { return flags != 0; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuDeviceGetCount(int* count) { *count = 2; return 0; }
int cuDeviceGetName(char* name, int size, int device) { return device + snprintf(name, size, "GPU") - 3; }
int cuMulticastCreate(unsigned long long* handle, const void* prop) { seen(); *handle = 1; return !prop; }
int cuMulticastGetGranularity(size_t* size, const void* prop, int option) {
  seen(); *size = 2 << 20; return !prop + option;
}
"""
MULTICAST = "init(context=no)\nm0 = cuMulticastCreate({numDevices=2, size=2M})  # CUDA_SUCCESS\n"


class Multicast(CliTest):
    """No cuMulticast call reaches a driver other than the emulator, because it can disturb users of a shared fabric."""

    def setUp(self):
        super().setUp()
        self.compiled("libforeign.so", FOREIGN, "-shared", "-fPIC")
        self.driver = self.path("libforeign.so")

    def seen(self):
        return os.path.exists(self.path("seen"))

    def test_replay_refuses_it_unless_allowed(self):
        command = ["replay", "--driver", self.driver, self.path("p.txt", MULTICAST)]
        result = self.cuvmm(*command)
        self.assertIn("CUDA_ERROR_NOT_SUPPORTED, expected CUDA_SUCCESS", result.stdout)
        self.assertFalse(self.seen())
        result = self.cuvmm(*command, "--allow-multicast")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertTrue(self.seen())

    def test_conform_skips_its_cases_unless_allowed(self):
        os.mkdir(self.path("suite"))
        self.path("suite/m.cuvmm", "case m/create\n" + MULTICAST)
        command = ["conform", "--driver", self.driver, "--cases", self.path("suite")]
        result = self.cuvmm(*command)
        self.assertIn("     1  needs multicast, which is kept from this driver without --allow-multicast\n",
                      result.stdout)
        self.assertIn("not-supported m/create: needs multicast", self.cuvmm(*command, "--verbose").stdout)
        self.assertFalse(self.seen())
        result = self.cuvmm(*command, "--allow-multicast")
        self.assertIn("1 passed", result.stdout, result.stderr)
        self.assertTrue(self.seen())

    def test_the_emulator_has_it(self):
        self.assertEqual(self.cuvmm("replay", "--emulate", self.path("p.txt", MULTICAST)).returncode, 0)


DYING = """
#include <stdio.h>
#include <stdlib.h>
int cuInit(unsigned flags) { return flags != 0; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGetName(char* name, int size, int device) { return device + snprintf(name, size, "GPU") - 3; }
int cuMemRelease(unsigned long long handle) {
  if (handle == 7) return 0;
  fprintf(stderr, "malloc(): invalid size\\n");
  abort();
}
"""
CASES = """case a/good
init(context=no)
cuMemRelease(7)

case a/dies
breaks cuMemRelease-handle-valid
init(context=no)
cuMemRelease(8)  # CUDA_ERROR_INVALID_VALUE !cuMemRelease-handle-valid

case a/refused
breaks cuMemRelease-handle-valid
init(context=no)
cuMemRelease(7)  # CUDA_ERROR_INVALID_VALUE !cuMemRelease-handle-valid
"""


class Conform(CliTest):
    """The screen begins with the driver, and then shows the gravest answer first."""

    def setUp(self):
        super().setUp()
        self.compiled("libdying.so", DYING, "-shared", "-fPIC")
        os.mkdir(self.path("suite"))
        self.path("suite/a.cuvmm", CASES)

    def test_the_gravest_answers_come_first_and_a_dying_driver_speaks_beside_its_case(self):
        result = self.cuvmm("conform", "--driver", "libdying.so", "--cases", self.path("suite"))
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertRegex(result.stdout, r"(?s)^driver .*libdying.so, .*"
                         r"2 answers that are not as documented \(cuvmm has no recording of driver \?\):\n"
                         r"crash         a/dies: .*\n              on stderr: malloc\(\): invalid size\n"
                         r"deviation     a/refused: ")
        self.assertRegex(result.stdout, r"area +passed +new +known +waived +not supported\n"
                         r"allocation +1 +2 +0 +0 +0\n")

    def test_a_library_can_be_named_as_the_loader_knows_it(self):
        command = ["conform", "--cases", self.path("suite"), "--driver"]
        os.mkdir(self.path("lib"))
        os.rename(self.path("libdying.so"), self.path("lib/libdying.so"))
        found = self.cuvmm(*command, "libdying.so", environment={"LD_LIBRARY_PATH": self.path("lib")})
        self.assertIn(f"driver {self.path('lib/libdying.so')}, ", found.stdout, found.stderr)
        missing = self.cuvmm(*command, "libdying.so")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("--driver: libdying.so: no such file, and the loader finds no libcuda by it", missing.stderr)


class ToC(CliTest):
    def cases(self, step):
        """Every step-th recorded case of one process and thread, as program texts."""
        folder = os.path.join(SOURCE, "conformance", "cases")
        programs = []
        for path in sorted(pathlib.Path(folder).rglob("*.cuvmm"), key=lambda path: path.name):
            with open(path) as file:
                for part in re.split(r"^case .*\n", file.read(), flags=re.M)[1:]:
                    lines = [line for line in part.splitlines() if not re.match(r"breaks |needs |#", line)]
                    programs.append("\n".join(lines) + "\n")
        return [text for text in programs[::step] if "@" not in text and "receive(" not in text]

    def test_the_c_file_does_what_replay_does(self):
        emulator = os.path.join(os.path.dirname(CUVMM), "..", "lib", "emulator")
        headers = os.environ.get("CUDA_INCLUDE", "/usr/local/cuda/include")
        written = 0
        for text in self.cases(20):
            with self.subTest(program=text):
                program = self.path("p.txt", text)
                result = self.cuvmm("to-c", program, "-o", "p.c")
                if "it is not in every <cuda.h>" in result.stderr:
                    continue
                written += 1
                self.assertEqual(result.returncode, 0, result.stderr)
                build = subprocess.run(["cc", "-std=gnu11", "-Wall", "-Werror", "-Wno-unused-but-set-variable",
                                        "-I" + headers, "p.c", "-o", "p", "-L" + emulator, "-l:libcuda.so.1"],
                                       cwd=self.folder, capture_output=True, text=True)
                self.assertEqual(build.returncode, 0, build.stderr)
                ran = subprocess.run([self.path("p")], cwd=self.folder, capture_output=True, text=True,
                                     env={**os.environ, "LD_LIBRARY_PATH": emulator})
                results = dict(re.findall(r"^line (\d+): \w+: (\w+) \(", ran.stdout, re.M))
                for one in json.loads(self.cuvmm("replay", "--emulate", "--json", program).stdout)["statements"]:
                    if str(one["line"]) in results and one["observed"].startswith("CUDA_"):
                        self.assertEqual(results[str(one["line"])], one["observed"].split()[0], one)
                self.assertTrue(results)
        self.assertGreater(written, 10)

    def test_what_has_no_c_form_is_refused_by_line(self):
        result = self.cuvmm("to-c", self.path("p.txt", "init()\n@p1 init()\n"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("p.txt:2: a program with several processes", result.stderr)

    def test_standard_output_is_the_default(self):
        program = self.path("p.txt", OFFSET)
        self.cuvmm("to-c", program, "-o", "p.c")
        with open(self.path("p.c")) as file:
            self.assertEqual(self.cuvmm("to-c", program).stdout, file.read())


if __name__ == "__main__":
    CUVMM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    # The tests choose drivers and options themselves.
    for name in [name for name in os.environ if name.startswith("CUVMM_")]:
        del os.environ[name]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
