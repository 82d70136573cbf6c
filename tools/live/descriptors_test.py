# SPDX-License-Identifier: Apache-2.0
"""What cuvmm leaks, map and top say of descriptors that a living process received or duplicated.

Usage: descriptors_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import os
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
        self.assertIn("2 received descriptors that memory was imported from made since then and still there", text)
        self.assertIn("1 received descriptors", text)  # the second number of one, from another place
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


if __name__ == "__main__":
    live_test.CUVMM, live_test.SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
