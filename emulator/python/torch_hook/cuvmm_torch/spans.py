# SPDX-License-Identifier: Apache-2.0
"""Ranges of addresses that a call's tensors occupy, joined where they overlap. Pure arithmetic, without PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def extent(size: Sequence[int], stride: Sequence[int], item: int) -> int:
    """The number of bytes from a tensor's first element to the end of its last one; 0 if it has no element.

    `item` is the size of an element in bytes. Strides are not negative in PyTorch.
    """
    last = 0
    for length, step in zip(size, stride):
        if length == 0:
            return 0
        last += (length - 1) * step
    return (last + 1) * item


def joined(ranges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """The union of ranges (first address, bytes, alignment) as disjoint ranges (first address, end), in order.

    Ranges that only touch stay apart, because they may lie in different allocations. Where ranges with
    different alignments overlap, the union begins at a multiple of the largest, so that each tensor is a
    whole number of its elements behind the beginning.
    """
    result: list[list[int]] = []
    for first, size, alignment in sorted(ranges):
        if size == 0:
            continue
        if result and first < result[-1][1]:
            result[-1][1] = max(result[-1][1], first + size)
            result[-1][2] = max(result[-1][2], alignment)
        else:
            result.append([first, first + size, alignment])
    return [(first - first % alignment, end) for first, end, alignment in result]


def owner(spans: Sequence[tuple[int, int]], address: int) -> int:
    """The index of the span that contains the address. Raises LookupError if none does."""
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle][1] <= address:
            low = middle + 1
        else:
            high = middle
    if low == len(spans) or address < spans[low][0]:
        raise LookupError(hex(address))
    return low


def dense(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether a tensor's elements fill its extent, each at its own place, in some order of the dimensions."""
    expected = 1
    for step, length in sorted((step, length) for step, length in zip(stride, size) if length != 1):
        if step != expected:
            return False
        expected *= length
    return True
