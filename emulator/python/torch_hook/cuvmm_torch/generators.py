# SPDX-License-Identifier: Apache-2.0
"""Random numbers: the CPU's generator draws them, seeded by the state of the CUDA generator.

A CUDA generator's state is a seed and an offset, which a call advances. So the same seed gives the same
numbers again, also after torch.cuda.set_rng_state() (activation checkpoints do that), but not the numbers
of a GPU, whose algorithm (Philox) the CPU's operators do not have.
"""

from __future__ import annotations

import threading

import torch

from .schema import Facts

_default = threading.Lock()  # guards the CPU's default generator while it stands in
_STEP = 4  # offsets are multiples of 4


def _next_seed(generator: torch.Generator) -> int:
    state = generator.get_state()
    words = state.view(torch.int64)
    seed, offset = int(words[0]), int(words[1])
    words[1] = offset + _STEP
    generator.set_state(state)
    # The mix of splitmix64 spreads neighbouring offsets over the whole range of seeds.
    mixed = (seed + (offset + 1) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return (mixed ^ (mixed >> 31)) & 0x7FFFFFFFFFFFFFFF


def seeded(function, facts: Facts, device: torch.device):
    """The function with a CPU generator in the place of the CUDA generator that the call names or means."""

    def call(*args, **kwargs):
        values = list(args)
        index = facts.arguments.index(facts.generator) if facts.generator else len(values)
        given = kwargs.get(facts.generator) if index >= len(values) else values[index]
        if given is None:
            torch.cuda.init()
            given = torch.cuda.default_generators[device.index or 0]
        elif given.device.type != "cuda":
            raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{given.device.type}'")
        seed = _next_seed(given)
        if facts.generator is None:
            return _with_default(seed, function, args, kwargs)
        stand_in = torch.Generator("cpu")
        stand_in.manual_seed(seed)
        if index < len(values):
            values[index] = stand_in
        else:
            kwargs = {**kwargs, facts.generator: stand_in}
        return function(*values, **kwargs)

    return call


def _with_default(seed: int, function, args: tuple, kwargs: dict):
    with _default:
        before = torch.default_generator.get_state()
        try:
            torch.default_generator.manual_seed(seed)
            return function(*args, **kwargs)
        finally:
            torch.default_generator.set_state(before)
