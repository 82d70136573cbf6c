# SPDX-License-Identifier: Apache-2.0
"""Tests the documents: rules, commands, options and files that they name exist, and prose has one width.

Usage: docs_test.py CUVMM SOURCE_FOLDER [unittest arguments].
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

CUVMM, SOURCE, EXAMPLES = None, None, None
# The ids in the examples of CONTRIBUTING.md, which are no rules.
INVENTED = {"cuMemMap-x-even", "cuMemFoo-size-nonzero"}


def pages():
    """Name and text of each page."""
    names = sorted(glob.glob("docs/**/*.md", root_dir=SOURCE, recursive=True)) + ["README.md", "CONTRIBUTING.md", "examples/README.md"]
    for name in names:
        yield name, read(os.path.join(SOURCE, name))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout


def subcommands(*command):
    """The names under all headings of a command's help: `cuvmm` has several."""
    parts = re.findall(r"^(\S[^\n]*):\n((?:  [^\n]*\n)+)", output(CUVMM, *command, "--help"), re.M)
    listed = [lines for heading, lines in parts
              if heading == "Subcommands" or not command and heading not in ("Options", "Examples")]
    return re.findall(r"^  ([a-z]\S*)  ", "".join(listed), re.M)


class Rules(unittest.TestCase):
    def test_each_rule_that_a_page_names_exists(self):
        rules = {rule["id"] for rule in json.loads(output(CUVMM, "rules", "--format", "json"))} | INVENTED
        ids = set(rules)
        ids |= set(re.findall(r'"(cu[A-Z]\w*-[\w-]+)"', read(os.path.join(SOURCE, "rulebook", "profile", "quirk.cc"))))
        platforms = os.listdir(os.path.join(SOURCE, "rulebook", "profiles", "platforms"))
        ids |= {os.path.splitext(name)[0] for name in platforms}
        ids.add("kernel-module")  # a check of `cuvmm doctor`
        areas = {rule.partition("-")[0] for rule in rules if not rule.startswith("cu")}
        # Leaves out names of cases (cuMemMap-end/bounds) and parts of file names.
        name = re.compile(r"(?<![\w/.*-])(cu[A-Z]\w*-[a-z][\w-]*)(?![\w/~*-])")
        quoted = re.compile(r"[`!]((?:%s)-[a-z][\w-]*)(?![\w/~*.-])" % "|".join(sorted(areas)))
        for page, text in pages():
            for rule in sorted(set(name.findall(text)) | set(quoted.findall(text))):
                with self.subTest(page=page):
                    self.assertTrue(rule in ids, f"{page} names {rule}, which is no rule; `cuvmm rules` lists them")

    def test_no_rule_names_a_source_twice(self):
        for rule in json.loads(output(CUVMM, "rules", "--format", "json")):
            for part in rule["source"].split("; "):
                names = re.split(r" and |, ", part)
                with self.subTest(rule=rule["id"]):
                    self.assertEqual(len(names), len(set(names)), part)


class Commands(unittest.TestCase):
    """Each `cuvmm COMMAND --option` and `./dev COMMAND` of a page can be typed."""

    # Code: a line of an indented block, or text in backticks.
    CODE = re.compile(r"^ {4,}(.*)$|`([^`\n]+)`", re.M)

    def code(self, text):
        for match in self.CODE.finditer(text):
            yield match.group(1) or match.group(2)

    def test_of_cuvmm(self):
        names = subcommands()
        self.assertIn("run", names)
        known = {}
        for name in names:
            texts = [output(CUVMM, name, "--help")]
            texts += [output(CUVMM, name, part, "--help") for part in subcommands(name)]
            known[name] = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", "\n".join(texts)))
        for page, text in pages():
            for code in self.code(text):
                for typed in re.finditer(r"(?:^|[\s/])cuvmm ([a-z][a-z-]*)(?!\w)([^|&;#]*)", code):
                    with self.subTest(page=page, code=code):
                        self.assertIn(typed.group(1), names, f"{page}: `cuvmm --help` has no such command")
                        # Text behind ` -- ` belongs to another program; text behind two spaces is an explanation.
                        own = re.split(r" -- |  ", typed.group(2))[0]
                        for option in re.findall(r"(?<=[ \[])--[a-z][\w-]*", own):
                            self.assertIn(option, known[typed.group(1)], f"{page}: cuvmm {typed.group(1)} has no such option")

    def test_each_option_of_run_has_a_row(self):
        listed = set(re.findall(r"(?<=`)--[a-z][\w-]*", read(os.path.join(SOURCE, "docs", "run.md"))))
        options = set(re.findall(r"^  (--[a-z][\w-]*)", output(CUVMM, "run", "--help"), re.M))
        self.assertIn("--report", options)
        self.assertEqual(options - listed - {"--help", "--config"}, set(), "docs/run.md says nothing of them")

    def test_of_dev(self):
        known = set(re.findall(r"^  ([a-z][a-z0-9]*) ", output(os.path.join(SOURCE, "dev"), "help"), re.M))
        self.assertIn("test", known)
        for page, text in pages():
            for code in self.code(text):
                for command in re.findall(r"(?:^|\s)\./dev ([a-z][a-z0-9]*)", code):
                    with self.subTest(page=page, code=code):
                        self.assertIn(command, known, f"{page}: `./dev help` does not know it")


