# SPDX-License-Identifier: Apache-2.0
"""The parts of the Python package that need neither the shim nor pytest."""

import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from cuvmm import _children, _findings, _restart, _sarif  # noqa: E402

FINDING = {"rule": "cuMemUnmap-mapped", "kind": "error", "call": "cuMemUnmap", "message": "nothing is mapped",
           "count": 2, "scope": "t", "pid": 7, "fix": "Do not.", "url": "docs/rules/map.md#cuMemUnmap-mapped",
           "stack": [{"function": "f", "module": "m", "offset": 1, "file": "here.c", "line": 3}],
           "objects": [{"what": "mapping", "made_by_call": 1, "stack": []}]}


class Children(unittest.TestCase):
    def test_the_last_complete_document_counts(self):
        self.assertEqual(_children.last_document('{"a":1}\n{"a":2}\n{"a":'), {"a": 2})
        self.assertIsNone(_children.last_document(""))
        self.assertIsNone(_children.last_document("torn"))

    def test_each_finding_once_and_by_scope(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "7-1.2.json")
            reports = _children.ChildReports(folder)
            file.write_text(json.dumps({"findings": [FINDING]}))
            self.assertEqual(reports.take("other"), [])
            self.assertEqual([one.rule for one in reports.take("t")], ["cuMemUnmap-mapped"])
            self.assertEqual(reports.take("t"), [])
            more = {**FINDING, "scope": "t > inner"}
            file.write_text(json.dumps({"findings": [FINDING]}) + json.dumps({"findings": [FINDING, more]}))
            self.assertEqual([one.scope for one in reports.take("t")], ["t > inner"])
            # The report of this process itself, which is no child.
            pathlib.Path(folder, f"{os.getpid()}-1.2.json").write_text(json.dumps({"findings": [FINDING]}))
            self.assertEqual(reports.take("t"), [])
        self.assertEqual(_children.ChildReports(None).take("t"), [])


class Findings(unittest.TestCase):
    def test_of_a_report(self):
        one = _findings.finding_from_json(FINDING)
        self.assertTrue(one.counts)
        self.assertEqual((one.stack[0].line, one.objects[0].what), (3, "mapping"))
        self.assertIn("nothing is mapped [cuMemUnmap-mapped]", one.text)
        self.assertIn("#0 f at here.c:3", one.text)


class Sarif(unittest.TestCase):
    def document(self, root, finding=FINDING):
        return _sarif.document([("t.py::t", ("t.py", 9), _findings.finding_from_json(finding))], root)["runs"][0]

    def test_the_programs_own_line(self):
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "here.c").touch()
            run = self.document(root)
        place = run["results"][0]["locations"][0]["physicalLocation"]
        self.assertEqual((place["artifactLocation"]["uri"], place["region"]["startLine"]), ("here.c", 3))
        self.assertEqual(run["tool"]["driver"]["rules"][0]["id"], "cuMemUnmap-mapped")
        self.assertEqual((run["results"][0]["level"], run["results"][0]["occurrenceCount"]), ("error", 2))

    def test_the_tests_line_where_no_other_file_is_here(self):
        with tempfile.TemporaryDirectory() as root:
            place = self.document(root)["results"][0]["locations"][0]["physicalLocation"]
        self.assertEqual((place["artifactLocation"]["uri"], place["region"]["startLine"]), ("t.py", 9))


    def test_where_it_cannot_be_written(self):
        self.assertEqual(_sarif.cannot_write("/nowhere/r.sarif"), "there is no folder /nowhere")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(_sarif.cannot_write(f"{folder}/r.sarif"), "")
            with mock.patch.object(os, "access", return_value=False):
                self.assertEqual(_sarif.cannot_write(f"{folder}/r.sarif"), f"this user cannot write to {folder}")


class Restart(unittest.TestCase):
    def test_options(self):
        self.assertEqual(_restart.run_options("auto", None, None), ["--allow-unchecked"])
        self.assertEqual(_restart.run_options("real", None, "r.json"), ["--allow-unchecked", "--report", "r.json"])
        self.assertEqual(_restart.run_options("emulate", 2, None),
                         ["--allow-unchecked", "--emulate", "--python", "--devices", "2"])
        self.assertEqual(_restart.run_options("documented", None, None),
                         ["--allow-unchecked", "--emulate=documented", "--python"])

    def test_the_environment_comes_back(self):
        before = {"PATH": "/bin", "LD_PRELOAD": "mine.so", "CUVMM_DRIVER": "x"}
        started = _restart.environment_for(before)
        now = {**started, "LD_PRELOAD": "shim.so:mine.so", "CUVMM_DRIVER": "y", "CUVMM_REPORT_DIR": "z", "NEW": "1"}
        with mock.patch.dict(os.environ, now, clear=True):
            self.assertEqual(_restart.environment_before(), {**before, "NEW": "1"})

    def test_a_program_that_calls_pytest_is_not_started_again(self):
        with mock.patch.object(sys, "argv", ["program", "x"]):
            self.assertIsNone(_restart.own_program(["-q"]))
        with mock.patch.object(sys, "argv", ["/bin/pytest", "-q"]), \
                mock.patch.object(sys, "orig_argv", [], create=True):
            self.assertEqual(_restart.own_program(["-q"]), [sys.executable, "/bin/pytest", "-q"])
        with mock.patch.object(sys, "argv", ["/x/pytest/__main__.py", "-q"]), \
                mock.patch.object(sys, "orig_argv", [], create=True):
            self.assertEqual(_restart.own_program(["-q"]), [sys.executable, "-m", "pytest", "-q"])


if __name__ == "__main__":
    unittest.main()
