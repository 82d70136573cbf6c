# SPDX-License-Identifier: Apache-2.0
"""Tests cuvmm work on the emulator, as a fleet uses it: fleet_test.py CUVMM SOURCE."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CUVMM, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
FEW = "1/200"  # some eight cases


def work(*arguments, **environment):
    return subprocess.run([str(CUVMM), "work", *map(str, arguments)], capture_output=True, text=True, timeout=250,
                          env=os.environ | environment)


class FleetTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def run_shard(self, *more, shard=FEW, out="r", **environment):
        return work("run", "--emulate", "--conformance", "--shard", shard, "--out", self.folder / out, *more,
                    **environment)

    def results(self, out="r"):
        return sorted((self.folder / out).rglob("*.json"))

    def merge(self, out="r"):
        merged = self.folder / "merged.json"
        done = work("merge", self.folder / out, "--json", merged)
        self.assertIn(done.returncode, (0, 1, 75), done.stderr)
        return json.loads(merged.read_text()), done

    def test_a_plan_names_each_shard_once(self):
        done = work("plan", "--fuzz", 100, "--seed-seconds", 10, "--shards", 4, "--out", "there")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "# fuzz-100s-10s: 10 units in 4 shards")
        self.assertEqual(lines[3], "cuvmm work run --fuzz 100 --seed-seconds 10 --shard 3/4 --out there")
        self.assertEqual(len(lines), 5)

    def test_the_same_shard_gives_the_same_bytes(self):
        for out in ("r", "again"):
            self.assertEqual(self.run_shard("--node", "n1", out=out).returncode, 0)
        (one,), (two,) = self.results("r"), self.results("again")
        self.assertEqual(one.name, two.name)
        self.assertEqual(one.read_bytes(), two.read_bytes())
        self.assertEqual(self.run_shard(out="unnamed").returncode, 0)
        stamp = json.loads(self.results("unnamed")[0].read_text())["stamp"]
        self.assertRegex(stamp["node"], "^node-[0-9a-f]{8}$")
        self.assertNotIn(os.uname().nodename, stamp.values())

    def test_what_is_done_is_not_done_again(self):
        first = self.run_shard()
        self.assertEqual(first.returncode, 0, first.stderr)
        before = self.results()[0].stat().st_mtime_ns
        second = self.run_shard()
        self.assertEqual(second.returncode, 0)
        self.assertIn("there already", second.stdout)
        self.assertEqual(self.results()[0].stat().st_mtime_ns, before)

    def test_time_is_up_and_the_rest_is_done_later(self):
        tries = 0
        while not self.results():
            done = self.run_shard("--time-limit", "0.001", shard="1/20")
            self.assertEqual(done.returncode, 0 if self.results() else 75, done.stderr)
            tries += 1
        self.assertGreater(tries, 1)
        self.assertEqual(self.run_shard("--node", "other", shard="1/20", out="whole").returncode, 0)
        mine, whole = (json.loads(self.results(out)[0].read_text())["results"] for out in ("r", "whole"))
        self.assertEqual(mine, whole)
        self.assertEqual(list((self.folder / "r").rglob("*.part")), [])

    def test_a_killed_shard_loses_nothing_that_it_had_written(self):
        runner = subprocess.Popen([str(CUVMM), "work", "run", "--emulate", "--conformance", "--shard", "1/2", "--out",
                                   str(self.folder / "r")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        def written():
            parts = list((self.folder / "r").rglob("*.part"))
            return parts[0].read_text().count("\n") if parts else 0
        while runner.poll() is None and written() < 2:
            time.sleep(0.01)
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        had = written()
        self.assertGreater(had, 1)
        with open(next((self.folder / "r").rglob("*.part")), "a", encoding="utf8") as part:
            part.write('{"unit":"cut o')  # like a file after a kill in the middle of a write
        self.assertEqual(self.run_shard(shard="1/2").returncode, 0)
        self.assertEqual(self.run_shard(shard="1/2", out="whole").returncode, 0)
        self.assertEqual(self.results()[0].read_bytes(), self.results("whole")[0].read_bytes())

    def test_random_kills_lose_nothing(self):
        storm = SOURCE / "tools/work/storm.py"
        done = subprocess.run([sys.executable, storm, CUVMM, "--shards", "200", "--first", "16", "--kill", "50"],
                              capture_output=True, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(json.loads(done.stdout)["killed"], 3)

    def test_a_wrong_node_among_twenty_is_named(self):
        rule = "cuMemMap-flags-zero"
        found = subprocess.run([str(CUVMM), "conform", "--list"], capture_output=True, text=True, check=True)
        shard = 1 + found.stdout.splitlines().index("cuMemMap/flags-zero") % 400
        for node in range(1, 21):
            wrong = {"CUVMM_MUTATION": f"remove {rule}"} if node == 13 else {}
            done = self.run_shard("--node", f"n{node}", shard=f"{shard}/400", **wrong)
            self.assertIn(done.returncode, (0, 1), done.stderr)
        merged, done = self.merge()
        self.assertEqual([each["node"] for each in merged["outliers"]], ["n13"], done.stdout)
        self.assertEqual(done.returncode, 1)
        for each in merged["outliers"][0]["differences"]:
            self.assertNotEqual(each["answers"], each["peers"])
            self.assertEqual(each["agreeing"], 19)
        self.assertEqual(merged["results"], 20 * merged["cases"])
        self.assertEqual(len(merged["missing"]), 399)

    def test_a_merge_without_all_shards_is_no_success(self):
        for shard in ("1/2", "2/2"):
            self.assertEqual(self.run_shard(shard=shard).returncode, 0)
            merged, done = self.merge()
            wanted = {"1/2": (["conformance 2/2"], 75), "2/2": ([], 0)}[shard]
            self.assertEqual((merged["missing"], done.returncode), wanted, done.stdout)
        (self.folder / "empty").mkdir()
        self.assertEqual(work("merge", self.folder / "empty").returncode, 75)
        self.assertEqual(work("merge", self.folder / "r", "--json", "/proc/x.json").returncode, 125)

    def test_a_changed_result_is_refused(self):
        self.assertEqual(self.run_shard().returncode, 0)
        file = self.results()[0]
        self.assertEqual(work("check", file).returncode, 0)
        text = file.read_text()
        file.write_text(text.replace('"status":"pass"', '"status":"deviation"', 1))
        done = work("check", file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("was changed", done.stdout)
        merged, done = self.merge()
        self.assertEqual(done.returncode, 75, "what could not be read may hold findings")
        self.assertEqual(merged["cases"], 0)
        self.assertIn("was changed", merged["refused"][0]["why"])
        # A changed file whose name fits its new content is refused because its verdict does not follow from its answers.
        wanted = merged["refused"][0]["why"].split("which is ")[1].split(":")[0]
        renamed = file.with_name(wanted)
        file.rename(renamed)
        done = work("check", renamed)
        self.assertEqual(done.returncode, 1)
        self.assertIn("its answers mean 'pass'", done.stdout)

    def test_the_results_in_the_repository_are_whole(self):
        subprocess.run([SOURCE / "conformance/unpack", self.folder], check=True)
        files = sorted((self.folder / "results").rglob("*.json"))
        self.assertGreater(len(files), 1)
        done = work("check", *files)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_machine_without_a_driver_is_unfit(self):
        library = self.folder / "libcuda.so.1"
        library.write_text("no library")
        done = work("run", "--driver", library, "--conformance", "--out", self.folder / "r")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("this node is unfit", done.stderr)

    def test_doctor_and_bench_say_nothing_of_the_machine_itself(self):
        for job, unit in (("--doctor", "doctor/vmm"), ("--bench", "bench/call/cuMemMap/live:0/bare")):
            if job == "--bench" and not CUVMM.with_name("cuvmm-bench").exists():
                continue
            done = work("run", "--emulate", job, "--out", self.folder / job)
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(self.results(job)[0].read_text())
            self.assertIn(unit, [each["unit"] for each in result["results"]])
            self.assertNotIn("GPU-", self.results(job)[0].read_text())

    def test_searches_make_a_corpus_and_findings_are_told_apart(self):
        fuzz = CUVMM.with_name("cuvmm-fuzz")
        if not fuzz.exists():
            self.skipTest("cuvmm-fuzz was not built")
        # These five seeds use each kind of search once.
        done = work("run", "--emulate", "--fuzz", 5, "--seed-seconds", 1, "--first-seed", 201, "--out", self.folder / "r")
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads(self.results("r")[0].read_text())["results"]
        self.assertEqual([each["unit"] for each in results], [f"seed-{201 + i}" for i in range(5)])
        # These searches end at their first finding, after about forty programs, and not at a time. So the programs that
        # they keep do not depend on the machine's speed.
        spoilt = os.environ | {"CUVMM_MUTATION": "remove cuMemMap-flags-zero"}
        done = work("run", "--emulate", "--fuzz", 400, "--seed-seconds", 200, "--out", self.folder / "r", **spoilt)
        self.assertEqual(done.returncode, 1, done.stderr)
        kept = self.folder / "kept"
        merged = self.folder / "merged.json"
        done = work("merge", self.folder / "r", "--json", merged, "--corpus", kept)
        few, all_of_them = map(int, re.search(r"corpus: (\d+) of (\d+) programs", done.stdout).groups())
        self.assertEqual(len(list(kept.glob("*.cuvmm"))), few)
        self.assertLess(10, few)
        self.assertLess(few, all_of_them)
        emulator = CUVMM.parent.parent / "lib/emulator/libcuda.so.1"
        found = json.loads(merged.read_text())["findings"]
        self.assertTrue(found)
        for each in found:
            program = self.folder / "found.cuvmm"
            program.write_text(each["program"])
            seen = subprocess.run([fuzz, "--driver", emulator, "--replay", program], capture_output=True, text=True,
                                  env=spoilt)
            self.assertIn("fingerprint: " + each["fingerprint"], seen.stdout)

    def test_recordings_are_compared_with_the_emulator(self):
        if not CUVMM.with_name("cuvmm-fuzz-record").exists():
            self.skipTest("cuvmm-fuzz-record was not built")
        for out, code, spoilt in (("right", 0, {}), ("wrong", 1, {"CUVMM_MUTATION": "remove cuMemMap-offset-zero"})):
            done = work("run", "--emulate", "--recordings", 1, "--out", self.folder / out, **spoilt)
            self.assertEqual(done.returncode, code, done.stderr)
        (right,), (wrong,) = ([json.loads(path.read_text())["results"] for path in self.results(out)]
                              for out in ("right", "wrong"))
        self.assertEqual([(each["unit"], each["status"]) for each in right], [("recording-1", "agreed")])
        self.assertEqual(wrong[0]["status"], "differs")
        self.assertRegex(wrong[0]["answers"][0], "^cuMemMap: recorded .*, here .* !cuMemMap-offset-zero")

    def test_mistakes_are_named(self):
        for arguments, words in ((("run", "--out", "r"), "say what to do"),
                                 (("run", "--conformance", "--doctor", "--out", "r"), "say what to do"),
                                 (("run", "--emulate", "--conformance", "--shard", "5/4", "--out", "r"), "INDEX/COUNT"),
                                 (("run", "--conformance"), "--out is required"),
                                 (("merge",), "DIR is required"),
                                 (("plan", "--fuzz", "x"), "not a whole number")):
            done = work(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
