# SPDX-License-Identifier: Apache-2.0
"""Tests of the bank's parts: its table, judgements, comparisons and results. No program is run."""

import ast
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "examples")]

import judgements  # noqa: E402
import plan  # noqa: E402
import results  # noqa: E402
import under_shim  # noqa: E402

sys.path.insert(0, str(HERE / "programs"))
import digest  # noqa: E402

TABLE = """
[allocators.two]
first = {}
second = { A = "1" }
[environment]
E = "e"
[[program]]
name = "p"
run = "module:function"
allocators = "two"
[[program]]
name = "q"
run = ["{python}", "-c", "pass"]
allocators = "two"
"""


def finding(rule="r", kind="error", count=1, function="f", module="/lib/x.so", **more) -> dict:
    return {"rule": rule, "kind": kind, "call": "cuMemMap", "message": "m", "count": count,
            "stack": [{"function": function, "module": module, "offset": 16}], **more}


def line(mode="exact", state="passed", digest="d", findings=(), program="p", allocator="a", **more) -> dict:
    return {"program": program, "allocator": allocator, "mode": mode, "state": state, "reason": "", "digest": digest,
            "findings": list(findings), "work": {}, "seconds": 1.0, **more}


def result(*runs, judged=()) -> results.Result:
    head = {"date": "d", "driver": {"devices": ["NVIDIA H100"], "version": "580"}, "software": {}}
    return results.Result(head, list(runs), judgements.Judgements([judgements.Judgement(**entry) for entry in judged]))


class PlanTest(unittest.TestCase):
    def load(self, text: str) -> plan.Plan:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "t.toml")
            path.write_text(text)
            return plan.load(path, "py")

    def test_a_case_for_each_allocator(self):
        loaded = self.load(TABLE)
        self.assertEqual([case.key for case in loaded.cases], [("p", "first"), ("p", "second"), ("q", "first"), ("q", "second")])
        self.assertEqual(loaded.cases[1].environment, (("A", "1"),))
        self.assertEqual(loaded.cases[2].program.argv, ("py", "-c", "pass"))
        self.assertEqual(loaded.cases[0].program.argv[-2:], ("module", "function"))

    def test_globs_and_shards_choose(self):
        loaded = self.load(TABLE)
        self.assertEqual([case.key for case in loaded.chosen(["q*"], [], (1, 1)).cases], [("q", "first"), ("q", "second")])
        self.assertEqual([case.key for case in loaded.chosen([], ["sec*"], (2, 2)).cases], [("q", "second")])
        halves = [loaded.chosen([], [], (k, 2)).cases for k in (1, 2)]
        self.assertEqual({case.key for half in halves for case in half}, {case.key for case in loaded.cases})
        self.assertFalse({case.key for case in halves[0]} & {case.key for case in halves[1]})

    def test_mistakes_are_named(self):
        for old, new, expected in (('allocators = "two"', 'allocators = "none"', "allocators.none"), ('run = "m', 'runs = "m', "unknown runs"),
                               ('name = "q"', 'name = "p"', "two programs")):
            with self.assertRaisesRegex(plan.PlanError, expected):
                self.load(TABLE.replace(old, new))

    def test_the_bank_names_functions_that_exist(self):
        bank = plan.load(HERE / "programs.toml", "py")
        self.assertGreater(len(bank.cases), 80)
        for case in bank.cases:
            module, function = case.program.argv[-2:]
            tree = ast.parse((HERE / "programs" / f"{module}.py").read_text())
            self.assertIn(function, [node.name for node in tree.body if isinstance(node, ast.FunctionDef)], case.key)

    def test_its_judgements_are_understood(self):
        judgements.load(HERE / "judged.toml")


