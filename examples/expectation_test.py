# SPDX-License-Identifier: Apache-2.0
"""Tests of expectation.py."""

import pathlib
import tempfile
import unittest

import expectation


def parse(text: str) -> expectation.Expectation:
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "example.cc")
        source.write_text(text)
        return expectation.read(source)


class ReadTest(unittest.TestCase):
    def test_reads_rules_and_needs(self):
        got = parse("// needs: 2 devices\n// needs: enforce\n//\n// expects: b\n// expects: a\nint x;\n")
        self.assertEqual(got, expectation.Expectation(("a", "b"), enforce=True, devices=2))

    def test_reads_that_streams_are_to_be_late(self):
        self.assertTrue(parse("// needs: late streams\n// expects: a\n").late)
        self.assertFalse(parse("// expects: a\n").late)

    def test_reads_nothing(self):
        self.assertEqual(parse("// expects: nothing\n"), expectation.Expectation(()))

    def test_refuses_what_it_does_not_understand(self):
        for text in ("", "// expects: nothing\n// expects: a\n", "// expects: a\n// expects: a\n",
                     "// expects: a\n// needs: luck\n"):
            with self.subTest(text), self.assertRaises(expectation.ExpectationError):
                parse(text)


class DifferenceTest(unittest.TestCase):
    def test_names_missing_and_unexpected_rules(self):
        wanted = expectation.Expectation(("a", "b"))
        self.assertEqual(wanted.difference([{"rule": "b"}, {"rule": "c"}]), ["missing: a", "unexpected: c"])
        self.assertEqual(wanted.difference([{"rule": "b"}, {"rule": "a"}, {"rule": "a"}]), [])

    def test_leaves_out_what_is_nobodys_mistake(self):
        wanted = expectation.Expectation(())
        answer, tried = {"rule": "a", "kind": "answer", "count": 3}, {"rule": "b", "kind": "advice", "count": 3}
        self.assertEqual(wanted.difference([answer, {**tried, "handled": 3}]), [])
        self.assertEqual(wanted.difference([{**tried, "handled": 2}]), ["unexpected: b"])


if __name__ == "__main__":
    unittest.main()
