# SPDX-License-Identifier: Apache-2.0
"""Tests how the demo reads comments, reports and texts."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
import demo  # noqa: E402

BUGS = pathlib.Path(__file__).with_name("bugs")


class Demo(unittest.TestCase):
    def test_most_bugs_name_who_had_them(self):
        names = {source.stem: demo.project(source) for source in BUGS.glob("*/*.cc")}
        self.assertEqual(names["unmap_over_hole"], "pytorch/pytorch")
        self.assertEqual(names["external_buffer_kept"], "HAMi-core")
        self.assertEqual(names["reservation_forgotten"], "PyTorch")
        self.assertLess(list(names.values()).count("-"), 6, names)

    def test_the_bugs_in_full_are_there(self):
        for name in demo.TOLD:
            self.assertEqual(len(list(BUGS.glob(f"*/{name}.cc"))), 1, name)

    def test_short_is_the_first_finding_and_the_sum(self):
        text = ("cuvmm: error: first [a-b]\n    call 1\n    more\nprinted\ncuvmm: leak: second [c-d]\n    call 2\n"
                "cuvmm: 1 error, 0 undefined, 1 leak in 3 calls of 1 process\n")
        self.assertEqual(demo.short(text), "cuvmm: error: first [a-b]\n    call 1\n    more\n"
                         "cuvmm: 1 error, 0 undefined, 1 leak in 3 calls of 1 process")
        self.assertEqual(demo.short("nothing\n"), "nothing\n")

    def test_place_is_in_the_example(self):
        frames = [{"file": "/x/fill_kernel.h", "line": 3}, {"file": "/x/bugs/order/name.cc", "line": 7}]
        self.assertEqual(demo.place({"stack": frames}, "name"), "name.cc:7")
        self.assertEqual(demo.place({"objects": [{"stack": frames}]}, "name"), "name.cc:7")
        self.assertEqual(demo.place({}, "name"), "-")


if __name__ == "__main__":
    unittest.main()
