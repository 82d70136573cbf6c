# SPDX-License-Identifier: Apache-2.0
"""A small allocator: one address range that grows and shrinks at its end.

It has two bugs that a test of its results does not see. ARENA_MENDED=1 in the environment mends them.
"""

from __future__ import annotations

import os

import driver

MENDED = os.environ.get("ARENA_MENDED") == "1"


class Arena:
    """Address space for `capacity` bytes, of which a prefix has memory."""

    def __init__(self, capacity: int):
        self.page = driver.granularity()
        self.capacity = -(-capacity // self.page) * self.page
        self.base = driver.reserve(self.capacity)
        self.pages: list[int] = []  # their handles
        self.awake = True

    @property
    def size(self) -> int:
        """Bytes that can be used."""
        return len(self.pages) * self.page

    def grow(self) -> None:
        """One page more."""
        handle = driver.create(self.page)
        driver.map_at(self.base + self.size, self.page, handle)
        self.pages.append(handle)

    def shrink(self) -> None:
        """One page less."""
        handle = self.pages.pop()
        driver.unmap(self.base + self.size, self.page)
        if MENDED:  # the bug: the mapping is gone, but the handle still keeps the memory
            driver.release(handle)

    def sleep(self) -> None:
        """Unmaps all of it, and keeps the memory for wake-up."""
        for number in range(len(self.pages)):
            driver.unmap(self.base + number * self.page, self.page)
        if MENDED:  # the bug: close() takes the pages for mapped
            self.awake = False

    def close(self) -> None:
        """Gives everything back."""
        for number, handle in enumerate(self.pages):
            if self.awake:
                driver.unmap(self.base + number * self.page, self.page)
            driver.release(handle)
        self.pages.clear()
        driver.free_address(self.base, self.capacity)
