# SPDX-License-Identifier: Apache-2.0
"""The pages of `cuvmm matrix`: the HTML as a browser shows it, and the generated ones of docs/."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CUVMM, SOURCE = sys.argv[1], sys.argv[2]
sys.path.insert(0, os.path.join(SOURCE, "tools", "view", "page"))
import browser  # noqa: E402

CHROMIUM = browser.CHROMIUM
NO_CHROMIUM = "no Chromium here: Debian's package chromium-headless-shell; on Ubuntu, Google's package of Chrome"
HOSTILE = '</script><img src=x onerror="document.title=1">'


def recording(**cases):
    return {"schema": 1, "driver": "libcuda.so.1", "gpu": "GPU " + HOSTILE, "driver_version": "1.2",
            "cuda_version": 13000, "devices": 1, "date": "2026-01-01T00:00:00Z", "cases": cases,
            "skipped": {"cuMemFree/not-vmm": "needs " + HOSTILE}}


def content_hash(text):
    """The hash in the names of cuvmm's results: FNV-1a."""
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return f"{value:016x}"


class Page(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="cuvmm-matrix-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        return path

    def cuvmm(self, *arguments, code=0):
        done = subprocess.run([CUVMM, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def hostile_page(self):
        recorded = self.path("recorded.json", json.dumps(recording(**{
            "cuMemMap/flags-zero": ["CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE"],
            "cuMemMap/offset-zero": ["CUDA_ERROR_NOT_SUPPORTED"],
            "cuMemMap/offset-zero~" + HOSTILE: ["CUDA_SUCCESS"],
            "cuMemMap/handle-alive": ["CUDA_SUCCESS", "signal:SIGSEGV"]})))
        self.cuvmm("matrix", "documented", recorded, "--html", self.path("matrix.html"))
        with open(self.path("matrix.html"), encoding="utf-8") as page:
            return page.read()

    def dom(self, fragment=""):
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--user-data-dir=" + self.path("browser"), "--dump-dom", f"file://{self.path('matrix.html')}{fragment}"],
            capture_output=True, text=True, timeout=120, check=True)
        return done.stdout

    def rows(self, dom):
        """The texts of the cells in visible rows, by rule."""
        found = re.findall(r'<tr class="rule" id="([^"]+)"( hidden="")?>(.*?)</tr>', dom, re.S)
        return {rule: [html.unescape(re.sub(r"<[^>]*>", " ", cell.replace("<wbr>", ""))).split()
                       for cell in re.findall(r"<td[^>]*>(.*?)</td>", cells, re.S)]
                for rule, hidden, cells in found if not hidden}

    def test_page_has_no_outside_parts_and_no_foreign_markup(self):
        page = self.hostile_page()
        self.assertNotIn("<img", page)
        self.assertEqual(page.count("</script>"), 2)
        self.assertIsNone(re.search(r"""(src|href)\s*=|@import|https?://""", re.sub(
            r'<script type="application/json".*?</script>', "", page, flags=re.S)))

    @unittest.skipUnless(CHROMIUM, NO_CHROMIUM)
    def test_narrow_screens_show_the_verdicts_and_axe_finds_no_fault(self):
        self.hostile_page()
        with browser.Browser() as one:
            for width, dark in ((500, False), (390, True), (1280, False)):
                one.look(width=width, dark=dark)
                one.open(self.path("matrix.html"))
                with self.subTest(width):
                    self.assertLessEqual(one.evaluate("document.documentElement.scrollWidth"), width)
                    right = one.evaluate("Math.max(...[...document.querySelectorAll('tr.rule .tag')].map(tag => tag.getBoundingClientRect().right))")
                    self.assertLessEqual(right, width)
                    self.assertEqual(one.evaluate("document.getElementById('theme').textContent"), "Light colours" if dark else "Dark colours")
                    with self.subTest("axe"):
                        self.assertEqual(one.axe_faults(), [])

    @unittest.skipUnless(CHROMIUM, NO_CHROMIUM)
    def test_browser_shows_every_rule(self):
        self.hostile_page()
        dom = self.dom()
        rows = self.rows(dom)
        rules = json.loads(self.cuvmm("rules", "--format", "json").stdout)
        wanted = [rule["id"] for rule in rules if rule["kind"] != "leak" and rule["checked"]]
        self.assertGreater(len(wanted), 90)
        self.assertEqual(list(rows), wanted)
        self.assertIn(f"{len(wanted)} of {len(wanted)} rules", dom)
        self.assertEqual(rows["cuMemMap-flags-zero"][2:],
                         [["INVALID_VALUE"], ["Pass", "INVALID_VALUE"], ["Pass", "INVALID_VALUE"]])
        self.assertEqual(rows["cuMemMap-offset-zero"][4], ["Deviation", "NOT_SUPPORTED", "/", "accepts"])
        self.assertEqual(rows["cuMemMap-handle-alive"][4], ["Crash", "crashes"])
        self.assertEqual(rows["cuMemFree-not-vmm"][4], ["NotSupported"])
        self.assertEqual(rows["cuMemMap-bounds"][4], ["NotRun"])
        # The page shows the text of the data, and ran none of it as a script.
        self.assertIn("GPU &lt;/script&gt;&lt;img src=x", dom)
        self.assertNotIn("<img", dom)
        self.assertIn("<title>cuvmm: rules and drivers</title>", dom)

    @unittest.skipUnless(CHROMIUM, NO_CHROMIUM)
    def test_browser_filters(self):
        self.hostile_page()
        self.assertEqual(list(self.rows(self.dom("#filter=FLAGS-zero%20cuMemMap-"))), ["cuMemMap-flags-zero"])

    def test_unusable_inputs_are_refused_by_name(self):
        for name, text in [("no.json", None), ("bad.json", "{"), ("other.json", '{"cases": {"a/b": ["x"]}}'),
                           ("deep.json", '{"cases": ' + '{"a":' * 300000 + "1" + "}" * 300001),
                           ("odd.json", '{"cases": [1]}'), ("bad.toml", "[profile")]:
            error = self.cuvmm("matrix", self.path(name, text), code=2).stderr
            self.assertIn(name, error)

    def test_results_of_conform_and_runs_of_one_driver_share_a_column(self):
        results = {"schema": 1, "gpu": "G", "devices": 2, "date": "2026-01-01", "driver": {
            "path": "/x/libcuda.so.1", "version": "9", "cuda_version": 13000, "emulated": False}, "cases": [
            {"name": "map/x", "rules": ["cuMemMap-bounds"], "status": "deviation", "reason": "", "statements": [
                {"call": "init()", "observed": "CUDA_SUCCESS", "breaks": []},
                {"call": "cuMemMap(|)", "observed": "CUDA_ERROR_NOT_FOUND", "breaks": ["cuMemMap-bounds"]}]}]}
        recorded = dict(recording(**{"cuMemMap/flags-zero": ["CUDA_SUCCESS"]}), gpu="G", driver_version="9")
        page = self.cuvmm("matrix", self.path("a.json", json.dumps(results)),
                          self.path("b.json", json.dumps(recorded))).stdout
        self.assertIn("| documented | G, driver 9 |\n", page)
        self.assertRegex(page, r"cuMemMap-bounds.* \| \*\*Deviation: NOT_FOUND\*\* \|\n")
        self.assertRegex(page, r"cuMemMap-flags-zero.* \| \*\*Deviation: accepts\*\* \|\n")

    def test_pairs_say_nothing_of_either_rule(self):
        recorded = recording(**{"cuMemMap/vacant~2": ["CUDA_ERROR_INVALID_VALUE"],
                                "cuMemMap/vacant~2+offset-zero": ["CUDA_ERROR_NOT_SUPPORTED"]})
        page = self.cuvmm("matrix", self.path("a.json", json.dumps(recorded))).stdout
        self.assertRegex(page, r"cuMemMap-vacant.* \| INVALID_VALUE \|\n")

    def diff(self, one, other, *more):
        one = dict(recording(**one), gpu="G", driver_version="1")
        other = dict(recording(**other), gpu="G", driver_version="2")
        return self.cuvmm("matrix", "--diff", self.path("one.json", json.dumps(one)),
                          self.path("other.json", json.dumps(other)), *more).stdout

    def test_a_diff_shows_what_differs_and_nothing_else(self):
        page = self.diff({"cuMemMap/flags-zero": ["CUDA_SUCCESS"], "cuMemMap/offset-zero": ["CUDA_ERROR_INVALID_VALUE"],
                          "cuMemMap/bounds": ["CUDA_ERROR_INVALID_VALUE"],
                          "flow/same": ["CUDA_SUCCESS"], "flow/other": ["CUDA_SUCCESS", "CUDA_SUCCESS =1"]},
                         {"cuMemMap/flags-zero": ["CUDA_ERROR_INVALID_VALUE"],
                          "cuMemMap/offset-zero": ["CUDA_ERROR_INVALID_VALUE"],
                          "cuMemMap/vacant": ["CUDA_ERROR_INVALID_VALUE"],
                          "flow/same": ["CUDA_SUCCESS"], "flow/other": ["CUDA_SUCCESS", "CUDA_SUCCESS =2"]})
        self.assertIn("1 rule and 1 legal flow are answered otherwise; 1 and 1 alike.", page)
        self.assertRegex(page, r"cuMemMap-flags-zero\].* \| accepts \| INVALID_VALUE \|\n")
        self.assertIn("| `flow/other` | 2 | CUDA_SUCCESS =1 | CUDA_SUCCESS =2 |\n", page)
        self.assertRegex(page, r"Answers of G, driver 1 alone, to 1 rule: \[cuMemMap-bounds\]")
        self.assertRegex(page, r"Answers of G, driver 2 alone, to 1 rule: \[cuMemMap-vacant\]")
        for same in ("cuMemMap-offset-zero", "flow/same"):
            self.assertNotIn(same, page)

    def test_a_diff_is_a_page_too(self):
        self.diff({"cuMemMap/flags-zero": ["CUDA_SUCCESS"]}, {"cuMemMap/flags-zero": ["CUDA_ERROR_INVALID_VALUE"]},
                  "--html", self.path("matrix.html"))
        with open(self.path("matrix.html"), encoding="utf-8") as page:
            data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read())[1])
        self.assertEqual([row["id"] for row in data["rows"]], ["cuMemMap-flags-zero"])
        self.assertIn("1 rule and 0 legal flows are answered otherwise", data["note"])

    def answers(self):
        """The folder with the answers of real GPUs."""
        subprocess.run([os.path.join(SOURCE, "conformance", "unpack"), self.path("answers")], check=True)
        return self.path("answers/results")

    def test_a_diff_is_of_two(self):
        results = self.answers()
        error = self.cuvmm("matrix", "--diff", "documented", code=2).stderr
        self.assertIn("expected two inputs of one driver each; these are 1: profile documented", error)
        page = self.cuvmm("matrix", "--diff", results + "/h200-580.159.04", results + "/h200-x2-580.159.04").stdout
        self.assertIn("NVIDIA H200, driver 580.159.04: ", page)  # the same driver: told apart by the folder
        self.assertIn("| `attr/all` | 8 | CUDA_SUCCESS =0 | CUDA_SUCCESS =1 |", page)  # one GPU, and two

    def test_results_of_a_newer_driver_are_compared_with_the_one_before(self):
        kept = self.answers() + "/h200-580.159.04"
        shutil.copytree(kept, self.path("results/old"))
        shutil.copytree(kept, self.path("results/new"))
        changed = 0
        for folder, _, names in os.walk(self.path("results/new")):
            for name in names:
                file = os.path.join(folder, name)
                with open(file, encoding="utf-8") as old:
                    text = old.read().replace('"driver":"580.159.04"', '"driver":"1000.1"', 1)
                text, count = re.subn(r'("unit":"access/flags-7".*?)CUDA_ERROR_INVALID_VALUE', r"\1CUDA_SUCCESS", text)
                changed += count
                os.remove(file)
                with open(re.sub("[0-9a-f]{16}", content_hash(text), file), "w", encoding="utf-8") as new:
                    new.write(text)
        self.assertEqual(changed, 1)
        self.cuvmm("matrix", self.path("results"), "--pages", self.folder.name)
        with open(self.path("nvidia-h200-1000.1.md"), encoding="utf-8") as page:
            text = page.read()
        self.assertIn("[580.159.04](nvidia-h200-580.159.04.md): 1 rule and 0 legal flows are answered otherwise", text)
        self.assertRegex(text, r"cuMemSetAccess-flags\].* \| INVALID_VALUE \| INVALID_VALUE / accepts \|\n")
        with open(self.path("README.md"), encoding="utf-8") as page:
            self.assertRegex(page.read(), r"(?s)580\.159\.04\].*1000\.1\]")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
