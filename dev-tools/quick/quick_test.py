# SPDX-License-Identifier: Apache-2.0
"""quick_test.py SOURCE BUILD: `./dev test --quick` knows all test programs and all folders."""

import pathlib
import sys
import unittest

import quick


class Quick(unittest.TestCase):
    def test_each_program_has_one_area_or_is_left_out(self):
        known = quick.known_programs(BUILD)
        self.assertGreater(len(known), 30)
        for name in known:
            areas = [area for area in quick.TESTS if quick.programs([name], [area])]
            self.assertEqual(len(areas), 0 if name in quick.LEFT_OUT else 1, f"{name}: {areas}")

    def test_folders_of_the_table_are_there(self):
        for folder in quick.FOLDERS:
            self.assertTrue((SOURCE / folder).is_dir(), folder)

    def test_what_all_include_can_break_all(self):
        self.assertEqual(quick.areas_of(["rulebook/catalogue/rules.def"]), list(quick.TESTS))
        self.assertEqual(quick.areas_of(["CMakeLists.txt"]), list(quick.TESTS))
        self.assertEqual(quick.areas_of(["emulator/vmm/map.cc"]), ["emulator", "conformance"])
        self.assertEqual(quick.areas_of(["README.md", ".ci/run"]), ["docs", "dev"])
        self.assertEqual(quick.areas_of([]), [])

    def test_groups(self):
        self.assertEqual(quick.groups(["life.a", "life.b", "cuvmm_fuzz_recorded.x", "cuvmm_docs"]),
                         "2 of life, 1 of cuvmm_fuzz_recorded, 1 of others")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    SOURCE, BUILD = (pathlib.Path(path) for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
