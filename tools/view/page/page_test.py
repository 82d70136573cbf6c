# SPDX-License-Identifier: Apache-2.0
"""The page of `cuvmm view -o FILE.html` as a browser shows it: hostile texts, keyboard, large runs, narrow screens.

Usage: page_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Skipped where there is no Chromium.
`page_test.py CUVMM SOURCE_FOLDER --measure` prints what a large page costs.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest

import browser

CUVMM = os.path.abspath(sys.argv[1])
KINDS = ["reservation", "allocation", "import", "mapping", "export", "device memory", "managed memory", "host memory",
         "registered memory", "pool memory", "ipc memory", "multicast object", "multicast binding", "sparse mapping"]
MIB = 1 << 20
BASE = 0x7f0000000000
HOSTILE = '</script><img src=x onerror="document.title=1"><b>&amp;\u202e'


def stack(number, more=""):
    return [{"function": "grow_pool(Pool&)" + more, "module": "/usr/lib/libpool.so", "offset": 4096 + number},
            {"function": "main", "module": "/app", "offset": 4500, "file": f"/src{more}/main.cc", "line": 100 + number}]


def timeline(mappings):
    """One process that maps 2 MiB pieces one after the other, and unmaps every second one."""
    chance = random.Random(1)
    objects, access, samples, call, now = [], [], [], 2, 1000
    reservations = max(1, mappings // 500)
    for i in range(reservations):
        objects.append([0, BASE + (i << 36), 2000 * MIB, now, -1, call, 0, 11, 0, 1, 0, -1, 0, 0])
        call, now = call + 1, now + 2000
    for i in range(mappings):
        address, handle = BASE + ((i % reservations) << 36) + i // reservations * 2 * MIB, 0xe000000000 + 256 * i
        now += chance.randrange(1000, 5000)
        ends = i % 2 == 1
        end, end_call = (now + chance.randrange(10**5, 10**8), 10**7 + i) if ends else (-1, 0)
        objects.append([1, handle, 2 * MIB, now, end, call, end_call, 11, 11, 1 + i % 7, 1, i // 37 % 3, 0, 0])
        objects.append([3, address, 2 * MIB, now + 500, end, call + 1, end_call, 11, 11, 1 + i % 7, 1, -1, handle, 0])
        if i % 11:
            access.append([now + 900, call + 2, 11, address, 2 * MIB, "device0", 3])
        samples.append([now, call, 2 * MIB * (i + 1)] + [0] * len(KINDS))
        call += 3
    objects.append([4, 7, 2 * MIB, 5000, -1, 4, 0, 11, 0, 3, 0, -1, 0xe000000000, 0])
    return {"clock": "boottime", "kinds": KINDS, "columns": {}, "processes": [
        {"pid": 4711, "program": "/usr/bin/python3" + HOSTILE, "start_ns": 10**12, "unix_ns": 17 * 10**17,
         "end_ns": now + 2 * 10**8, "events": len(objects), "left_out": 0,
         "peak": {"bytes": 2 * MIB * mappings, "ns": now, "call": call}, "objects": objects, "access": access,
         "samples": samples[::max(1, mappings // 1000)], "stacks": {str(i): stack(i) for i in range(1, 10)}}]}


def report(findings=8, mappings=40, more="", longest=0):
    kinds = ["error", "undefined", "leak", "advice"]
    rules = ["cuMemMap-offset-zero", "cuMemUnmap-mapped", "cuMemCreate-released", "cuMemCreate-fits"]
    found = [{"rule": rules[i % 4], "kind": kinds[i % 4], "call": "cuMemMap", "arguments": {"ptr": hex(BASE), "x": more},
              "message": f"offset is {i} MiB, not 0 {more}" + "A" * (longest if i == 0 else 0),
              "documented": ["CUDA_ERROR_INVALID_VALUE"], "result": "CUDA_ERROR_NOT_SUPPORTED", "count": 1,
              "call_index": 10 + i * 3 * max(1, mappings // findings), "stack": [] if i % 4 == 2 else stack(i % 20, more),
              "objects": [{"what": "mapping", "value": hex(BASE + i * 2 * MIB), "size": 2 * MIB, "made_by_call": 4,
                           "stack": stack(i, more)}], "fix": "Pass 0." + more, "url": "docs/rules/map.md", "pid": 4711}
             for i in range(findings)]
    sums = {kind: sum(one["kind"] == kind for one in found) for kind in kinds[:3]}
    return {"schema": 1, "driver": {"path": "/usr/lib/libcuda.so.1" + more, "version": 13000, "emulated": True},
            "calls": {"cuMemMap": mappings}, "unchecked": ["cuMemX" + more], "findings": found, "summary": sums,
            "suppressed": 0, "alive": {"allocations": 3, "bytes": 6 * MIB, "reservations": 1}, "processes": 1,
            "notes": ["something is missing" + more],
            "refusals": [{"call": "cuMemCreate", "arguments": {}, "result": "CUDA_ERROR_OUT_OF_MEMORY", "count": 3,
                          "stack": stack(1, more), "driver_message": "no room" + more, "facts": {}, "pid": 4711}],
            "timeline": timeline(mappings)}


def written(folder, content, name="report"):
    source, page = os.path.join(folder, name + ".json"), os.path.join(folder, name + ".html")
    with open(source, "w", encoding="utf-8") as file:
        json.dump(content, file)
    subprocess.run([CUVMM, "view", source, "-o", page], check=True)
    return page


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="cuvmm-page-")
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def open(self, content, **look):
        self.browser.open(written(self.folder.name, content))
        self.browser.look(**look)
        self.assertEqual(self.browser.complaints(), [])

    def text(self, selector="body"):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def count(self, selector):
        return self.browser.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def unfold(self):
        for _ in range(4):
            self.browser.evaluate("for (const one of document.querySelectorAll('details')) one.open = true;"
                                  "new Promise(done => setTimeout(done, 0))")

    def test_the_verdict_comes_first_and_all_parts_are_there(self):
        self.open(report())
        self.assertEqual(self.text("h1"), "Found: 2 errors, 2 undefined, 2 leaks")
        sections = self.browser.evaluate("[...document.querySelectorAll('section')].map(one => one.id)")
        self.assertEqual(sections, ["findings", "space", "memory", "leaks", "traffic", "refusals", "notes", "calls"])
        self.assertEqual(self.count("#findings > div > details"), 4)
        self.unfold()
        text = self.text("#findings")
        for words in ("grow_pool(Pool&)", "/src/main.cc:100", "Fix: ", "cuvmm explain cuMemMap-offset-zero"):
            self.assertIn(words, text)
        self.assertEqual(self.browser.requests(), ["file://" + os.path.join(self.folder.name, "report.html")])

    def test_a_good_run_says_so(self):
        good = {**report(), "findings": [], "summary": {"error": 0, "undefined": 0, "leak": 0}}
        del good["timeline"]
        self.open(good)
        self.assertEqual(self.text("h1"), "No error, no undefined behaviour, no leak")
        self.assertIn("This report has no timeline", self.text("#space"))

    def test_memory_in_use_is_of_every_kind(self):
        self.open({**report(findings=0), "in_use": [{"what": "piece of cuMemAlloc", "count": 2, "bytes": 2 * MIB},
                                                    {"what": "library", "count": 2, "bytes": 0}, {"what": "array", "count": 2, "bytes": 0},
                                                    {"what": "green context", "count": 1, "bytes": 0}]})
        self.assertIn("In use when the processes ended: 3 allocations of cuMemCreate (6 MiB), 1 reservation, 2 pieces of cuMemAlloc "
                      "(2 MiB), 2 libraries, 2 arrays, 1 green context.", self.text("#leaks"))

    def test_hostile_texts_are_text(self):
        self.open(report(more=HOSTILE, longest=MIB))
        self.unfold()
        self.assertEqual(self.count("img, b, main script"), 0)
        self.assertTrue(self.browser.evaluate("document.title").startswith("cuvmm: Found"))
        self.assertIn("</script><img src=x", self.text("#findings"))
        # The page shows a text of 1 MiB after a click.
        self.assertLess(len(self.text("#findings")), 100_000)
        self.browser.evaluate("[...document.querySelectorAll('#findings button')].find(one => one.textContent.includes('characters')).click()")
        self.assertGreater(len(self.text("#findings")), MIB)
        self.assertEqual(self.browser.complaints(), [])

    def test_no_script_but_its_own_can_run(self):
        self.open(report())
        self.browser.evaluate("const one = document.createElement('script'); one.textContent = 'window.slipped = 1'; document.body.append(one)")
        self.assertIsNone(self.browser.evaluate("window.slipped"))
        self.assertTrue(any("Content Security Policy" in one for one in self.browser.complaints()))

    def test_a_place_is_the_programs_and_not_the_interpreters(self):
        content = report(findings=1)
        content["findings"][0]["stack"] = [
            {"function": "cfunction_call", "module": "/lib/libpython3.11.so.1.0", "offset": 1, "file": "Objects/methodobject.c", "line": 542},
            {"function": "train", "module": "", "offset": 0, "file": "/src/train.py", "line": 7, "language": "python"}]
        self.open(content)
        self.unfold()
        places = self.browser.evaluate("[...document.querySelectorAll('#findings summary')].map(one => one.innerText)")
        self.assertTrue(any(place.startswith("train at /src/train.py:7") for place in places), places)

    def test_frames_of_the_interpreter_are_folded(self):
        content = report(findings=1)
        inside = {"function": "_PyEval_Vector", "module": "/lib/libpython3.11.so.1.0", "offset": 1}
        start = {"function": "__libc_start_main", "module": "/lib/libc.so.6", "offset": 1}
        content["findings"][0]["stack"] = [
            {"function": "cuMemMap", "module": "/lib/driver.so", "offset": 1}, inside,
            {"function": "train", "module": "", "offset": 0, "file": "/src/train.py", "line": 7, "language": "python"}, inside, start]
        self.open(content)
        text = self.text("#findings")
        self.assertIn("#0 cuMemMap (driver.so+0x1)\n#2 train at /src/train.py:7\n", text)
        self.assertNotIn("_PyEval_Vector", text)
        self.assertNotIn("__libc_start_main", text)
        self.assertIn("all 5 frames", text)
        self.unfold()
        self.assertIn("#3 _PyEval_Vector (libpython3.11.so.1.0+0x1)\n#4 __libc_start_main", self.text("#findings"))

    def test_the_filter(self):
        self.open(report())
        self.browser.evaluate("const box = document.getElementById('filter'); box.value = 'offset-zero'; box.dispatchEvent(new Event('input'))")
        self.assertEqual(self.count("#findings > div > details"), 1)
        self.assertIn("2 of 8 findings", self.text("#findings .said"))

    def test_the_keyboard_moves_zooms_and_tells(self):
        self.open(report())
        self.browser.evaluate("document.querySelector('canvas.space').focus()")
        view = lambda: self.browser.evaluate("cuvmmView.view")  # noqa: E731
        whole = view()
        self.browser.key("+")
        closer = view()
        self.assertLess(closer["right"] - closer["left"], whole["right"] - whole["left"])
        self.browser.key("ArrowRight")
        self.assertGreater(view()["left"], closer["left"])
        self.browser.key("n")
        self.assertIn("error at ", self.text("#space .said"))
        self.browser.key("0")
        self.assertEqual(view(), whole)
        for _ in range(60):
            self.browser.key("+")
        granule = view()
        self.assertLessEqual(granule["bottom"] - granule["top"], 4096)
        self.browser.key("Enter")
        self.assertTrue(self.text("#space .said"))

    def test_a_finding_lies_at_the_address_of_its_call(self):
        content = report(findings=3)
        for finding, address in zip(content["findings"], (BASE + 6 * MIB, BASE - MIB, None)):
            finding["objects"] = [{"what": "fill", "value": hex(BASE + 2 * MIB)}]
            finding["arguments"] = {"size": "0x2", "ptr": hex(address)} if address else {}
        self.open(content)
        tops = self.browser.evaluate("cuvmmView.marks.map(mark => mark.top)")
        self.assertEqual(tops, [self.browser.evaluate(f"cuvmmView.layout.y({BASE + 6 * MIB})"), None, None])
        self.assertGreater(tops[0], 0)

    def test_what_a_canvas_shows_stands_in_words(self):
        self.open(report())
        self.assertEqual(self.count("canvas:not([aria-label]):not([aria-hidden])"), 0)
        self.assertEqual(self.count("input:not([id]):not([type=checkbox]), button:empty"), 0)
        self.assertEqual(self.browser.evaluate("[...document.querySelectorAll('label[for]')].filter(one => !document.getElementById(one.htmlFor)).length"), 0)
        self.unfold()
        self.browser.evaluate("new Promise(done => setTimeout(done, 200))")
        text = self.text("#space table")
        self.assertIn("reservation", text)
        self.assertIn("device0 rw", text)
        # 20 of 40 mappings live at the end.
        self.assertIn("21 objects in the address space", text)

    def test_memory_that_no_mapping_shows_is_reported(self):
        content = report(findings=1)
        process = content["timeline"]["processes"][0]
        team, memory, at = 0xe100000000, 0xe200000000, 5000
        row = lambda kind, value, call, end, device, handle, offset: [  # noqa: E731
            KINDS.index(kind), value, 2 * MIB, at + call, at + 10**6 if end else -1, call, end, 11, 11, 1, 1, device, handle, offset]
        process["objects"] += [row("multicast object", team, 500, 0, -1, 0, 0), row("allocation", memory, 501, 0, 1, 0, 0),
                               row("multicast binding", team, 502, 700, 1, memory, 4 * MIB),
                               row("sparse mapping", 0x7000, 503, 0, 1, memory, 65536),
                               row("mapping", BASE - 4 * MIB, 504, 0, -1, team, 0)]
        process["peak"]["ns"] = at + 600
        content["findings"][0]["objects"] = [{"what": "allocation", "value": hex(memory), "made_by_call": 501, "stack": []}]
        self.open(content)
        self.unfold()
        bound = f"handle {hex(memory)} bound to multicast object {hex(team)} at offset 4 MiB (2 MiB, device 1), from "
        self.assertIn(bound, self.text("#findings"))
        self.assertIn(f"handle {hex(memory)} from offset 64 KiB mapped into sparse array 0x7000 (2 MiB, device 1)", self.text("#findings"))
        self.assertIn("(call 502) until 1.00 ms (call 700)", self.text("#findings"))
        text = self.text("#memory")
        self.assertIn("2 MiB only bound to a multicast object", text)
        self.assertIn("Bound to multicast objects, or mapped into sparse arrays", text)
        self.assertIn("4 MiB in the object", text)
        # The text about a mapping of the object names the memory behind it.
        description = self.browser.evaluate("cuvmmView.describe(cuvmmView.memory.find(item => cuvmmView.process.handle[item.i] === "
                                     f"{team}).i)")
        self.assertIn(bound, description)
        self.assertEqual(self.browser.complaints(), [])

    def test_the_picture_shows_the_memory(self):
        self.open(report())
        colors = ("(() => { const canvas = document.querySelector('canvas.space'); cuvmmView.draw();"
                  "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
                  "const seen = new Set(); for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);"
                  "return kPalette.map(color => seen.has(parseInt(color.slice(1), 16))) })()")
        shown = self.browser.evaluate(colors)
        self.assertEqual(shown[:3], [True, True, False])  # devices 0 and 1
        found = self.browser.evaluate("(() => { const item = cuvmmView.memory[4]; const x = cuvmmView.x((item.left + item.right) / 2), y = cuvmmView.y((item.top + item.bottom) / 2); return cuvmmView.describe(cuvmmView.at(x, y).item.i) })()")
        self.assertIn(f"mapping {hex(BASE + 8 * MIB)}, 2 MiB, device 0", found)

    def test_command_time_and_version_stand_on_top(self):
        content = report()
        content["run"] = {"command": ["./app", "two words", "it's"], "began": "2026-11-28T04:05:06Z", "cuvmm": "0.1.0"}
        self.open(content)
        self.assertEqual(self.text("#command"), "./app 'two words' 'it'\\''s' at 2026-11-28 04:05:06 UTC, cuvmm 0.1.0")

    def test_one_click_opens_the_finding_of_a_rule_that_has_one(self):
        content = report(findings=4)
        content["findings"][0]["stack"][1]["source"] = "r = cuMemMap(base);"
        self.open(content)
        self.assertNotIn("Pass 0.", self.text("#findings"))
        self.browser.evaluate("document.querySelector('#findings summary').click()")
        self.browser.evaluate("new Promise(done => setTimeout(done, 100))")
        text = self.text("#findings")
        self.assertIn("Pass 0.", text)
        self.assertIn("main.cc:100 (app+0x1194)\n   r = cuMemMap(base);\n", text)

    def test_the_picture_begins_and_ends_with_the_changes(self):
        content = report(findings=3)
        process = content["timeline"]["processes"][0]
        last = max(row[at] for row in process["objects"] for at in (3, 4))
        process["end_ns"] = 1000 * last
        content["findings"][2]["call_index"] = 0
        self.open(content)
        view = self.browser.evaluate("cuvmmView.view")
        self.assertLess(view["right"], 2 * last)
        self.assertGreaterEqual(view["right"], last)
        # The finding of the process's end is at the right edge of the picture.
        [at_exit] = self.browser.evaluate("cuvmmView.draw(), cuvmmView.marks.filter(mark => !mark.finding.call_index).map(mark => cuvmmView.markX(mark) / cuvmmView.width)")
        self.assertEqual(at_exit, 1)
        for _ in range(40):
            self.browser.evaluate("cuvmmView.zoom(1.4)")
        self.assertEqual(self.browser.evaluate("cuvmmView.view.right"), process["end_ns"])

    def test_axe_finds_no_fault(self):
        for name, dark, width in (("light", False, 1280), ("dark", True, 1280), ("narrow", False, 500)):
            with self.subTest(name):
                self.open(report(), dark=dark, width=width)
                self.unfold()
                self.assertEqual(self.browser.axe_faults(), [])

    def test_dark_and_narrow(self):
        self.open(report(), dark=True)
        self.assertEqual(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(20, 23, 27)")
        self.browser.look(width=390, height=844, phone=True)
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 390)
        self.browser.look()

    def test_a_large_run_is_shown_whole(self):
        self.open(report(findings=1000, mappings=20_000))
        self.assertEqual(self.browser.evaluate("cuvmmView.draw(), cuvmmView.drawn"),
                         self.browser.evaluate("cuvmmView.items.length"))
        self.browser.evaluate("cuvmmView.zoom(.001); cuvmmView.draw()")
        self.assertLess(self.browser.evaluate("cuvmmView.drawn"), 2000)


def measure():
    with tempfile.TemporaryDirectory() as folder, browser.Browser() as one:
        page = written(folder, report(findings=1000, mappings=100_000))
        print(f"1,000 findings and 100,000 mappings: a page of {os.path.getsize(page) / 1e6:.1f} MB")
        began = time.monotonic()
        one.open(page)
        print(f"loaded after {time.monotonic() - began:.2f} s, of that {one.evaluate('document.body.dataset.ready')} ms in its script")
        for what in ("draw()", "zoom(.5), cuvmmView.draw()", "zoom(.02), cuvmmView.draw()", "move(.1, .1), cuvmmView.draw()", "at(300, 100)"):
            spent = sorted(one.evaluate(f"(() => {{ const at = performance.now(); cuvmmView.{what}; return performance.now() - at }})()") for _ in range(5))
            print(f"{what.split(',', 1)[0] if ')' in what.split(',', 1)[0] else what}: {spent[2]:.1f} ms (of 5 the middle one)")
            one.evaluate("cuvmmView.reset()")


if __name__ == "__main__":
    if browser.CHROMIUM is None:
        print("skipped: there is no Chromium here (Debian's package chromium-headless-shell; on Ubuntu, Google's package of Chrome)")
        sys.exit(77)
    if sys.argv[3:] == ["--measure"]:
        measure()
    else:
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
