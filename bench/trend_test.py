# SPDX-License-Identifier: Apache-2.0
"""Tests of bench/trend.py: which counts its budgets let pass, and that each count of the scripts has a budget."""
import contextlib
import io
import os
import tempfile
import unittest

import cache_lines
import instructions
import trend


class Trend(unittest.TestCase):
    def setUp(self):
        handle, self.path = tempfile.mkstemp()
        self.addCleanup(os.unlink, self.path)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("date,what,count\n2026-01-01,a,100\n2026-02-01,a,200\n")

    def judge(self, **new):
        with contextlib.redirect_stdout(io.StringIO()):
            return trend.judge(new, self.path)

    def test_a_twentieth_above_the_newest_count_is_within(self):
        self.assertTrue(self.judge(a=210))
        self.assertFalse(self.judge(a=211))
        self.assertTrue(self.judge(a=1))

    def test_a_count_that_cannot_be_is_a_mistake(self):
        self.assertFalse(self.judge(a=0))
        self.assertFalse(self.judge(b=1))
        self.assertFalse(self.judge(a=1, b=1))

    def test_what_is_recorded_is_the_budget(self):
        trend.record({"a": 300.4}, self.path)
        self.assertEqual(trend.counts(self.path), {"a": [100, 200, 300]})
        self.assertTrue(self.judge(a=315))

    def test_each_count_has_a_budget(self):
        wanted = {*instructions.CALLS, *(f"{name} of a life" for name in instructions.WATCHED),
                  *(name for _, _, name in instructions.WORK), *cache_lines.CONFIGURATIONS}
        self.assertEqual(set(trend.counts()), wanted)


if __name__ == "__main__":
    unittest.main()
