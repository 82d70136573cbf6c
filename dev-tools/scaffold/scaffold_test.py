# SPDX-License-Identifier: Apache-2.0
"""Tests `./dev rule` and `./dev entry` on a copy of the sources: the written lines, the refusals, the missing parts.

Usage: scaffold_test.py SOURCE_FOLDER [unittest arguments]. Builds nothing.
"""
import contextlib
import glob
import io
import os
import re
import shutil
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import entry as entries  # noqa: E402
import gates  # noqa: E402
import rule as rules  # noqa: E402
import scaffold  # noqa: E402
from tree import FOLDERS, Mistake, Tree  # noqa: E402

SOURCE = None
TEXT = (".h", ".cc", ".def", ".family", ".cuvmm", ".txt")
# Two versions of a function that no CUDA has; the second changed a parameter, and needs a type that is new.
HEADER = """#define CUDA_VERSION 99000
typedef struct CUscaffold_st CUscaffold;
"""
TYPEDEFS = """
typedef CUresult (CUDAAPI *PFN_cuScaffoldMap_v12020)(CUdeviceptr_v2 ptr, size_t size);
typedef CUresult (CUDAAPI *PFN_cuScaffoldMap_v13010)(CUdeviceptr_v2 ptr, size_t size, const CUscaffold_v1 *what, unsigned int flags, CUstream hStream);
typedef CUresult (CUDAAPI *PFN_cuScaffoldMap_v13010_ptsz)(CUdeviceptr_v2 ptr, size_t size, const CUscaffold_v1 *what, unsigned int flags, CUstream hStream);
typedef CUresult (CUDAAPI *PFN_cuScaffoldEnd_v12020)(CUmemoryPool pool, size_t size);
typedef CUresult (CUDAAPI *PFN_cuMemHostScaffold_v12020)(unsigned int *written, void *p);
"""
SYMBOLS = """cuScaffoldMap 12020 0
cuScaffoldMap_v2 13010 0
cuScaffoldMap_v2_ptsz 13010 2
cuScaffoldEnd 12020 0
cuMemHostScaffold 12020 0
"""


class Copy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pristine = tempfile.mkdtemp(prefix="cuvmm-scaffold-test-")
        cls.addClassCleanup(shutil.rmtree, cls.pristine, ignore_errors=True)
        for folder in FOLDERS:
            for path in glob.glob(f"{folder}/**", root_dir=SOURCE, recursive=True):
                if path.endswith(TEXT) and not path.startswith(("fuzz/", "shim/")):
                    os.makedirs(os.path.join(cls.pristine, os.path.dirname(path)), exist_ok=True)
                    shutil.copyfile(os.path.join(SOURCE, path), os.path.join(cls.pristine, path))
        include = os.path.join(cls.pristine, "cuda", "include")
        os.makedirs(include)
        for name, text in (("cuda.h", HEADER), ("cudaTypedefs.h", TYPEDEFS)):
            with open(os.path.join(include, name), "w", encoding="utf-8") as file:
                file.write(text)
        with open(os.path.join(cls.pristine, "api/symbols/driver_symbols.txt"), "a", encoding="utf-8") as file:
            file.write(SYMBOLS)

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="cuvmm-scaffold-test-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        # Hard links, because they are quick; code that changes a file writes a new file in its place.
        shutil.copytree(self.pristine, self.root, dirs_exist_ok=True, copy_function=os.link)
        self.tree = Tree(self.root)

    def put(self, path, text):
        os.unlink(self.tree.full(path))
        with open(self.tree.full(path), "w", encoding="utf-8") as file:
            file.write(text)

    def undo(self, path):
        self.put(path, Tree(self.pristine).read(path))

    def run_(self, *typed):
        """(exit code, output)"""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), mock.patch.dict(os.environ, {"CUDA_HOME": os.path.join(self.root, "cuda")}):
            return scaffold.main([*typed, "--root", self.root]), out.getvalue()

    def refused(self, *typed):
        with self.assertRaises(Mistake) as caught:
            self.run_(*typed)
        return str(caught.exception)

    def changed(self):
        """path -> lines that were added. Nothing else may have changed."""
        found = {}
        for path in glob.glob("**", root_dir=self.root, recursive=True):
            old = Tree(self.pristine)
            if os.path.isdir(self.tree.full(path)) or old.exists(path) and os.path.samefile(self.tree.full(path), old.full(path)):
                continue
            before = old.read(path).split("\n") if old.exists(path) else []
            after = self.tree.read(path).split("\n")
            if before == after:
                continue
            rest = iter(before)
            wanted, added = next(rest, None), []
            for line in after:
                if line == wanted:
                    wanted = next(rest, None)
                else:
                    added.append(line)
            self.assertIsNone(wanted, f"{path} lost a line")
            found[path] = added
        return found

    def fill_in(self, mark):
        """Fills in the TODOs, as a user does."""
        for path in self.changed():
            lines = [line for line in self.tree.read(path).split("\n") if f"TODO({mark})" not in line]
            self.put(path, re.sub(r"\bTODO(_\w+)?\b(?!\()", "done", "\n".join(lines)))