class JudgementTest(unittest.TestCase):
    JAX = {"rule": "r", "program": "jax-*", "mode": "exact", "verdict": "library", "reason": "why"}

    def judged(self, run, found, *entries):
        return judgements.Judgements([judgements.Judgement(**entry) for entry in entries]).of(run, found)

    def test_matches_by_program_mode_and_frame(self):
        run = line(program="jax-train")
        self.assertEqual(self.judged(run, finding(), self.JAX), ("library", "why"))
        self.assertEqual(self.judged(line(program="cupy"), finding(), self.JAX)[0], judgements.UNJUDGED)
        self.assertEqual(self.judged(line("observed", program="jax-train"), finding(), self.JAX)[0], judgements.UNJUDGED)
        for frame, verdict in (("f", "library"), ("*/x.so", "library"), ("g", judgements.UNJUDGED)):
            self.assertEqual(self.judged(run, finding(), self.JAX | {"frame": frame})[0], verdict, frame)

    def test_the_first_one_counts_and_unused_ones_are_named(self):
        first, second = {"rule": "r", "verdict": "false", "reason": "x"}, {"rule": "*", "verdict": "true", "reason": "y"}
        book = judgements.Judgements([judgements.Judgement(**entry) for entry in (first, second)])
        self.assertEqual(book.of(line(), finding())[0], "false")
        self.assertEqual(book.unused(), ["* of * (true)"])

    def test_mistakes_in_the_file_are_named(self):
        good = '[[judgement]]\nrule = "r"\nverdict = "true"\nreason = "w"\n'
        for old, new, expected in (("true", "maybe", "verdict is one of"), ('reason = "w"', "", "a rule and a reason"),
                               ("rule", "role", "unknown role")):
            with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(judgements.JudgementError, expected):
                path = pathlib.Path(folder, "j.toml")
                path.write_text(good.replace(old, new))
                judgements.load(path)


class ResultTest(unittest.TestCase):
    def test_all_well(self):
        got = result(line("bare"), line("observed"), line("exact"))
        self.assertEqual((got.exit_code(), got.broken(), got.missing()), (0, [], []))

    def test_a_finding_breaks_the_gate_until_it_is_judged_true(self):
        runs = [line("bare"), line("exact", findings=[finding()])]
        self.assertEqual(result(*runs).exit_code(), 1)
        for verdict, code in (("true", 0), ("library", 0), ("false", 1)):
            self.assertEqual(result(*runs, judged=[{"rule": "r", "verdict": verdict, "reason": "w"}]).exit_code(), code, verdict)

    def test_what_is_quiet_needs_no_verdict(self):
        quiet = [finding(kind="answer"), finding(kind="advice", count=2, handled=2)]
        self.assertEqual(result(line("bare"), line("exact", findings=quiet)).exit_code(), 0)
        self.assertEqual(result(line("bare"), line("exact", findings=[finding(kind="advice", count=2, handled=1)])).exit_code(), 1)

    def test_outputs_are_compared_with_the_bare_run(self):
        runs = [line("bare", digest="1"), line("observed", digest="1"), line("exact", digest="2")]
        self.assertEqual(results.comparison(runs), {"observed": results.EQUAL, "exact": results.UNREPEATED})
        self.assertEqual(result(*runs).exit_code(), 3)
        for again, what, code in (("1", results.DIFFERENT, 1), ("3", results.UNSTABLE, 0)):
            more = [*runs, line("bare", digest=again)]
            self.assertEqual((results.comparison(more)["exact"], result(*more).exit_code()), (what, code))

    def test_what_fails_only_under_cuvmm_breaks_the_gate(self):
        for state in ("failed", "skipped", "timed out"):
            self.assertEqual(result(line("bare"), line("exact", state=state)).exit_code(), 1, state)
            self.assertEqual(result(line("bare", state="failed"), line("exact", state=state)).exit_code(), 3, state)
        self.assertEqual(result(line("bare"), line("exact", state="not started")).exit_code(), 3)
        self.assertEqual(result(line("bare"), line("exact", state="out of time")).exit_code(), 3)

    def test_another_machine_may_run_what_one_could_not(self):
        runs = [line("bare", state="skipped"), line("exact", state="skipped"), line("bare"), line("exact")]
        self.assertEqual((len(result(*runs).runs), result(*runs).exit_code()), (2, 0))

    def test_a_log_survives_a_killed_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "l.jsonl")
            path.write_text(json.dumps(line()) + '\n{"program": "p", "all')
            self.assertEqual(len(results.read([path])), 1)

    def test_written_for_people_and_for_programs(self):
        work = {"launches": 9, "tracked": 7, "grades": {"type": 5, "value": 2}}
        got = result(line("bare"), line("exact", findings=[finding(count=3)], work=work),
                     judged=[{"rule": "r", "verdict": "true", "reason": "our bug"}])
        with tempfile.TemporaryDirectory() as folder:
            text = results.write(pathlib.Path(folder), "s", got).read_text()
            value = json.loads(pathlib.Path(folder, "s.json").read_text())
        self.assertIn("| r | error | cuMemMap | f x.so+0x10 | 3 | p a exact | true | our bug |", text)
        self.assertIn("| of | launches | tracked | grades.type | grades.value |", text)
        self.assertIn("| p a | 9 | 7 | 5 | 2 |", text)
        self.assertIn("| all, exact | 9 | 7 | 5 | 2 |", text)
        self.assertEqual(value["cases"][0]["runs"][1]["findings"][0]["verdict"], "true")
        self.assertEqual(value["cases"][0]["runs"][1]["work"], work)
        self.assertEqual(value["summary"]["work"]["grades.type"], 5)