class Files(unittest.TestCase):
    """A file that a page names in backticks, by its path in the repository, exists."""

    def named(self, text):
        tops = [entry.name for entry in os.scandir(SOURCE) if entry.is_dir() and entry.name not in ("build", ".git", ".deps")]
        for path in re.findall(r"`(?:\./)?((?:%s)/[^\s`]*)`" % "|".join(map(re.escape, sorted(tops))), text):
            yield path.rstrip(".,;:")

    @staticmethod
    def pattern(path):
        """The path as a pattern: a `*` in place of placeholders (AREA, GPU-DRIVER, {a,b})."""
        return re.sub(r"\{[^}]*\}|(?<![A-Za-z])[A-Z][A-Z-]{2,}(?=[_./]|$)", "*", path)

    def test_each_file_that_a_page_names_exists(self):
        for page, text in pages():
            for path in sorted(set(self.named(text))):
                with self.subTest(page=page):
                    self.assertTrue(
                        glob.glob(self.pattern(path), root_dir=SOURCE),
                        f"{page} names {path}, which does not exist. Where did it go? `git log --follow --name-status -- {path}` "
                        f"says so; write its new path into {page}, or take the row out if nothing does that step any more.")

    def test_each_test_that_a_page_names_exists(self):
        for page, text in pages():
            for path, name in re.findall(r"`(\S+_test\.(?:py|cc)): ([\w.]+)`", text):
                with self.subTest(page=page):
                    wanted = f"def {name}(" if path.endswith(".py") else name.replace(".", ", ") + ")"
                    self.assertIn(wanted, read(os.path.join(SOURCE, path)), f"{page} names {name} of {path}")

    def test_the_threads_add_up(self):
        text = read(os.path.join(SOURCE, "docs", "threads.md"))
        rows = [row.split(" | ") for row in re.findall(r"^\| (\S+#\d+ \|.*) \|$", text, re.M)]
        self.assertEqual(len(rows), 40)
        answers = collections.Counter(row[2].strip() for row in rows)
        self.assertIn(f"{answers['yes']} are explained, {answers['partly']} in part, {answers['no']} are not", text)
        for row in rows:  # a claim names a file that proves it
            self.assertEqual(row[-1].startswith("`"), row[2].strip() != "no", row)

    def test_each_ctest_that_a_page_names_exists(self):
        made = set()
        for name in glob.glob("[!.b]*/**/CMakeLists.txt", root_dir=SOURCE, recursive=True):
            made |= set(re.findall(r"cuvmm_[\w${}]+_test\b", read(os.path.join(SOURCE, name))))
        known = re.compile("|".join(re.sub(r"\$\{\w+\}", r"\\w+", name) for name in made))
        for page, text in pages():
            for name in re.findall(r"`(cuvmm_\w+_test)\b", text):
                with self.subTest(page=page):
                    self.assertTrue(known.fullmatch(name), f"{page} names the test {name}, which no CMakeLists.txt makes")

    def test_the_architecture_names_files_of_every_layer(self):
        paths = set(self.named(read(os.path.join(SOURCE, "docs", "architecture.md"))))
        self.assertGreaterEqual(len(paths), 40)


