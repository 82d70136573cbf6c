#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the watch over CUDA's headers: on invented headers, then on the decisions of this checkout. Needs no network.

Usage: watch_test.py SOURCE_FOLDER [unittest arguments]. CUDA_INCLUDE: the headers that the build found.
"""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import header  # pylint: disable=wrong-import-position
import history  # pylint: disable=wrong-import-position
import scope  # pylint: disable=wrong-import-position
import watch  # pylint: disable=wrong-import-position
from headers import folders, version  # pylint: disable=wrong-import-position

SOURCE = None

OLD = """#define CUDA_VERSION 12040
#define CU_MEM_FLAG_A 0x1 /**< a flag */
typedef unsigned long long CUdeviceptr_v2;
typedef CUdeviceptr_v2 CUdeviceptr;
typedef enum CUmemKind_enum {
    CU_MEM_KIND_ONE, /**< the first = 7, it says */
    CU_MEM_KIND_TWO,
    CU_MEM_KIND_TEN = 10,
    CU_MEM_KIND_MAX = 0x7FFFFFFF
} CUmemKind;
typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_ODD = 3 } CUresult;
typedef struct CUmemThing_st {
    CUmemKind kind;
    union {
        int id;
        struct { unsigned char low[2]; unsigned char high; } parts;
    };
    void (*call)(void *);
} CUmemThing_v1;
typedef CUmemThing_v1 CUmemThing;
/**
 * \\brief Maps \\p thing
 *
 * Maps it once,
 * and for all.
 *
 * \\sa ::cuMemUnmapThing
 */
CUresult CUDAAPI cuMemMapThing(CUdeviceptr ptr, CUmemThing *thing);
/** \\brief Paints. Example: \\code
    CUresult CUDAAPI cuMemExample(int a);
    \\endcode */
CUresult CUDAAPI cuPaint(int colour);
#ifdef _WIN32
CUresult CUDAAPI cuMemWindows(int a);
#endif
#if defined(__CUDA_API_VERSION_INTERNAL)
CUresult CUDAAPI cuMemOld(int a);
#endif
"""
OLD_TYPES = """typedef CUresult (CUDAAPI *PFN_cuMemMapThing_v12000)(CUdeviceptr_v2 ptr, CUmemThing_v1 *thing);
typedef CUresult (CUDAAPI *PFN_cuPaint_v2000)(int colour);
"""
ENTRIES = """CUVMM_ENTRY(MemMapThing, map, (Address, CUdeviceptr, ptr), (InRecord, CUmemThing*, thing))
CUVMM_SYMBOL(MemMapThing, cuMemMapThing, cuMemMapThing, 12000, 0)
"""
RULES = """CUVMM_RULE(MapThing, "cuMemMapThing-thing-nonnull", MemMapThing, "thing", Error, CUDA_ERROR_ODD, Documented, 12000,
           "It is no null pointer.", "made up", "Pass one.")
