# SPDX-License-Identifier: Apache-2.0
"""The documentation site builds without a complaint, each finding's link leads to its rule, and a phone can show it.

Usage: site_test.py CUVMM SCRATCH_FOLDER GENERATED_FOLDER [unittest arguments]. By a Python that has dev-tools/site/requirements.txt (exit code 77
where it has not). SCRATCH_FOLDER keeps what was read, so that a second time takes less.
"""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "..", "..", "tools", "view", "page")]
sys.dont_write_bytecode = True

CUVMM, SCRATCH, GENERATED = map(os.path.abspath, sys.argv[1:4])
SITE = os.path.join(SCRATCH, "html")


def setUpModule():
    shutil.rmtree(SITE, ignore_errors=True)
    done = subprocess.run([sys.executable, os.path.join(HERE, "build.py"), SITE, GENERATED, SCRATCH], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    global MADE
    MADE = os.path.join(SITE, build.version())


class Links(unittest.TestCase):
    def test_each_finding_leads_to_its_rule(self):
        """A finding names docs/rules/AREA.md#ID, which is rules/AREA.html#ID here."""
        rules = json.loads(subprocess.run([CUVMM, "rules", "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)
        self.assertGreater(len(rules), 500)
        explained = {name: links.Page(os.path.join(MADE, "rules", name)).anchors for name in os.listdir(os.path.join(MADE, "rules"))}
        for rule in rules:
            page = re.fullmatch(r"docs/rules/(\w+)\.md#(.+)", rule["url"])
            self.assertIsNotNone(page, rule["url"])
            self.assertIn(page[2], explained[page[1] + ".html"])

    def test_every_document_is_listed_on_the_left(self):
        left = links.Page(os.path.join(MADE, "index.html")).links
        for path in stage.documents():
            if path.endswith(".md") and path != "docs/index.md" and not path.startswith("docs/rules/"):
                self.assertIn(stage.page_of(path) + ".html", left)

    def test_names_in_code_type_lead_to_generated_pages(self):
        links_there = links.Page(os.path.join(MADE, "findings.html")).links
        self.assertIn("rules/memory.html#stream-alive", links_there)
        self.assertIn("rules/index.html", links_there)
        names = {"a-b": "docs/rules/map.md#a-b"}
        text = "`a-b`, [`a-b`](x.md), `other`\n\n    `a-b`\n"
        self.assertEqual(stage.with_names_linked("docs/howto/x.md", text, names),
                         "[`a-b`](../rules/map.md#a-b), [`a-b`](x.md), `other`\n\n    `a-b`\n")

    def test_what_is_dead_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("a.html", '<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
                                          '<script src="https://elsewhere.org/x.js"></script><a href="https://elsewhere.org">4</a>'),
                               ("b.html", '<p id="there"><a href="#there">5</a>')):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual([(link, what) for _, link, what in links.dead(folder)],
                             [("b.html#gone", "has no such anchor"), ("c.html", "is not there"),
                              ("https://elsewhere.org/x.js", "is loaded from elsewhere")])

    def test_a_document_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(stage.DeadLink, r"docs/run.md: there is no nowhere.md"):
            stage.map_links("docs/run.md", "See [it](nowhere.md).", lambda match, there: match[0])
        code = "a\n\n    [it](nowhere.md)\n\n```\n[it](nowhere.md)\n```\n"
        self.assertEqual(stage.map_links("docs/run.md", code, None), code)


class Versions(unittest.TestCase):
    def test_the_newest_is_first_and_is_opened(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("0.9.0", "0.10.0", "0.2.0", "not-a-version"):
                os.mkdir(os.path.join(folder, name))
            self.assertEqual(build.offer(folder), ["0.10.0", "0.9.0", "0.2.0"])
            self.assertIn("url=0.10.0/index.html", stage.read(os.path.join(folder, "index.html")))

    def test_pages_say_which_they_are(self):
        self.assertIn(f'data-version="{build.version()}"', stage.read(os.path.join(MADE, "rules", "map.html")))

    def test_search_knows_rules(self):
        self.assertIn("cumemmap-inside-reservation", stage.read(os.path.join(MADE, "searchindex.js")).lower())


class Looks(unittest.TestCase):
    """Tests in Chromium, if there is one."""

    def setUp(self):
        if not browser.CHROMIUM:
            self.skipTest("there is no Chromium")

    def test_phone_and_desktop(self):
        with browser.Browser() as window:
            for page in ("index.html", "rules/map.html", "install/index.html", "performance.html", "matrix.html"):
                for width, phone in ((390, True), (1280, False)):
                    window.look(width, 844, phone=phone)
                    window.open(os.path.join(MADE, page))
                    self.assertLessEqual(window.evaluate("document.documentElement.scrollWidth"), width, page)
                    self.assertEqual(window.complaints(), [], page)
                    self.assertEqual([asked for asked in window.requests() if not asked.startswith(("file:", "data:"))], [])

    def test_a_rule_is_in_sight(self):
        """A link to a rule shows the rule below the bar at the top."""
        with browser.Browser() as window:
            window.open(os.path.join(MADE, "rules/map.html"))
            for width, phone in ((390, True), (1280, False)):
                window.look(width, 844, phone=phone)
                top = window.evaluate("document.documentElement.style.scrollBehavior = 'auto'; location.hash = '';"
                                      "location.hash = '#cuMemMap-offset-zero';"
                                      "document.getElementById('cuMemMap-offset-zero').getBoundingClientRect().top")
                self.assertTrue(0 <= top < 400, top)

    def test_versions_are_offered(self):
        other = os.path.join(SITE, "0.0.1")
        os.mkdir(other)
        try:
            build.offer(SITE)
            with browser.Browser() as window:
                window.open(os.path.join(MADE, "rules/map.html"))
                self.assertEqual(window.evaluate("[...document.getElementById('cuvmm-versions').options].map(o => o.value).join()"),
                                 build.version() + ",0.0.1")
        finally:
            os.rmdir(other)
            build.offer(SITE)


if __name__ == "__main__":
    if any(importlib.util.find_spec(name) is None for name in ("sphinx", "myst_parser", "furo", "sphinx_copybutton")):
        print("skipped: this Python has no Sphinx; `./dev test` installs it (dev-tools/site/requirements.txt)")
        sys.exit(77)
    import browser
    import build
    import links
    import stage
    stage.GENERATED = GENERATED
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=1)
