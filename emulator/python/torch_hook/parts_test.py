#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of cuvmm_torch that need no PyTorch: ranges of memory, the count of operators, the facts of a schema."""

import pathlib
import sys
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "hook")]

from cuvmm_torch import fidelity, schema, spans  # noqa: E402


class Spans(unittest.TestCase):
    def test_extent_ends_behind_the_last_element(self):
        self.assertEqual(spans.extent((), (), 4), 4)
        self.assertEqual(spans.extent((2, 3), (3, 1), 4), 24)
        self.assertEqual(spans.extent((2, 3), (1, 100), 2), 2 * (1 + 200 + 1))
        self.assertEqual(spans.extent((2, 0), (1, 1), 4), 0)
        self.assertEqual(spans.extent((5,), (0,), 4), 4, "an expanded tensor has one element")

    def test_ranges_that_overlap_are_joined_and_neighbours_are_not(self):
        self.assertEqual(spans.joined([(100, 8, 4), (104, 8, 4), (112, 4, 4), (0, 4, 4)]), [(0, 4), (100, 112), (112, 116)])
        self.assertEqual(spans.joined([(100, 50, 1), (110, 2, 1)]), [(100, 150)])
        self.assertEqual(spans.joined([(100, 0, 4)]), [])

    def test_a_union_begins_where_the_largest_elements_can(self):
        self.assertEqual(spans.joined([(102, 4, 2), (104, 16, 8)]), [(96, 120)])

    def test_owner_finds_the_span_of_an_address(self):
        found = [(0, 4), (100, 112), (112, 116)]
        self.assertEqual([spans.owner(found, address) for address in (0, 3, 100, 111, 112)], [0, 0, 1, 1, 2])
        for address in (4, 99, 116):
            with self.assertRaises(LookupError):
                spans.owner(found, address)

    def test_dense_tensors_fill_their_extent(self):
        for size, stride, dense in (((2, 3), (3, 1), True), ((2, 3), (1, 2), True), ((2, 3), (4, 1), False), ((3,), (0,), False),
                                    ((1, 3), (77, 1), True), ((), (), True)):
            self.assertEqual(spans.dense(size, stride), dense, (size, stride))


class Counts(unittest.TestCase):
    def setUp(self):
        self.printed = []
        self.fidelity = fidelity.Fidelity(self.printed.append)

    def test_a_process_without_operators_says_nothing(self):
        self.fidelity.print_line()
        self.assertEqual(self.printed, [])

    def test_the_line_counts_by_kind_and_names_exceptions(self):
        for _ in range(3):
            self.fidelity.count(fidelity.EXACT, "aten::add.Tensor")
        self.fidelity.count(fidelity.APPROXIMATE, "aten::normal_")
        self.fidelity.skip("aten::_cslt_compress", "a reason")
        self.fidelity.skip("aten::_cslt_compress", "a reason")
        self.assertEqual(len(self.printed), 1, "a skipped operator is named once")
        self.assertIn("aten::_cslt_compress is not computed: a reason", self.printed[0])
        self.assertEqual(self.fidelity.line(), "1 operators (3 calls) computed by the CPU, 1 approximately (normal_), "
                                               "1 skipped: _cslt_compress")

    def test_long_lists_are_cut(self):
        for number in range(20):
            self.fidelity.count(fidelity.SKIPPED, f"aten::op{number:02}")
        self.assertTrue(self.fidelity.line().endswith("op11 and 8 more"), self.fidelity.line())


def _operator(name, arguments, returns, tags=(), overload=""):
    def alias(names, write):
        return types.SimpleNamespace(before_set=set(names), is_write=write) if names else None

    return types.SimpleNamespace(tags=tags, _schema=types.SimpleNamespace(
        name=name, overload_name=overload,
        arguments=[types.SimpleNamespace(name=one, type=kind, alias_info=alias(names, write)) for one, kind, names, write in arguments],
        returns=[types.SimpleNamespace(alias_info=alias(names, write)) for names, write in returns]))


class Schemas(unittest.TestCase):
    def test_an_operator_in_place(self):
        facts = schema.facts_of(_operator("aten::add_", [("self", "Tensor", "a", True), ("other", "Tensor", "", False)],
                                          [("a", True)], overload="Tensor"))
        self.assertEqual((facts.name, facts.written, facts.returns), ("aten::add_.Tensor", {"self"}, ("self",)))
        self.assertFalse(facts.view or facts.random)
        self.assertEqual(facts.tensors, {"self", "other"})

    def test_a_view_is_left_to_pytorch(self):
        self.assertTrue(schema.facts_of(_operator("aten::view", [("self", "Tensor", "a", False)], [("a", False)])).view)

    def test_random_operators_name_their_generator(self):
        facts = schema.facts_of(_operator("aten::normal_", [("self", "Tensor", "a", True), ("generator", "Optional[Generator]", "", False)],
                                          [("a", True)]))
        self.assertTrue(facts.random)
        self.assertEqual(facts.generator, "generator")
        self.assertTrue(schema.facts_of(_operator("aten::native_dropout", [], [], ["Tag.nondeterministic_seeded"])).random)

    def test_writes_that_a_schema_hides(self):
        facts = schema.facts_of(_operator("aten::native_batch_norm", [("running_mean", "Optional[Tensor]", "", False)], [("", False)]))
        self.assertIn("running_mean", facts.written)
        self.assertEqual(facts.returns, (None,))


if __name__ == "__main__":
    unittest.main()
