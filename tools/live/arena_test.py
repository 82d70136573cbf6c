# SPDX-License-Identifier: Apache-2.0
"""Tests the text of cuvmm map about a library's own range of addresses that is used up.

Usage: arena_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the shim and the emulator in place.
"""
import os
import sys
import unittest

import live_test
from live_test import Client


class Arena(live_test.LiveTest):
    def test_a_librarys_own_range_that_is_full_or_in_pieces(self):
        # NVIDIA/nccl#2331: the library reserves once, hands out pieces, and finds no room. No call of the driver fails.
        client = Client(self, """
start()
base = reserve(16 * M)
handle = create(2 * M)
free = set(range(8))
def take(pieces):
    for first in range(8):
        wanted = set(range(first, first + pieces))
        if wanted <= free:
            free.difference_update(wanted)
            for piece in wanted:
                map_at(base + piece * 2 * M, 2 * M, handle)
            return True
    return False
def give(piece):
    must(cuda.cuMemUnmap(U64(base + piece * 2 * M), SIZE(2 * M)))
    free.add(piece)
assert all(take(1) for _ in range(8)) and not take(1)
tell(os.getpid())
for piece in (1, 3, 4):
    give(piece)
assert not take(3), "6 MiB are free, but not side by side"
tell(os.getpid())
""")
        self.assertIn("reserved: 16 MiB, 16 MiB of it mapped, which is full (call ", self.look("map", str(client.pid)))
        client.say()
        self.assertIn("reserved: 16 MiB, 10 MiB of it mapped, the largest hole has 4 MiB (call ",
                      self.look("map", str(client.pid)))


if __name__ == "__main__":
    live_test.CUVMM, live_test.SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
