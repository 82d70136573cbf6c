# SPDX-License-Identifier: Apache-2.0
"""Tests the commands that read reports: `cuvmm report`, `cuvmm suppress`, `cuvmm memory`.

Usage: questions_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import cli_test  # noqa: E402

WRONG = "init()\nr0 = cuMemAddressReserve(2M)\nr1 = cuMemAddressReserve(2M)\n"
FREE = "cuMemAddressFree(r0, 4M)  # CUDA_ERROR_INVALID_VALUE\n"
LEAK = "init()\nr0 = cuMemAddressReserve(2M)\nh0 = cuMemCreate(2M, device=0)\ncuMemMap(r0, 2M, h0)\ncuMemRelease(h0)\n"


class Questions(cli_test.CliTest):
    def report(self, name, program, *options):
        path = self.path(name)
        self.run_("--emulate", "--report", path, *options, "--", *self.replay_command(program))
        return path


class New(Questions):
    def test_all_of_a_report_as_text(self):
        result = self.cuvmm("report", self.report("r.json", WRONG + FREE))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("[cuMemAddressFree-exact]", result.stdout)
        good = self.cuvmm("report", self.report("good.json", cli_test.LEGAL))
        self.assertEqual((good.returncode, good.stdout), (0, "nothing was found\n"))

    def test_a_finding_is_told_as_when_it_came(self):
        examples = pathlib.Path(cli_test.CUVMM).parent / "examples"
        for example, options in (("map_past_reservation", ()), ("unmap_under_work", ("--streams=late:1",)),
                                 ("map_over_mapping", ("--enforce",)),
                                 ("closed_after_import", ()), ("ipc_freed_while_open", ())):
            with self.subTest(example):
                path = self.path("r.json")
                printed = self.run_("--emulate", *options, "--report", path, "--", str(examples / example)).stderr
                text = self.cuvmm("report", path).stdout
                self.assertIn(" fix: ", text)
                for finding in text.rstrip("\n").split("\n\n"):
                    self.assertIn("cuvmm: " + finding + "\n", printed)

    def test_only_what_is_new_fails(self):
        old = self.report("old.json", WRONG + FREE)
        same = self.cuvmm("report", self.report("same.json", WRONG + FREE), "--baseline", old)
        self.assertEqual(same.returncode, 0, same.stdout)
        self.assertIn("0 new, ", same.stdout)
        self.assertNotIn("gone:", same.stdout)
        good = self.cuvmm("report", self.report("good.json", cli_test.LEGAL), "--baseline", old)
        self.assertEqual(good.returncode, 0, good.stdout)
        self.assertRegex(good.stdout, r"gone: error: cuMemAddressFree \[cuMemAddressFree-exact\] at ")
        self.assertIn(" of the baseline are gone\n", good.stdout)
        more = WRONG + FREE + "cuMemUnmap(r0, 2M)  # CUDA_ERROR_INVALID_VALUE\n"
        fresh = self.cuvmm("report", self.report("new.json", more), "--baseline", old, "--error-exitcode", "7")
        self.assertEqual(fresh.returncode, 7, fresh.stdout)
        self.assertIn("[cuMemUnmap-mapped]", fresh.stdout)
        self.assertNotIn("[cuMemAddressFree-exact]", fresh.stdout)

    def test_a_limit_for_each_rule(self):
        path = self.report("r.json", WRONG + FREE)
        with open(path) as file:
            report = json.load(file)
        one = next(one for one in report["findings"] if one["rule"] == "cuMemAddressFree-exact")
        report["findings"] = [one] * 5
        with open(path, "w") as file:
            json.dump(report, file)
        result = self.cuvmm("report", path, "--limit", "2")
        self.assertEqual(result.stdout.count("[cuMemAddressFree-exact]"), 2)
        self.assertIn("3 more findings of cuMemAddressFree-exact", result.stdout)

    def test_a_terminal_gets_no_commands(self):
        path = self.report("r.json", WRONG + FREE)
        with open(path) as file:
            report = json.load(file)
        report["findings"][0]["message"] = "\x1b[31mred"
        with open(path, "w") as file:
            json.dump(report, file)
        self.assertNotIn("\x1b", self.cuvmm("report", path).stdout)


class Suppress(Questions):
    def test_what_it_writes_silences_the_next_run(self):
        path = self.report("r.json", WRONG + FREE)
        result = self.cuvmm("suppress", path, "-o", self.path("known.supp"))
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(path) as file:
            rules = {one["rule"] for one in json.load(file)["findings"] if one["kind"] != "answer"}
        with open(self.path("known.supp")) as file:
            lines = [line for line in file.read().splitlines() if not line.startswith("#")]
        self.assertEqual({line.split()[0].removeprefix("rule:") for line in lines}, rules)
        again = self.run_("--emulate", "--suppressions", self.path("known.supp"), "--error-exitcode", "9", "--report",
                          self.path("again.json"), "--", *self.replay_command(WRONG + FREE))
        self.assertEqual(again.returncode, 0, again.stderr)
        with open(self.path("again.json")) as file:
            report = json.load(file)
        self.assertEqual(report["findings"], [])
        self.assertGreater(report["suppressed"], 0)
        self.assertNotIn("unused_suppressions", report)

    def test_those_without_use_are_named(self):
        known = self.path("known.supp", "rule:cuMemAddressFree-exact\nrule:cuMemMap-*\n")
        path = self.path("r.json")
        result = self.run_("--emulate", "--suppressions", known, "--report", path, "--",
                           *self.replay_command(WRONG + FREE))
        with open(path) as file:
            self.assertEqual(json.load(file)["unused_suppressions"], [f"{known}:2: rule:cuMemMap-*"])
        self.assertIn(f"cuvmm: 1 suppression was not used:\n    {known}:2: rule:cuMemMap-*\n", result.stderr)


class Memory(Questions):
    def test_the_peak_and_a_moment(self):
        path = self.report("r.json", LEAK, "--timeline")
        peak = self.cuvmm("memory", path)
        self.assertEqual(peak.returncode, 0, peak.stderr)
        self.assertTrue(peak.stdout.startswith("2 MiB of physical memory at the peak\n"
                                               "of that, of cuMemCreate: 2 MiB mapped, 0 bytes kept by handles alone\n"),
                        peak.stdout)
        begin = self.cuvmm("memory", path, "--at", "0ns")
        self.assertTrue(begin.stdout.startswith("0 bytes of physical memory after 0ns\n"), begin.stdout)
        end = self.cuvmm("memory", path, "--at", "1000s")
        self.assertTrue(end.stdout.startswith("2 MiB of physical memory after 1000s\n"), end.stdout)

    def test_what_nothing_uses(self):
        path = self.report("r.json", LEAK + "h1 = cuMemCreate(6M, device=0)\np0 = cuMemAlloc(1M)\n", "--timeline")
        result = self.cuvmm("memory", path)
        self.assertTrue(result.stdout.startswith("9 MiB of physical memory at the peak\nof that, of cuMemCreate: "
                                                 "2 MiB mapped, 6 MiB kept by handles alone\n"), result.stdout)
        with open(path) as file:
            report = json.load(file)
        # The timeline may lack the only mapping, because it left out objects.
        report["timeline"]["processes"][0]["left_out"] = 1
        with open(path, "w") as file:
            json.dump(report, file)
        self.assertNotIn("of that", self.cuvmm("memory", path).stdout)

    def test_what_another_run_holds_more(self):
        less = self.report("a.json", LEAK, "--timeline")
        more = self.report("b.json", LEAK + "h1 = cuMemCreate(6M, device=0)\n", "--timeline")
        result = self.cuvmm("memory", more, "--diff", less)
        self.assertTrue(result.stdout.startswith(f"{more} holds 6 MiB more than {less}, at the peak\n"), result.stdout)
        self.assertIn("holds 6 MiB less than", self.cuvmm("memory", less, "--diff", more).stdout)

    def test_folded_stacks(self):
        path = self.report("r.json", LEAK, "--timeline")
        self.assertEqual(self.cuvmm("memory", path, "--folded", self.path("r.folded")).returncode, 0)
        with open(self.path("r.folded")) as file:
            lines = file.read().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), 2 << 20)
        self.assertIn(";", lines[0])

    def test_what_is_not_understood_is_reported(self):
        path = self.report("r.json", LEAK)
        result = self.cuvmm("memory", path)
        self.assertEqual(result.returncode, 2)
        self.assertIn("has no timeline: record one with cuvmm run --timeline", result.stderr)
        result = self.cuvmm("memory", path, "--at", "soon")
        self.assertEqual(result.returncode, 2)
        self.assertIn("expected a time such as 1.5s or 200ms", result.stderr)


if __name__ == "__main__":
    cli_test.CUVMM, cli_test.SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