class Rule(Copy):
    def test_three_files_and_each_is_named(self):
        code, printed = self.run_("rule", "cuMemMap-x-even")
        self.assertEqual(code, 0)
        changed = self.changed()
        self.assertEqual(set(changed), {"rulebook/rules/map.def", "rulebook/vmm/check_map.cc", "conformance/families/map.family"})
        for path, added in changed.items():
            self.assertIn("TODO(cuMemMap-x-even)", "\n".join(added), path)
            line = int(re.search(re.escape(path) + r":(\d+): ", printed).group(1))
            self.assertIn("TODO(cuMemMap-x-even)", self.tree.read(path).split("\n")[line - 1])
        self.assertIn("Files to edit: 3.", printed)

    def test_it_stands_beside_the_entrys_other_rules(self):
        self.run_("rule", "cuMemMap-x-even")
        ids = [rule.id for rule in self.tree.rules("map")]
        self.assertEqual(ids[ids.index("cuMemMap-x-even") - 1].partition("-")[0], "cuMemMap")
        self.assertLess(ids.index("cuMemMap-x-even"), ids.index("cuMemMap-unmapped"), "leaks come last")
        self.assertEqual(self.tree.all_rules()["cuMemMap-x-even"].name, "MapXEven")
        self.assertRegex(self.tree.read("conformance/families/map.family"),
                         r"call cuMemMap\(.*\n(?:break .*\n|#.*\n)*break cuMemMap-x-even: TODO\n")

    def test_the_second_run_writes_nothing_and_says_what_is_left(self):
        self.run_("rule", "cuMemMap-x-even")
        before = self.changed()
        code, printed = self.run_("rule", "cuMemMap-x-even")
        self.assertEqual((code, self.changed()), (1, before))
        for path in before:
            self.assertIn(path + ":", printed)
        self.assertIn("not filled in: TODO_BASIS", printed)

    def test_a_place_that_somebody_took_out_is_missing(self):
        self.run_("rule", "cuMemMap-x-even")
        self.undo("rulebook/vmm/check_map.cc")
        self.assertIn("rulebook/vmm/check_map.cc: the check is not there", self.run_("rule", "cuMemMap-x-even")[1])

    def test_a_mark_that_is_deleted_too_early(self):
        self.run_("rule", "cuMemMap-x-even")
        lines = self.tree.read("conformance/families/map.family").split("\n")
        self.put("conformance/families/map.family", "\n".join(line for line in lines if "TODO(" not in line))
        self.assertRegex(self.run_("rule", "cuMemMap-x-even")[1], r"map.family:\d+: TODO is not filled in: break cuMemMap-x-even")

    def test_filled_in_nothing_is_left_and_the_gates_run(self):
        self.run_("rule", "cuMemMap-x-even")
        self.fill_in("cuMemMap-x-even")
        self.assertEqual(rules.missing(rules.NewRule(self.tree, "cuMemMap-x-even")), [])
        with mock.patch.object(gates, "build", return_value=None) as build, mock.patch.object(gates, "run", return_value=[]) as run:
            code, printed = self.run_("rule", "cuMemMap-x-even")
        self.assertEqual((code, build.call_count, run.call_count), (0, 3, 3))
        self.assertIn("is a rule already, and nothing of it is marked TODO. These tests judge it:\n", printed)
        self.assertIn("Nothing is missing.", printed)

    def test_what_fails_stops_the_later_ones(self):
        self.run_("rule", "cuMemMap-x-even")
        self.fill_in("cuMemMap-x-even")
        with mock.patch.object(gates, "build", return_value=None), mock.patch.object(gates, "run", side_effect=lambda *a: a[2][:1]) as run:
            code, printed = self.run_("rule", "cuMemMap-x-even")
        self.assertEqual((code, run.call_count), (1, 1))
        self.assertRegex(printed, r"1 of these tests misses something. \d+ more wait until they pass.")
        with mock.patch.object(gates, "build", return_value="a.cc:1:2: error: TODO_KIND"), mock.patch.object(gates, "run") as run:
            code, printed = self.run_("rule", "cuMemMap-x-even")
        self.assertEqual((code, run.call_count), (1, 0))
        self.assertIn("It does not build yet:\n  | a.cc:1:2: error: TODO_KIND", printed)

    def test_a_case_instead_of_a_family(self):
        self.run_("rule", "cuMemMap-x-even")
        self.fill_in("cuMemMap-x-even")
        self.undo("conformance/families/map.family")
        rule = rules.NewRule(self.tree, "cuMemMap-x-even")
        self.assertEqual(len(rules.missing(rule)), 1)
        self.put("conformance/cases/vmm/map.cuvmm", self.tree.read("conformance/cases/vmm/map.cuvmm")
                 + "\ncase map/x-odd\nbreaks cuMemMap-x-even\ninit()\n")
        self.assertEqual(rules.missing(rule), [])

    def test_a_rule_that_is_there_is_left_alone(self):
        with mock.patch.object(gates, "build", return_value=None), mock.patch.object(gates, "run", return_value=[]):
            self.assertEqual(self.run_("rule", "cuMemMap-offset-zero")[0], 0)
        self.assertEqual(self.changed(), {})

    def test_other_kinds_have_fewer_places(self):
        self.run_("rule", "cuMemMap-x-seen", "--kind", "uncheckable")
        self.assertEqual(set(self.changed()), {"rulebook/rules/map.def"})
        self.assertIn("CUVMM_UNCHECKABLE(MapXSeen,", self.tree.read("rulebook/rules/map.def"))
        self.run_("rule", "cuMemMap-x-ended", "--kind", "leak")
        self.assertEqual(set(self.changed()), {"rulebook/rules/map.def", "rulebook/leaks/check_exit.cc", "rulebook/vmm/check_map_test.cc"})
        self.run_("rule", "cuMemGetAccess-x-there", "--kind", "question")
        self.assertIn("CUVMM_QUESTION(GetAccessXThere,", self.tree.read("rulebook/rules/access.def"))

    def test_every_entry_point_can_have_one(self):
        """The check is written into the entry point's own function, in any file."""
        copies = 0
        for entry in list(self.tree.entries().values()):
            rule_id = f"cu{entry.name}-scaffold-try"
            with self.subTest(rule_id=rule_id):
                if entry.area not in self.tree.areas():
                    self.assertIn("has no rules", self.refused("rule", rule_id))
                    continue
                try:
                    rule = rules.NewRule(self.tree, rule_id)
                    rules.write(rule)
                except Mistake as mistake:
                    self.assertRegex(str(mistake), "is a copy or fill|shares its check|only orders work")
                    copies += 1
                    continue
                text = self.tree.read(rules.check_file(rule))
                function = rules.check_function(entry.name).search(text)
                body = text[function.start():text.index("\n}\n", function.start())]
                self.assertIn(f"Rule::k{rule.name}", body)
        self.assertGreater(copies, 10)
        self.changed()  # nothing is lost

    def test_ids_that_cannot_be(self):
        for rule_id, expected in (("offset", "is no rule id. Expected ENTRY-WORDS"), ("cuMemMap", "is no rule id"),
                                  ("cuMemMap-Offset", "is no rule id"), ("cuMemMap-", "is no rule id"),
                                  ("cuMemMop-x", "cuMemMop is no entry point"), ("cuMemcpy-x", "is a copy or fill"),
                                  ("cuMemGetInfo-x", "`./dev entry cuMemGetInfo --area AREA` adds it")):
            with self.subTest(rule_id=rule_id):
                self.assertIn(expected, self.refused("rule", rule_id))
        self.assertEqual(self.changed(), {})


