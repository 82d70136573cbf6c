# SPDX-License-Identifier: Apache-2.0
"""The manual page and the shells' completions know every command and option, and the shells accept them.

Usage: shell_page_test.py CUVMM [unittest arguments]. A shell that is not installed is not tried.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CUVMM = None


def output(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=100, **options).stdout


def page(kind):
    return output(CUVMM, "shell-page", kind)


def headings_of(*command):
    """Each heading of --help, with the lines below it."""
    return re.findall(r"^(\S[^\n]*):\n((?:  [^\n]*\n)+)", output(CUVMM, *command, "--help"), re.M)


def commands_of(*command):
    """The commands under all headings of a help text: `cuvmm --help` has several."""
    listed = [lines for heading, lines in headings_of(*command)
              if heading == "Subcommands" or not command and heading not in ("Options", "Examples")]
    return re.findall(r"^  ([a-z]\S*)  ", "".join(listed), re.M)


def options_of_help(inner=False):
    """Each command of --help, with the long options of its own --help; with `inner` also commands of commands."""
    names = commands_of()
    assert len(names) > 20, names
    for command in names + [f"{name} {one}" for name in names if inner for one in commands_of(name)]:
        options = []
        for heading, lines in headings_of(*command.split()):
            # Options that come from `cuvmm run` stand in a list, without descriptions.
            begin = r"--[a-z0-9-]+" if heading.startswith("Options of") else r"^  (?:-\w,)?(--[a-z0-9-]+)"
            options += re.findall(begin, lines, re.M) if heading != "Examples" else []
        yield command, options


class Pages(unittest.TestCase):
    def test_the_manual_has_every_option(self):
        sections = page("man").replace("\\-", "-").split("\n.SS ")
        found = {section.split("\n", 1)[0]: section for section in sections[1:]}
        for command, options in options_of_help(inner=True):
            self.assertGreater(len(options), 0, command)
            for option in options:
                with self.subTest(command=command, option=option):
                    self.assertIn(f"\\fB{option}\\fR", found[command])

    def test_the_command_that_writes_pages_is_not_shown(self):
        for kind in ("man", "bash", "zsh", "fish"):
            text = page(kind)
            self.assertNotRegex(text, r"\bKIND\b")
            self.assertNotRegex(text, r"shell-page (?!%s)" % kind)

    def test_zsh_and_fish_have_every_option(self):
        zsh, fish = page("zsh"), page("fish")
        for command, options in options_of_help():
            case = zsh[zsh.index(f"    {command})\n"):].partition(";;")[0]
            for option in options:
                with self.subTest(command=command, option=option):
                    self.assertIn(f"'*{option}", case)
                    self.assertRegex(fish, rf"__fish_seen_subcommand_from {command}'.* -l {option[2:]}\b")

    def check_syntax(self, shell, suffix, kind):
        if not shutil.which(shell):
            self.skipTest(f"no {shell} here")
        with tempfile.NamedTemporaryFile("w", suffix=suffix) as file:
            file.write(page(kind))
            file.flush()
            result = subprocess.run([shell, "-n", file.name], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_zsh_reads_it(self):
        self.check_syntax("zsh", ".zsh", "zsh")

    def test_fish_reads_it(self):
        self.check_syntax("fish", ".fish", "fish")

    def test_man_reads_it(self):
        if not shutil.which("man"):
            self.skipTest("no man here")
        with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
            file.write(page("man"))
            file.flush()
            result = subprocess.run(["man", "--warnings", "-l", file.name], capture_output=True, text=True,
                                    env={**os.environ, "LC_ALL": "C", "MANPAGER": "cat"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))


class Bash(unittest.TestCase):
    """Tests the completions of bash. A command line is a list of words; the user is typing the last one."""

    def offered(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "some-folder"))
            open(os.path.join(folder, "some-file"), "w").close()
            script = page("bash") + 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cuvmm; printf "%s\\n" "${COMPREPLY[@]}"\n'
            environment = {**os.environ, "PATH": os.path.dirname(CUVMM) + os.pathsep + os.environ["PATH"]}
            return output("bash", "-c", script, "bash", *words, cwd=folder, env=environment).split()

    def test_commands(self):
        commands = [command for command, _ in options_of_help()]
        self.assertLessEqual(set(commands), set(self.offered("cuvmm", "")))
        self.assertEqual(self.offered("cuvmm", "doc"), ["doctor"])

    def test_options_of_each_command(self):
        for command, options in options_of_help():
            self.assertLessEqual(set(options), set(self.offered("cuvmm", command, "--")), command)
        self.assertEqual(self.offered("cuvmm", "run", "--dev"), ["--devices"])

    def test_values(self):
        self.assertEqual(self.offered("cuvmm", "run", "--leak-check", ""), ["summary", "full", "no"])
        self.assertEqual(self.offered("cuvmm", "run", "--leak-check", "=", "f"), ["full"])
        self.assertEqual(sorted(self.offered("cuvmm", "run", "--report", "")), ["some-file", "some-folder"])
        self.assertIn("some-folder", self.offered("cuvmm", "run", "--live", ""))
        self.assertIn("off", self.offered("cuvmm", "run", "--live", ""))
        self.assertIn("documented", self.offered("cuvmm", "run", "--emulate", "=", "doc"))
        self.assertEqual(self.offered("cuvmm", "run", "--devices", ""), [])

    def test_rules(self):
        self.assertIn("cuMemMap-offset-zero", self.offered("cuvmm", "explain", "cuMemMap-off"))

    def test_what_follows_the_dashes_is_the_programs(self):
        self.assertIn("bash", self.offered("cuvmm", "run", "--", "bas"))
        self.assertIn("some-file", self.offered("cuvmm", "run", "--emulate", "--", "cat", "some-"))


if __name__ == "__main__":
    CUVMM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
