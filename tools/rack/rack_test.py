#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `cuvmm rack`: hosts, devices and ranks, their output and their ends.

Usage: rack_test.py CUVMM EXAMPLE [unittest arguments]; EXAMPLE is the program of examples/multicast/rack.cc.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

CUVMM = EXAMPLE = None
FRESH = {key: value for key, value in os.environ.items() if not key.startswith("CUVMM_")}
FRESH["CUVMM_EXAMPLE_MULTICAST"] = "1"


def rack(*arguments):
    return subprocess.run([CUVMM, "rack", *arguments], capture_output=True, text=True, check=False, env=FRESH)


def shell(text):
    return ["--", "sh", "-c", text]


class RackTest(unittest.TestCase):
    def test_ranks_know_their_places(self):
        done = rack("--hosts", "2", "--devices", "3", "--allow-unchecked",
                    *shell("echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $CUVMM_HOST $CUVMM_DEVICES"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[host{r // 3} rank {r}] {r}/6 {r % 3}/3 {r // 3} {r // 3}/2 3" for r in range(6)])

    def test_ranks_need_not_be_as_many_as_devices(self):
        done = rack("--hosts", "3", "--devices", "4", "--ranks", "1", *shell("echo $RANK/$WORLD_SIZE"))
        self.assertEqual(sorted(done.stdout.splitlines()), [f"[host{r} rank {r}] {r}/3" for r in range(3)])

    def test_devices_of_two_hosts_share_a_multicast_object(self):
        done = rack("--hosts", "2", "--devices", "4", "--error-exitcode", "99", "--", EXAMPLE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("8 of 8 bytes arrived"), 8)
        self.assertIn("0 errors, 0 undefined, 0 leaks", done.stderr)
        self.assertIn("of 8 processes (emulator)", done.stderr)

    def test_as_many_devices_as_there_may_be(self):
        done = rack("--hosts", "8", "--devices", "8", "--error-exitcode", "99", "--", EXAMPLE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("64 of 64 bytes arrived"), 64)

    def test_findings_name_the_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "r.json")
            rack("--hosts", "2", "--devices", "1", "--report", report, "--grace", "0", "--", EXAMPLE, "--fail", "1")
            with open(report, encoding="utf-8") as file:
                scopes = {finding.get("scope") for finding in json.load(file)["findings"]}
        self.assertIn("host1 rank 1", scopes)

    def test_outages_are_named_by_their_causes(self):
        causes = {
            "no-channel": ("cuMemCreate answered CUDA_ERROR_NOT_PERMITTED", "this process has no IMEX channel"),
            "domains": ("cuMemImportFromShareableHandle answered CUDA_ERROR_INVALID_HANDLE",
                        "the two processes are in different IMEX domains"),
            "imex-daemon": ("cuMemImportFromShareableHandle answered CUDA_ERROR_INVALID_HANDLE",
                            "the IMEX daemon is down"),
            "fabric-manager": ("cuInit answered CUDA_ERROR_SYSTEM_NOT_READY", "Fabric Manager does not run"),
            "fabric-lost": ("cuMulticastAddDevice answered CUDA_ERROR_ILLEGAL_STATE",
                            "the fabric's configuration is wrong or stale"),
            "multicast-groups": ("cuMulticastBindMem answered CUDA_ERROR_OUT_OF_MEMORY",
                                 "the fabric has no multicast group left"),
            "no-fabric": ("cuMulticastCreate answered CUDA_ERROR_NOT_SUPPORTED",
                          "this device, or the virtual machine around it, has no fabric memory")}
        for outage, (answer, cause) in causes.items():
            with self.subTest(outage):
                done = rack("--hosts", "2", "--devices", "1", "--grace", "0", "--outage", outage, "--", EXAMPLE)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"cuvmm: {answer} because of --outage {outage}.", done.stderr)
                self.assertIn(cause, done.stderr)

    def test_an_outage_whose_cause_a_finding_names(self):
        done = rack("--hosts", "2", "--devices", "1", "--grace", "0", "--outage", "large-granularity", "--", EXAMPLE)
        self.assertIn("not a multiple of the multicast granularity, 512 MiB [cuMulticastCreate-size-granularity]",
                      done.stderr)
        self.assertIn("1 error, 0 undefined, 0 leaks", done.stderr)

    def test_a_rank_is_killed_in_the_middle_of_a_team(self):
        done = rack("--hosts", "2", "--devices", "2", "--grace", "60", "--outage", "rank-killed", "--", EXAMPLE)
        self.assertIn("first host1 rank 3: ended by signal 9", done.stderr)
        self.assertIn("was ended in cuMulticastBindMem", done.stderr)
        self.assertIn("meeting failed: another rank has ended", done.stdout)
        self.assertIn("0 errors, 0 undefined, 0 leaks", done.stderr)

    def test_an_outage_is_silent_where_it_is_not_met(self):
        # One host is one domain.
        done = rack("--hosts", "1", "--devices", "2", "--outage", "domains", "--", EXAMPLE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("--outage", done.stderr)

    def test_a_rank_that_fails_ends_the_others(self):
        done = rack("--hosts", "2", "--devices", "1", "--grace", "0.1", "--allow-unchecked",
                    *shell("if [ $RANK = 1 ]; then exit 7; else exec sleep 1000; fi"))
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("cuvmm rack: ends the ranks that still run, 0.1 s after host1 rank 1 failed", done.stderr)
        self.assertIn("cuvmm rack: 1 of 2 ranks failed; first host1 rank 1: exit code 7", done.stderr)

    def test_a_signal_is_an_exit_code(self):
        done = rack("--hosts", "1", "--devices", "1", "--allow-unchecked", *shell("kill -9 $$"))
        self.assertEqual(done.returncode, 128 + 9, done.stderr)
        self.assertIn("first host0 rank 0: ended by signal 9", done.stderr)

    def test_a_signal_ends_all_ranks(self):
        with subprocess.Popen([CUVMM, "rack", "--hosts", "2", "--devices", "1", "--allow-unchecked",
                               *shell("echo $$; exec sleep 1000")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=FRESH) as process:
            pids = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=300)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        for pid in pids:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_lines_stay_whole(self):
        done = rack("--hosts", "1", "--devices", "4", "--allow-unchecked",
                    *shell("for i in 1 2 3 4 5 6 7 8 9; do printf 'a b'; printf ' c\\n'; done; printf end"))
        for line in done.stdout.splitlines():
            self.assertRegex(line, r"^\[host0 rank [0-3]\] (a b c|end)$")
        self.assertEqual(len(done.stdout.splitlines()), 40)

    def test_a_program_that_does_not_exist(self):
        done = rack("--", "./nowhere")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (127, "", "cuvmm rack: ./nowhere: No such file or directory\n"))

    def test_wrong_words(self):
        for words, said in ((["--hosts", "9"], "9 hosts of 8 devices are 72 devices; a rack has at most 64"),
                            (["--hosts", "0"], "--hosts"),
                            (["--driver", "nowhere.so"], "cuvmm rack: nowhere.so: no such file"),
                            (["--allow-multicast"], "--allow-multicast has no meaning here")):
            done = rack(*words, "--", "true")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, re.escape(said))


if __name__ == "__main__":
    CUVMM, EXAMPLE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