"""
NEW = OLD.replace("12040", "13010")


class Checkout:
    """A folder with the files that the watch reads, and headers beside it."""

    def __init__(self, test):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.root = folder.name
        self.write("api/entry_points.def", ENTRIES)
        self.write("rulebook/catalogue/rules.def", '#include "rulebook/rules/map.def"\n')
        self.write("rulebook/rules/map.def", RULES)
        self.write("api/decisions/README.md", "none\n")
        history.save(self.root, [])
        self.take(OLD, OLD_TYPES)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return full

    def headers(self, text, types):
        self.write("include/cudaTypedefs.h", types)
        return os.path.dirname(self.write("include/cuda.h", text))

    def take(self, text, types):
        """Updates the history as `--update` does."""
        folder = self.headers(text, types)
        events = history.updated(watch.Watch(self.root).events, {version(folder): history.snapshot(header.items(folder))})
        history.save(self.root, events)

    def complaints(self):
        return "\n".join(watch.Watch(self.root).complaints())

    def strange(self, text, types, comments_of=0):
        return "\n".join(watch.Watch(self.root).strange(self.headers(text, types), comments_of))

    def hash(self, kind, name):
        events = watch.Watch(self.root).events
        return [event.hash for event in events if (event.kind, event.name) == (kind, name)][-1]


class Reading(unittest.TestCase):
    """The items that are read from a header."""

    def setUp(self):
        self.items = header.parse(OLD)

    def text(self, kind, name):
        return self.items[kind, name].text

    def test_functions(self):
        found = [name for kind, name in self.items if kind == "function"]
        self.assertEqual(found, ["cuMemMapThing", "cuPaint"], "not those of examples, of Windows, of the driver itself")
        self.assertEqual(self.text("function", "cuMemMapThing"), "CUdeviceptr,CUmemThing*")

    def test_what_is_linked(self):
        text = "#define cuMemMapThing __CUDA_API_PTSZ(cuMemMapThing_v2)\n#define cuPaint cuPaint\n#define cuMemOdd cuMemOdd_v3 \n"
        self.assertEqual([name for kind, name in header.parse(text) if kind == "symbol"], ["cuMemMapThing:cuMemMapThing_v2", "cuMemOdd:cuMemOdd_v3"])

    def test_a_parameter_s_name_binds_nobody(self):
        self.assertEqual(self.items["function", "cuPaint"], header.parse(OLD.replace("int colour", "int color"))["function", "cuPaint"])

    def test_enumerators(self):
        values = {name: self.text("enumerator", name) for kind, name in self.items if kind == "enumerator"}
        self.assertEqual([values[name] for name in ("CU_MEM_KIND_ONE", "CU_MEM_KIND_TWO", "CU_MEM_KIND_TEN", "CUDA_ERROR_ODD")],
                         ["0", "0 + 1", "10", "3"])

    def test_fields(self):
        fields = {name: item.text for (kind, name), item in self.items.items() if kind == "field"}
        self.assertEqual(fields, {"CUmemThing_v1.kind": "CUmemKind", "CUmemThing_v1.id": "int", "CUmemThing_v1.parts.low": "unsigned char[2]",
                                  "CUmemThing_v1.parts.high": "unsigned char", "CUmemThing_v1.call": "void()(void*)"})

    def test_a_value_without_its_comment(self):
        self.assertEqual(self.text("macro", "CU_MEM_FLAG_A"), "0x1")

    def test_only_the_words_of_a_comment_count(self):
        same = OLD.replace("Maps it once,\n * and", "Maps it once and").replace("\\p thing", "::thing").replace("cuMemUnmapThing", "cuElse")
        self.assertEqual(header.parse(same)["comment", "cuMemMapThing"].text, self.text("comment", "cuMemMapThing"))
        other = header.parse(OLD.replace("once", "twice"))["comment", "cuMemMapThing"].text
        self.assertNotEqual(other, self.text("comment", "cuMemMapThing"))

    def test_a_comment_belongs_to_the_function_below_it(self):
        self.assertIn("Paints", self.text("comment", "cuPaint"))
        self.assertNotIn("Paints", self.text("comment", "cuMemMapThing"))


class Memory(unittest.TestCase):
    """The items that concern memory."""

    def about_memory(self, text):
        items = header.parse(text)
        within = scope.Scope(items)
        return {name for (_, name), item in items.items() if within.has(item)}

    def test_by_name(self):
        about_memory = self.about_memory(OLD)
        self.assertLessEqual({"cuMemMapThing", "CU_MEM_FLAG_A", "CU_MEM_KIND_ONE", "CUDA_ERROR_ODD", "CUmemThing_v1.id"}, about_memory)
        self.assertFalse({"cuPaint", "CU_MEM_KIND_MAX", "CUDA_VERSION"} & about_memory)

    def test_by_what_is_taken_whatever_it_is_called(self):
        self.assertIn("cuOdd", self.about_memory(OLD + "CUresult CUDAAPI cuOdd(CUdeviceptr at);"))
        deep = "typedef struct CUodd_st { CUmemLocation where; } CUodd_v1; typedef CUodd_v1 CUodd; CUresult CUDAAPI cuOdd(const CUodd *odd);"
        self.assertLessEqual({"cuOdd", "CUodd_v1.where"}, self.about_memory(OLD + deep))
        self.assertNotIn("cuOdd", self.about_memory(OLD + deep.replace("CUmemLocation", "int")))


class Deciding(unittest.TestCase):
    """Each change needs a decision, and each decision a change."""

    def setUp(self):
        self.here = Checkout(self)

    def test_nothing_new(self):
        self.assertEqual(self.here.complaints(), "")
        self.here.take(NEW, OLD_TYPES)
        self.assertEqual(self.here.complaints(), "")

    def test_an_added_function_without_a_decision_fails(self):
        self.here.take(NEW + "CUresult CUDAAPI cuMemNew(int a);", OLD_TYPES + "typedef CUresult (CUDAAPI *PFN_cuMemNew_v13010)(int a);")
        self.assertIn("function cuMemNew", self.here.complaints())
        self.assertIn("api/decisions/13.1.txt", self.here.complaints())
        self.here.write("api/decisions/13.1.txt", "function cuMemNew\n  It is new.\n  open: nobody did it.\n")
        self.assertEqual(self.here.complaints(), "", "an open decision is one, and it holds for the new abi")
        self.assertEqual([each.verdict for each in watch.Watch(self.here.root).decided if "cuMemNew" in each.event.name], ["open"] * 2)

    def test_an_unrelated_function_does_not(self):
        self.here.take(NEW + "CUresult CUDAAPI cuDance(int a);", OLD_TYPES + "typedef CUresult (CUDAAPI *PFN_cuDance_v13010)(int a);")
        self.assertEqual(self.here.complaints(), "")

    def test_an_entry_point_decides_by_being_there(self):
        self.here.take(NEW + "CUresult CUDAAPI cuMemNew(int a);", OLD_TYPES + "typedef CUresult (CUDAAPI *PFN_cuMemNew_v13010)(int a);")
        self.here.write("api/entry_points.def", ENTRIES + "CUVMM_ENTRY(MemNew, map, (Value, int, a))\n"
                        "CUVMM_SYMBOL(MemNew, cuMemNew, cuMemNew, 13010, 0)\n")
        self.assertEqual(self.here.complaints(), "")
        self.assertEqual({each.verdict for each in watch.Watch(self.here.root).decided}, {"checked"})
        self.here.write("api/decisions/13.1.txt", "function cuMemNew\n  open: nobody did it.\n")
        self.assertIn("13.1.txt:1: function cuMemNew is in api/entry_points.def", self.here.complaints())

    def test_an_entry_point_of_an_area_without_rules_is_followed(self):
        self.here.write("api/entry_points.def", ENTRIES.replace(", map,", ", elsewhere,"))
        self.assertEqual({each.verdict for each in watch.Watch(self.here.root).decided}, {"followed"})

    def test_a_new_form_of_a_known_function_fails(self):
        self.here.take(NEW, OLD_TYPES + "typedef CUresult (CUDAAPI *PFN_cuMemMapThing_v13010)(CUdeviceptr_v2 ptr, int device);")
        self.assertIn("abi cuMemMapThing:13010:0", self.here.complaints())
        self.here.write("api/entry_points.def", ENTRIES + "CUVMM_SYMBOL(Other, cuMemMapThing_v2, cuMemMapThing, 13010, 0)\n")
        self.assertEqual(self.here.complaints(), "")
        self.here.write("api/decisions/13.1.txt", "abi cuMemMapThing:13010:0\n  open: it should be read too.\n")
        self.assertEqual(self.here.complaints(), "")
        self.assertIn("open", [each.verdict for each in watch.Watch(self.here.root).decided])

    def test_another_linked_name_fails(self):
        self.here.take(NEW + "#define cuMemMapThing cuMemMapThing_v2\n", OLD_TYPES)
        self.assertIn("symbol cuMemMapThing:cuMemMapThing_v2", self.here.complaints())
        self.here.write("api/entry_points.def", ENTRIES + "CUVMM_SYMBOL(MemMapThing, cuMemMapThing_v2, cuMemMapThing, 13010, 0)\n")
        self.assertEqual(self.here.complaints(), "")

    def test_a_changed_comment_fails_until_this_wording_is_decided(self):
        self.here.take(NEW.replace("Maps it once", "Maps it twice"), OLD_TYPES)
        wanted = f"comment cuMemMapThing {self.here.hash('comment', 'cuMemMapThing')}"
        self.assertIn(wanted, self.here.complaints())
        self.here.write("api/decisions/13.1.txt", wanted + "\n  Twice now.\n  checked: cuMemMapThing-thing-nonnull.\n")
        self.assertEqual(self.here.complaints(), "")
        self.here.take(NEW.replace("Maps it once", "Maps it thrice"), OLD_TYPES)
        self.assertIn("is stale", self.here.complaints())
        self.assertIn(f"comment cuMemMapThing {self.here.hash('comment', 'cuMemMapThing')}", self.here.complaints())

    def test_the_comments_inside_a_structure_count(self):
        self.here.take(NEW.replace("        int id;", "        int id; /**< Must be 0 */"), OLD_TYPES)
        self.assertIn(f"comment CUmemThing {self.here.hash('comment', 'CUmemThing')}", self.here.complaints())

    def test_values_structures_and_what_is_gone(self):
        text = (NEW.replace("CU_MEM_KIND_TWO,", "CU_MEM_KIND_TWO, CU_MEM_KIND_THREE,").replace("    int id;", "    int id; long more;")
                .replace("#define CU_MEM_FLAG_A 0x1", "#define CU_MEM_FLAG_A 0x2"))
        self.here.take(text, OLD_TYPES)
        for item in ("enumerator CU_MEM_KIND_THREE", "struct CUmemThing", "macro CU_MEM_FLAG_A"):
            self.assertIn(item, self.here.complaints())
        self.here.take(NEW.replace("cuMemMapThing(", "cuForgotten("), OLD_TYPES)
        self.assertIn("function cuMemMapThing  (gone)", self.here.complaints(), "an entry point does not decide that it is gone")

    def test_a_stale_line_fails(self):
        self.here.write("api/decisions/13.1.txt", "function cuMemNever\n  open: nobody did it.\n")
        self.assertIn("13.1.txt:1: function cuMemNever is nothing that CUDA 13.1 added, changed or removed", self.here.complaints())

    def test_what_is_written_wrongly_is_named(self):
        for text, wanted in (("function\n  open: x\n", "13.1.txt:1: expected `KIND NAME`"), ("thing cuMemNew\n  open: x\n", "KIND one of"),
                             ("comment cuMemNew\n  open: x\n", "its hash"), ("function cuMemNew\n\n", "13.1.txt:1: no decision is below this"),
                             ("function cuMemNew\n  It is new.\n", "begins with one of: checked:"),
                             ("function cuMemNew\n  It is new.\n  open:\n", "begins with one of: checked:"),
                             ("\n  open: x.\n", "this text is below no item"),
                             ("function cuMemNew\n  checked: cuMemNew-no-rule.\n", "cuMemNew-no-rule is no rule")):
            with self.subTest(text=text):
                self.here.write("api/decisions/13.1.txt", text)
                self.assertIn(wanted, self.here.complaints())

    def test_twice_is_a_mistake(self):
        self.here.take(NEW + "CUresult CUDAAPI cuMemNew(int a);", OLD_TYPES)
        self.here.write("api/decisions/13.1.txt", "function cuMemNew\n  open: one.\n\nfunction cuMemNew\n  open: two.\n")
        self.assertIn("decided twice", self.here.complaints())


class Headers(unittest.TestCase):
    """Headers are compared with the history."""

    def setUp(self):
        self.here = Checkout(self)

    def test_headers_that_the_history_knows(self):
        self.assertEqual(self.here.strange(OLD, OLD_TYPES), "")

    def test_a_newer_version(self):
        self.assertEqual(self.here.strange(NEW + "CUresult CUDAAPI cuDance(int a);", OLD_TYPES), "")
        changes = self.here.strange(NEW + "CUresult CUDAAPI cuMemNew(int a);", OLD_TYPES)
        self.assertIn("+ function cuMemNew", changes)
        self.assertIn("--update 13.1", changes)

    def test_what_is_gone_stays_gone(self):
        gone = NEW.replace("cuMemMapThing(", "cuForgotten(")
        self.here.take(gone, "")
        self.assertEqual(self.here.strange(gone.replace("13010", "13020"), ""), "")
        self.assertIn("+ function cuMemMapThing", self.here.strange(NEW.replace("13010", "13020"), ""))

    def test_a_patch_may_reword_comments_only(self):
        self.assertEqual(self.here.strange(OLD.replace("once", "twice"), OLD_TYPES, history.FIRST + 1), "")
        self.assertIn("~ comment cuMemMapThing", self.here.strange(OLD.replace("once", "twice"), OLD_TYPES, history.FIRST))
        self.assertIn("~ struct CUmemThing", self.here.strange(OLD.replace("int id", "long id"), OLD_TYPES, history.FIRST + 1))

    def test_the_history_of_a_version_is_not_written_anew_without_what_follows(self):
        self.here.take(NEW, OLD_TYPES + "typedef CUresult (CUDAAPI *PFN_cuMemMapThing_v13010)(int a);")
        with self.assertRaisesRegex(ValueError, "13.1"):
            self.here.take(OLD, OLD_TYPES)

    def test_writing_and_reading_back(self):
        events = watch.Watch(self.here.root).events
        self.assertEqual(history.parse(history.write(events)), events)


class Page(unittest.TestCase):
    def test_says_what_is_new_and_what_was_decided(self):
        here = Checkout(self)
        here.take(NEW + "CUresult CUDAAPI cuMemNew(int a);", OLD_TYPES)
        here.write("api/decisions/13.1.txt", "function cuMemNew\n  A new one.\n  open: see cuMemMapThing-thing-nonnull.\n")
        text = watch.Watch(here.root).page()
        self.assertIn("| **open** | 1 |", text)
        self.assertIn("| new function: `cuMemNew` | A new one. | **open**: see "
                      "[cuMemMapThing-thing-nonnull](rules/map.md#cuMemMapThing-thing-nonnull). |", text)
        self.assertLess(text.index("## CUDA 13.1"), text.index("## CUDA 12.4"))


class Repository(unittest.TestCase):
    """The decisions of this checkout."""

    def setUp(self):
        self.watch = watch.Watch(SOURCE)

    def test_each_change_has_a_decision(self):
        self.assertEqual("\n".join(self.watch.complaints()), "")
        self.assertGreater(len(self.watch.decided), 700)

    def test_the_headers_of_this_machine(self):
        # Comments do not count here, because the headers may be another patch of the version. `./dev headers-diff
        # --check newest` compares them.
        newest = history.newest(self.watch.events)
        found = {os.path.realpath(folder): version(folder) for folder in [*folders(SOURCE), os.environ.get("CUDA_INCLUDE", "")]
                 if folder and version(folder) >= history.FIRST}
        for folder in found:
            with self.subTest(folder=folder):
                self.assertEqual("\n".join(self.watch.strange(folder, newest + 1)), "")
        missing = {event.version for event in self.watch.events} - set(found.values())
        if missing:
            print(f"not compared, for their headers are not here: CUDA {', '.join(map(history.dotted, sorted(missing)))}", file=sys.stderr)
        if not found:
            self.skipTest("there are no CUDA headers here")


if __name__ == "__main__":
    SOURCE = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
