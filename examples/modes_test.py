# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison of modes: python3 -m unittest modes_test."""

import unittest

import modes


def finding(rule: str, kind: str, line: int = 1) -> dict:
    return {"rule": rule, "kind": kind, "stack": [{"file": "a.cc", "line": line, "function": "main"}]}


class Differences(unittest.TestCase):
    def test_kinds_that_differ_are_reported(self):
        faults = modes.differences({"late": modes.kinds([finding("cuMemUnmap-idle", "error")]),
                                  "eager": modes.kinds([finding("cuMemUnmap-ordered", "undefined")])})
        self.assertEqual(faults, ["cuMemUnmap at a.cc:1 main: late: error, eager: undefined"])

    def test_one_kind_or_none_is_fine(self):
        by_mode = {"late": modes.kinds([finding("cuMemUnmap-idle", "undefined")]),
                   "exact": modes.kinds([finding("cuMemUnmap-ordered", "undefined"), finding("x", "error", 2)]),
                   "off": {}}
        self.assertEqual(modes.differences(by_mode), [])


if __name__ == "__main__":
    unittest.main()