class Wrap(unittest.TestCase):
    """docs/wrap fills prose, and changes nothing else."""

    def all_wrapped(self, texts):
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, f"{i}.md") for i in range(len(texts))]
            for name, text in zip(names, texts):
                with open(name, "w", encoding="utf-8") as file:
                    file.write(text)
            subprocess.run([sys.executable, os.path.join(SOURCE, "docs", "wrap"), *names], check=True)
            return [read(name) for name in names]

    def wrapped(self, text):
        return self.all_wrapped([text])[0]

    def test_paragraphs_and_items_are_filled(self):
        word = "four "
        self.assertEqual(self.wrapped(word * 30 + "\n"), (word * 20).strip() + "\n" + (word * 10).strip() + "\n")
        self.assertEqual(self.wrapped("- one\n  two\n- three\n\n1. four\n   five\n"), "- one two\n- three\n\n1. four five\n")

    def test_tables_code_and_headings_stay(self):
        text = "# " + "long " * 30 + "\n\n| a |\n|---|\n| " + "cell " * 30 + "|\n\n    code  kept\n\n```\na  b\n" + "c " * 80 + "\n```\n"
        self.assertEqual(self.wrapped(text), text)

    def test_no_line_begins_like_an_item_by_accident(self):
        text = "x" * 96 + " 646. Why, and what then - so it is.\n"
        self.assertEqual(self.wrapped(text), "x" * 96 + " 646.\nWhy, and what then - so it is.\n")

    def test_twice_is_once(self):
        once = self.all_wrapped([text for _, text in pages()])
        self.assertEqual(self.all_wrapped(once), once)


class Prose(unittest.TestCase):
    def test_lines_have_one_width(self):
        names = [os.path.join(SOURCE, name) for name, _ in pages()]
        result = subprocess.run([sys.executable, os.path.join(SOURCE, "docs", "wrap"), "--check", *names],
                                capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stdout)

    def test_links_outside_docs_lead_somewhere(self):
        for page, text in pages():
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                path, _, anchor = target.partition("#")
                if target.startswith(("http:", "https:", "#")):
                    continue
                with self.subTest(page=page, target=target):
                    full = os.path.join(SOURCE, os.path.dirname(page), path)
                    self.assertTrue(os.path.exists(full))
                    if anchor and full.endswith(".md"):
                        text_there = read(full)
                        titles = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
                                  for title in re.findall(r"^#+ (.*)$", text_there, re.M)}
                        self.assertIn(anchor, titles | set(re.findall(r'<a id="([^"]+)">', text_there)))


class Readme(unittest.TestCase):
    """The output in README.md is the output that users get."""

    def setUp(self):
        self.text = read(os.path.join(SOURCE, "README.md"))

    def test_two_screens(self):
        self.assertLessEqual(len(self.text.splitlines()), 100, "README.md has grown: move it to docs/")

    def test_the_number_of_bugs(self):
        bugs = glob.glob(os.path.join(SOURCE, "examples", "bugs", "*", "*.cc"))
        self.assertIn(f" {len(bugs)} real bugs", self.text)

    @staticmethod
    def neutral(text):
        """The text without addresses, folders and offsets in the program, which differ from run to run."""
        text = re.sub(r"\S*(examples/bugs/)", r"\1", text)
        return re.sub(r"0x[0-9a-f]+", "0x", text)

    def test_the_finding_is_what_the_example_prints(self):
        lines = self.text.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("    $ ") and "examples/" in line)
        shown = []
        for line in lines[start + 1:]:
            if not line.startswith("    "):
                break
            shown.append(line[4:])
        program = os.path.join(EXAMPLES, lines[start].rpartition("/")[2].strip())
        if not os.path.exists(program):
            self.skipTest(f"{program} is not built")
        result = subprocess.run([CUVMM, "run", "--emulate", "--", program], capture_output=True, text=True, timeout=100)
        printed = self.neutral(result.stderr)
        for line in shown:
            if line.strip() != "...":
                self.assertIn(self.neutral(line) + "\n", printed)


if __name__ == "__main__":
    CUVMM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    EXAMPLES = os.path.join(os.path.dirname(CUVMM), "examples")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
