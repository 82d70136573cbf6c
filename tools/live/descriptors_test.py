# SPDX-License-Identifier: Apache-2.0
"""Tests the texts of cuvmm leaks, map and top about descriptors that a living process received or duplicated.

Usage: descriptors_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import json
import os
import subprocess
import sys
import unittest

import live_test
from live_test import Client


class Descriptors(live_test.LiveTest):
    def test_descriptors_that_are_received_and_never_closed(self):
        # NVIDIA/nccl#2376: on an error path the descriptor that came through a socket stays open.
        client = Client(self, """
start()
handle = create(2 * M)
def receive(close):
    mine, theirs = socket.socketpair()
    fd = export(handle)
    socket.send_fds(mine, [b"x"], [fd])
    os.close(fd)
    got = socket.recv_fds(theirs, 1, 1)[1][0]
    must(cuda.cuMemRelease(import_(got)))
    if close:
        os.close(got)
    return got
receive(True)
tell(os.getpid())
kept = [receive(False), receive(False)]
kept.append(os.dup(kept[0]))
receive(True)
tell("kept")
os.closerange(min(kept), max(kept) + 1)
tell("closed")
""")
        mark = str(self.json("leaks", str(client.pid), status=1)["mark"])
        client.say()
        text = self.look("leaks", str(client.pid), "--since", mark)
        self.assertIn("2 received descriptors of imported memory made since then and still there", text)
        self.assertIn("1 received descriptor of imported memory made", text)  # the second number of one, from another place
        self.assertIn("received, and imported from as", self.look("map", str(client.pid)))
        self.assertEqual(self.json("top")["processes"][0]["received_descriptors"], 3)
        client.say()
        self.assertEqual(self.json("leaks", str(client.pid), "--since", mark)["grown"], [])

    def test_a_second_number_of_a_descriptor_is_followed(self):
        client = Client(self, """
start()
handle = create(2 * M)
fd = export(handle)
second = os.dup(fd)
third = os.dup2(fd, 99)
os.close(fd)
must(cuda.cuMemRelease(handle))
tell(os.getpid())
os.close(second)
tell("one is left")
null = os.open("/dev/null", os.O_RDONLY)
os.dup2(null, 99)
tell("none is left")
""")
        rules = lambda **more: [leak["rule"] for leak in self.json("leaks", str(client.pid), **more)["leaks"]]
        self.assertEqual(rules(status=1), ["cuMemExportToShareableHandle-fd-closed"] * 2)
        client.say()
        self.assertEqual(rules(status=1), ["cuMemExportToShareableHandle-fd-closed"])
        client.say()
        self.assertEqual(rules(), [])


class Closes(live_test.LiveTest):
    RULE = "cuMemExportToShareableHandle-fd-closed-once"

    def found(self, body):
        report = os.path.join(self.folder, "report.json")
        done = subprocess.run([live_test.CUVMM, "run", "--emulate", "--live", "off", "--report", report, "--leak-check=no",
                               "--", sys.executable, "-c", live_test.PRELUDE + """
start()
handle = create(2 * M)
def close(fd):
    try:
        os.close(fd)
    except OSError as error:
        assert error.errno == 9, error
""" + body], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(report, encoding="utf-8") as file:
            return [(finding["rule"], finding["count"]) for finding in json.load(file)["findings"]]

    def test_a_descriptor_that_is_closed_twice(self):
        self.assertEqual(self.found("""
fd = export(handle)
close(fd)
close(fd)
close(fd)
"""), [(self.RULE, 2)])
        # So is one that was received; its second number is another one.
        self.assertEqual(self.found("""
fd = export(handle)
second = os.dup(fd)
must(cuda.cuMemRelease(import_(second)))
close(second)
close(fd)
close(second)
"""), [(self.RULE, 1)])

    def test_numbers_that_come_back_are_closed_again(self):
        # To another export, to a file, and by dup2().
        self.assertEqual(self.found("""
for _ in range(3):
    fd = export(handle)
    close(fd)
    other = os.open("/dev/null", os.O_RDONLY)
    assert other == fd, "the lowest number that is free"
    close(other)
    again = os.open("/dev/null", os.O_RDONLY)
    os.dup2(0, again)
    close(again)
"""), [])

    def test_who_closes_all_numbers_does_not_know_which_are_open(self):
        self.assertEqual(self.found("""
fd = export(handle)
close(fd)
for step in (1, -1):
    for number in range(3, 64)[::step]:
        close(number)
"""), [])


if __name__ == "__main__":
    live_test.CUVMM, live_test.SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