class StartTest(unittest.TestCase):
    OFF = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}

    def start(self, module: str, function: str, **environment: str) -> subprocess.CompletedProcess:
        command = [sys.executable, str(HERE / "programs" / "start.py"), module, function]
        return subprocess.run(command, env={"PATH": os.environ["PATH"]} | environment, capture_output=True, text=True, check=False)

    def test_says_what_is_missing_and_insists_that_multicast_is_off(self):
        ran = self.start("no_such_module", "f", **self.OFF)
        self.assertEqual((ran.returncode, ran.stdout), (77, "skipped: not installed: no_such_module\n"))
        for name in self.OFF:
            ran = self.start("no_such_module", "f", **{key: value for key, value in self.OFF.items() if key != name})
            self.assertEqual(ran.returncode, 1)
            self.assertIn(f"{name} must be", ran.stderr)


class RecordTest(unittest.TestCase):
    def test_a_run_as_a_line(self):
        report = {"calls": {"cuMemMap": 2}, "work": {"launches": 3}, "findings": [finding(function="f" * 999, fix="x", url="u")]}
        run = under_shim.Run(0, "hello\ndigest=b\ndigest=a\n", 1.5, report)
        case = plan.Case(plan.Program("p", (), (), 1, 1.0), "a", ())
        got = results.record(case, "exact", run, "passed", "")
        self.assertEqual((got["digest"], got["calls"], got["work"]), ("a b", 2, {"launches": 3}))
        self.assertEqual(len(got["findings"][0]["stack"][0]["function"]), results.LONGEST_NAME)
        many = under_shim.Run(0, "", 1.0, {"findings": [finding() | {"stack": finding()["stack"] * 20}] * (results.WITH_STACKS + 1)})
        depths = [len(one["stack"]) for one in results.record(case, "exact", many, "passed", "")["findings"]]
        self.assertEqual((depths[0], depths[-2], depths[-1]), (results.KEPT_FRAMES, results.KEPT_FRAMES, results.FEW_FRAMES))
        self.assertNotIn("output", got)
        self.assertIn("hello", results.record(case, "exact", run, "failed", "x")["output"])

    def test_digests_tell_values_apart(self):
        values = [1, 1.0, "1", [1], [[1]], [1, 2], {"a": 1}, {"b": 1}, True, None]
        self.assertEqual(len({digest.of(value) for value in values}), len(values))
        self.assertEqual(digest.of({"a": 1, "b": 2}), digest.of({"b": 2, "a": 1}))


if __name__ == "__main__":
    unittest.main()