class Entry(Copy):
    def test_what_the_headers_say(self):
        code, printed = self.run_("entry", "cuScaffoldMap", "--area", "map")
        self.assertEqual(code, 0)
        added = self.changed()
        self.assertLessEqual(len(added), 5)
        lines = [line for line in added["api/entry_points.def"] if not line.startswith("//")]
        self.assertEqual(lines, [
            "#if CUDA_VERSION >= 13010",
            "CUVMM_ENTRY(ScaffoldMap, map, (Address, CUdeviceptr, ptr), (Size, size_t, size), (Opaque, const CUscaffold*, what), "
            "(Flags, unsigned int, flags), (Stream, CUstream, hStream))",
            "CUVMM_SYMBOL(ScaffoldMap, cuScaffoldMap_v2, cuScaffoldMap, 13010, 0)",
            "CUVMM_SYMBOL(ScaffoldMap, cuScaffoldMap_v2_ptsz, cuScaffoldMap, 13010, 2)", "#endif",
            "CUVMM_SYMBOL(Other, cuScaffoldMap, cuScaffoldMap, 12020, 0)"])
        self.assertIn("const CUscaffold* is new here", "\n".join(added["api/entry_points.def"]))
        for path in ("rulebook/vmm/check_map.cc", "emulator/vmm/vmm_map.cc"):
            self.assertIn("#if CUDA_VERSION >= 13010", added[path])
        for path in added:
            self.assertIn(path + ":", printed)

    def test_what_is_known_needs_no_guard(self):
        self.run_("entry", "cuScaffoldEnd", "--area", "pool")
        added = self.changed()
        self.assertNotIn("#if", "\n".join(line for lines in added.values() for line in lines))
        self.assertIn("CUVMM_ENTRY(ScaffoldEnd, pool, (Object, CUmemoryPool, pool), (Size, size_t, size))", added["api/entry_points.def"])
        self.assertIn("call cuScaffoldEnd(pool=TODO, size=TODO)", added["conformance/families/pool.family"])

    def test_a_number_behind_a_pointer_is_written(self):
        self.assertRegex(self.refused("entry", "cuMemHostScaffold"), r"cuMemHost\w+ is of area memory")
        self.run_("entry", "cuMemHostScaffold", "--area", "memory")
        added = self.changed()["api/entry_points.def"]
        self.assertTrue(any("(OutInt, unsigned int*, written)" in line for line in added), added)
        self.assertIn("// unsigned int* is taken for what the call writes.", added)

    def test_a_wrapper_without_checks_is_named(self):
        os.makedirs(self.tree.full("shim/intercept"))
        path = "shim/intercept/object_functions.def"
        with open(self.tree.full(path), "w", encoding="utf-8") as file:
            file.write("CUVMM_USES(cuOther, cuOther, (a), int a)\nCUVMM_ENDS(cuScaffoldEnd, cuScaffoldEnd, kStream, (a), int a)\n")
        _, printed = self.run_("entry", "cuScaffoldEnd", "--area", "pool")
        self.assertIn(f"{path}:2 wraps the function as one without checks. Delete the line", printed)
        self.assertNotIn(f"{path}:1", printed)

    def test_perform_is_written_beside_the_function_without_rules(self):
        path = "emulator/memory/pointer.cc"
        self.assertNotIn("calls::ScaffoldEnd", self.tree.read(path))
        text = self.tree.read(path)
        os.remove(self.tree.full(path))  # a link to the pristine file
        with open(self.tree.full(path), "w", encoding="utf-8") as file:
            file.write(text.replace("CUVMM_DRIVER_FUNCTION(", "CUVMM_DRIVER_FUNCTION(cuScaffoldEnd, size_t size) {}\n\nCUVMM_DRIVER_FUNCTION(", 1))
        _, printed = self.run_("entry", "cuScaffoldEnd", "--area", "pool")
        self.assertIn("CUresult perform(Emulator&, const calls::ScaffoldEnd&", self.tree.read(path))
        self.assertRegex(printed, path + r":\d+: what the emulator does\n")
        self.assertRegex(printed, path + r":\d+ defines the function already")

    def test_code_that_an_area_shares_is_named(self):
        _, printed = self.run_("entry", "cuScaffoldEnd", "--area", "stream_memory")
        self.assertNotIn("rulebook/", "".join(self.changed()))
        self.assertIn("its check, because the entry points of area stream_memory share one: add ScaffoldEnd to "
                      "rulebook/batch/check_stream_memory.cc\n", printed)
        self.assertIn("add ScaffoldEnd to emulator/transfer/stream_memory.cc\n", printed)
        _, printed = self.run_("entry", "cuScaffoldMap", "--area", "map")
        self.assertNotIn("no skeleton has", printed)

    def test_a_first_rule_follows(self):
        self.run_("entry", "cuScaffoldEnd", "--area", "range_handle")
        code, printed = self.run_("entry", "cuScaffoldEnd")
        self.assertEqual(code, 1)
        self.assertIn("it has no rule yet: `./dev rule cuScaffoldEnd-WORDS`", printed)
        self.run_("rule", "cuScaffoldEnd-pool-alive")
        self.assertLessEqual(len(self.changed()), 5)
        self.assertEqual(self.tree.all_rules()["cuScaffoldEnd-pool-alive"].entry, "ScaffoldEnd")
        self.fill_in("cuScaffoldEnd")
        self.fill_in("cuScaffoldEnd-pool-alive")
        self.assertEqual(entries.missing(entries.NewEntry(self.tree, "cuScaffoldEnd")), [])
        family = self.tree.read("conformance/families/range_handle.family")
        self.assertTrue(family.startswith("family cuScaffoldEnd\n") and family.endswith("\n"), family)

    def test_a_copy_of_its_own_kind_is_declared_by_hand(self):
        self.run_("entry", "cuScaffoldEnd", "--area", "data")
        self.assertEqual(self.changed()["rulebook/check/check.h"], ["CUVMM_DECLARE(ScaffoldEnd)"])

    def test_the_second_run_writes_nothing(self):
        self.run_("entry", "cuScaffoldEnd", "--area", "pool")
        before = self.changed()
        self.assertEqual(self.run_("entry", "cuScaffoldEnd")[0], 1)
        self.assertEqual(self.changed(), before)

    def test_the_places_that_it_only_mentions_exist(self):
        for name, area in (("cuScaffoldMap", "data"), ("cuScaffoldEnd", "pool")):
            printed = self.run_("entry", name, "--area", area)[1].partition("Only where it applies:\n")[2]
            paths = re.findall(r"\b(?:%s)/[\w/.*]+" % "|".join(FOLDERS), printed)
            self.assertGreater(len(paths), 5)
            for path in paths:
                self.assertTrue(glob.glob(path.rstrip("."), root_dir=SOURCE), path)

    def test_nothing_is_missing_of_those_that_are_there(self):
        for name in self.tree.entries():
            with self.subTest(name=name):
                entry = entries.NewEntry(self.tree, "cu" + name)
                self.assertEqual(entries.missing(entry), [])

    def test_names_and_areas_that_cannot_be(self):
        for typed, expected in ((("cuScaffoldEnd",), "the area is missing"), (("cuScaffoldEnd", "--area", "pol"), "'pol' is no area"),
                                (("cuScaffoldEnd", "--area", "pol"), "address_range, allocation, map"),
                                (("scaffold", "--area", "pool"), "is no function of the driver"),
                                (("cuNowhere", "--area", "pool"), "has no PFN_cuNowhere"),
                                (("cuMemGetInfo", "--area", "pool"), "as CUVMM_BASE")):
            with self.subTest(typed=typed):
                self.assertIn(expected, self.refused("entry", *typed))
        self.assertEqual(self.changed(), {})


