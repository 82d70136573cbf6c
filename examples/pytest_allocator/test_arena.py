# SPDX-License-Identifier: Apache-2.0
"""All of these pass without cuvmm. With it, two fail: pytest --cuvmm=emulate"""

import driver
import pytest
from arena import Arena


@pytest.fixture(scope="session", autouse=True)
def device():
    driver.start()


@pytest.fixture
def arena():
    arena = Arena(16 << 20)
    yield arena
    arena.close()


def test_grows(arena):
    arena.grow()
    arena.grow()
    assert arena.size == 2 * arena.page


def test_shrinks(arena):
    arena.grow()
    arena.grow()
    arena.shrink()
    assert arena.size == arena.page


def test_sleeps(arena):
    arena.grow()
    arena.sleep()
