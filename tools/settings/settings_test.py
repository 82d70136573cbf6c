# SPDX-License-Identifier: Apache-2.0
"""Tests cuvmm.toml and `cuvmm config` from the outside.

Usage: settings_test.py CUVMM [unittest arguments]. Needs the shim and the emulator in place.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CUVMM = None
VARIABLES = ("CUVMM_DEVICES", "CUVMM_DRIVER", "CUVMM_ENFORCE", "CUVMM_LEAK_CHECK", "CUVMM_STREAMS",
             "CUVMM_SUPPRESSIONS", "CUVMM_UNORDERED")
SHOW = f"for v in {' '.join(VARIABLES)}; do eval echo $v=\\$$v; done"


class SettingsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuvmm-settings-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.below = self.folder / "a" / "b"
        self.below.mkdir(parents=True)

    def settings(self, text, name="cuvmm.toml", folder=None):
        path = (folder or self.folder) / name
        path.write_text(text)
        return path

    def cuvmm(self, *arguments, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CUVMM_")}
        return subprocess.run([CUVMM, *arguments], capture_output=True, text=True, timeout=100, check=False,
                              cwd=self.below, env={**clean, **environment})

    def program_sees(self, *options, **environment):
        """The environment variables with the settings of the shim and the emulator, as the program sees them."""
        result = self.cuvmm("run", *options, "--", "sh", "-c", SHOW, **environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return dict(line.split("=", 1) for line in result.stdout.splitlines())

    def assert_refused(self, text, *expected):
        path = self.settings(text)
        result = self.cuvmm("run", "--", "true")
        self.assertEqual(result.returncode, 2, result.stderr)
        for words in expected:
            self.assertIn(words.replace("FILE:", f"{path}:"), result.stderr)


class Precedence(SettingsTest):
    def test_the_nearest_file_upward_is_used_alone(self):
        self.settings("[run]\nemulate = true\ndevices = 3\n")
        self.assertEqual(self.program_sees()["CUVMM_DEVICES"], "3")
        self.settings("[run]\nemulate = true\nunordered = true\n", folder=self.below.parent)
        seen = self.program_sees()
        self.assertEqual(seen["CUVMM_DEVICES"], "")
        self.assertEqual(seen["CUVMM_UNORDERED"], "1")

    def test_the_command_line_comes_before_the_environment_before_the_file(self):
        self.settings('[run]\nemulate = true\ndevices = 3\nleak-check = "full"\n')
        self.assertEqual(self.program_sees(CUVMM_DEVICES="5")["CUVMM_DEVICES"], "5")
        self.assertEqual(self.program_sees("--devices", "7", CUVMM_DEVICES="5")["CUVMM_DEVICES"], "7")
        self.assertEqual(self.program_sees(CUVMM_DEVICES="5")["CUVMM_LEAK_CHECK"], "full")

    def test_a_switch_that_is_false_changes_nothing(self):
        self.settings("[run]\nemulate = true\nenforce = false\n")
        self.assertEqual(self.program_sees()["CUVMM_ENFORCE"], "")
        self.settings("[run]\nemulate = true\nenforce = true\n")
        self.assertEqual(self.program_sees()["CUVMM_ENFORCE"], "1")
        self.assertEqual(self.program_sees("--enforce=false")["CUVMM_ENFORCE"], "")
        self.assertEqual(self.program_sees(CUVMM_ENFORCE="0")["CUVMM_ENFORCE"], "0")

    def test_which_libcuda_is_one_question(self):
        self.settings("[run]\nemulate = true\n")
        emulator = self.program_sees()["CUVMM_DRIVER"]
        self.settings("[run]\nemulate = true\ndevices = 3\n")
        self.assertEqual(self.program_sees("--driver", emulator)["CUVMM_DRIVER"], emulator)
        self.settings('[run]\ndriver = "/nowhere/libcuda.so.1"\n')
        self.assertEqual(self.program_sees("--emulate")["CUVMM_DRIVER"], emulator)

    def test_config_and_the_variable_choose_the_file(self):
        self.settings("[run]\nemulate = true\ndevices = 3\n")
        other = self.settings("[run]\nemulate = true\ndevices = 4\n", "other.toml")
        self.assertEqual(self.program_sees("--config", str(other))["CUVMM_DEVICES"], "4")
        self.assertEqual(self.program_sees(CUVMM_CONFIG=str(other))["CUVMM_DEVICES"], "4")
        self.assertEqual(self.program_sees("--emulate", "--config", "/dev/null")["CUVMM_DEVICES"], "")

    def test_files_are_named_from_the_files_folder(self):
        (self.folder / "known.supp").write_text("")
        self.settings('[run]\nemulate = true\nsuppressions = "known.supp"\nreport = ["r.json", "r.sarif"]\n')
        self.assertEqual(self.program_sees()["CUVMM_SUPPRESSIONS"], str(self.folder / "known.supp"))
        self.assertTrue((self.folder / "r.json").exists())
        self.assertTrue((self.folder / "r.sarif").exists())

    def test_a_strangers_file_is_passed_over(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a file away")
        path = self.settings("[run]\nemulate = true\ndevices = 3\n")
        os.chown(path, 65534, 65534)
        result = self.cuvmm("run", "--emulate", "--", "sh", "-c", "echo =$CUVMM_DEVICES=")
        self.assertEqual(result.stdout, "==\n")
        self.assertIn(f"{path} is not used, as it belongs to another user", result.stderr)
        self.assertEqual(self.program_sees("--config", str(path))["CUVMM_DEVICES"], "3")


class Inherited(SettingsTest):
    def held(self, command):
        document = json.loads(self.cuvmm("config", command, "--json").stdout)
        return {one["key"]: (one["value"], one["file"]["line"]) for one in document["settings"]}

    def test_fail_and_hostile_take_what_run_says(self):
        self.settings('[run]\nemulate = true\ndevices = 3\nstack-depth = 9\nreport = "r.json"\nstreams = "late:1"\n'
                      'nvtx-include = "a"\n[fail]\ndevices = 2\nno-nvtx = true\n')
        self.assertEqual(self.held("fail"), {"emulate": (True, 2), "stack-depth": (9, 4), "devices": (2, 9),
                                             "no-nvtx": (True, 10)})
        self.assertEqual(self.held("hostile"), {"emulate": (True, 2), "devices": (3, 3), "stack-depth": (9, 4),
                                                "nvtx-include": ("a", 7)})

    def test_the_driver_is_one_question(self):
        self.settings('[run]\ndriver = "/lib/libcuda.so.1"\n[fail]\nemulate = true\n')
        self.assertEqual(self.held("fail"), {"emulate": (True, 4)})
        self.assertEqual(self.held("hostile"), {})
        self.settings('[run]\ndriver = "/lib/libcuda.so.1"\n')
        self.assertEqual(list(self.held("fail")), ["driver"])

    def test_false_answers_nothing(self):
        self.settings('[run]\ndriver = "/lib/libcuda.so.1"\nnvtx-include = "a"\n'
                      "[fail]\nemulate = false\nno-nvtx = false\n")
        self.assertEqual(self.held("fail"), {"driver": ("/lib/libcuda.so.1", 2), "nvtx-include": ("a", 3),
                                             "emulate": (False, 5), "no-nvtx": (False, 6)})
        # A setting of the command itself overrides that of [run].
        self.settings("[run]\nemulate = true\n[fail]\nemulate = false\n")
        self.assertEqual(self.held("fail"), {"emulate": (False, 4)})

    def test_the_program_sees_it(self):
        self.settings('[run]\nemulate = true\nreport = "r.json"\ndevices = 3\nno-symbols = true\ndebuginfod = true\n'
                      "stack-depth = 9\n")
        show = "echo $CUVMM_DEVICES $CUVMM_NO_SYMBOLS $CUVMM_DEBUGINFOD $CUVMM_STACK_DEPTH"
        for command in (("run",), ("fail", "--fail", "cuMemCreate@3")):
            result = self.cuvmm(*command, "--", "sh", "-c", show)
            self.assertEqual(result.stdout, "3 1 1 9\n", result.stderr)
            self.assertEqual((self.folder / "r.json").exists(), command == ("run",))
            (self.folder / "r.json").unlink(missing_ok=True)


class Mistakes(SettingsTest):
    def test_names(self):
        self.assert_refused("[run]\nemulate = true\ndevises = 3\n", "FILE:3:1: unknown key devises in [run]",
                            "did you mean devices?")
        self.assert_refused("[rnu]\n", "FILE:1:2: unknown table [rnu]", "did you mean run?")
        self.assert_refused("devices = 3\n", "FILE:1:1: devices stands before any table")
        self.assert_refused("[run]\nhelp = true\n", "unknown key help")
        self.assert_refused("[fail]\neech = true\n", "FILE:2:1: unknown key eech in [fail]", "did you mean each?")

    def test_types(self):
        for line, expected in (('devices = "3"', "expected a whole number"),
                               ("devices = 2.5", "expected a whole number"),
                               ("unordered = 1", "expected true or false"),
                               ("emulate = 1", "expected true, false or the name of a profile"),
                               ('wait = "long"', "expected a number of seconds"),
                               ("trace = true", "expected a string (FILE)"),
                               ("report = [1]", "expected a string (FILE), or an array of them"),
                               ('leak-check = ["full"]', "expected a string (summary|full|no)")):
            key = line.split(" ")[0]
            column = line.index("=") + 3 + (1 if "[1]" in line else 0)
            self.assert_refused(f"[run]\n{line}\n", f"FILE:2:{column}: {key}: {expected}")

    def test_values(self):
        self.assert_refused("[run]\ndevices = 99\n", "FILE:2:11: --devices: '99' is not a whole number in 1..62")
        self.assert_refused('[run]\nleak-check = "fulll"\n', "FILE:2:14: --leak-check", "did you mean full?")
        self.assert_refused('[run]\ndriver = "x"\nemulate = true\n', "FILE:2:10: driver and emulate exclude each other")

    def test_text(self):
        self.assert_refused("[run\n", "FILE:1:5: ")
        self.assert_refused("[run]\n\u00e4 = 1\n", "FILE:2:1: expected printable ASCII")
        result = self.cuvmm("run", "--config", "/nowhere/x.toml", "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("/nowhere/x.toml: No such file", result.stderr)

    def test_help_needs_no_good_file(self):
        self.settings("[run\n")
        result = self.cuvmm("run", "--help")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("--config FILE", result.stdout)


class Config(SettingsTest):
    def test_a_mistake_in_the_file_hides_no_other_settings(self):
        path = self.settings("devices = 3\n")
        shown = self.cuvmm("config", CUVMM_DEVICES="5")
        self.assertEqual(shown.returncode, 2)
        self.assertIn(f"{path}:1:1: devices stands before any table; expected one such as [run]; nothing of this file is shown", shown.stderr)
        self.assertIn(f"The file of settings is {path}", shown.stdout)
        self.assertRegex(shown.stdout, r'(?m)^devices = "5" +# from CUVMM_DEVICES$')

    def test_what_holds_and_from_where(self):
        path = self.settings('[run]\nemulate = true\ndevices = 3\n\n[work.run]\nout = "results"\n')
        text = self.cuvmm("config", CUVMM_DEVICES="5").stdout
        self.assertIn(f"The file of settings is {path}", text)
        self.assertRegex(text, rf'(?m)^emulate = true +# {path}:2:11$')
        self.assertRegex(text, rf'(?m)^devices = "5" +# from CUVMM_DEVICES, not 3 of {path}:3:11$')
        self.assertRegex(text, rf'\[work.run\]\nout = "{self.folder}/results" ')
        self.assertNotIn("leak-check", text)
        everything = self.cuvmm("config", "run", "--all").stdout
        self.assertRegex(everything, r"# leak-check +# default \(or CUVMM_LEAK_CHECK\)")
        self.assertNotIn("[work.run]", everything)

    def test_json(self):
        path = self.settings("[run]\nemulate = true\ndevices = 3\n")
        document = json.loads(self.cuvmm("config", "--json", CUVMM_DEVICES="5").stdout)
        self.assertEqual(document["file"], str(path))
        devices = [one for one in document["settings"] if (one["command"], one["key"]) == ("run", "devices")]
        self.assertEqual(devices, [{"command": "run", "key": "devices", "value": "5", "source": "environment",
                                    "variable": "CUVMM_DEVICES", "file": {"value": 3, "line": 3, "column": 11}}])
        everything = json.loads(self.cuvmm("config", "--json", "--all").stdout)["settings"]
        keys = {one["key"] for one in everything if one["command"] == "run"}
        options = self.cuvmm("run", "--help").stdout
        for key in keys:
            self.assertIn(f"--{key}", options)
        self.assertIn({"command": "run", "key": "verbose", "value": None, "source": "default",
                       "variable": "CUVMM_VERBOSE"}, everything)

    def test_each_variable_of_the_shim_has_a_key_or_a_reason(self):
        docs = pathlib.Path(__file__).resolve().parents[2] / "docs"
        rows = [line.split("|") for line in (docs / "environment.md").read_text().splitlines() if line.startswith("| `CUVMM_")]
        read = {name for row in rows if "shim" in row[2] for name in re.findall(r"CUVMM_\w+", row[1])}
        everything = json.loads(self.cuvmm("config", "--json", "--all").stdout)["settings"]
        keys = {one["variable"] for one in everything if "variable" in one}
        text = (docs / "settings" / "README.md").read_text().split("## Variables without a key")[1].split("\nThe emulator")[0]
        reasons = set(re.findall(r"CUVMM_\w+", text))
        self.assertEqual(read - keys, reasons)

    def test_without_a_file(self):
        self.assertIn("There is no cuvmm.toml", self.cuvmm("config").stdout)
        self.assertIsNone(json.loads(self.cuvmm("config", "--json").stdout)["file"])
        result = self.cuvmm("config", "rnu")
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean run?", result.stderr)


if __name__ == "__main__":
    CUVMM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