class Gates(unittest.TestCase):
    def test_what_they_build_and_run_exists(self):
        source = Tree(SOURCE)
        made = "".join(source.read(path) for path in source.find("[!.b]*/**/CMakeLists.txt"))
        made = made.replace("cuvmm_conformance_${table}_test", "cuvmm_conformance_emulator_test cuvmm_conformance_shim_test")
        for gate in sum(gates.of_rule("cuMemMap-x-even") + gates.of_entry("cuMemMap"), []):
            for target in gate.targets:
                self.assertRegex(made, r"[\s(]%s[\s)]" % re.escape(target), gate.what)
            for part in gate.command:
                if part.startswith("{root}/"):
                    self.assertTrue(os.path.exists(part.format(root=SOURCE)), part)

    def test_a_case_written_by_hand_is_among_them(self):
        self.assertIn("ext__destroy_with_buffer_then_use", gates.cases_of(SOURCE, "data-external-memory-alive"))
        self.assertEqual(gates.cases_of(SOURCE, "cuMemMap-x-even"), [])

    def test_no_test_is_no_success(self):
        result = mock.Mock(returncode=0, stdout="[==========] 0 tests from 0 test suites ran. (0 ms total)\n")
        gate = gates.of_rule("cuMemMap-x-even")[0][0]
        self.assertFalse(gates.passed(gate, result))
        result.stdout = "[==========] 3 tests from 1 test suite ran. (0 ms total)\n"
        self.assertTrue(gates.passed(gate, result))

    def test_the_lines_that_say_what_is_wrong(self):
        output = "noise\n" * 50 + "a.cc:3: Failure\nExpected: x\n  Actual: y\n" + "noise\n" * 50
        self.assertEqual(gates.failures(output)[:3], ["a.cc:3: Failure", "Expected: x", "  Actual: y"])
        self.assertEqual(len(gates.failures("noise\n" * 50)), 12)


if __name__ == "__main__":
    SOURCE = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
