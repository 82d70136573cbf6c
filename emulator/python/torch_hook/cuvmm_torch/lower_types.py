# SPDX-License-Identifier: Apache-2.0
"""Repeats an operator with a wider type, where the CPU has no kernel for a narrow one that a GPU has."""

from __future__ import annotations

import torch

from .schema import Facts

_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
_WIDER |= {getattr(torch, name): torch.float32 for name in dir(torch) if name.startswith("float8_")}
def lacks_the_type(error: Exception) -> bool:
    """Whether the operator has no code for the type of its arguments. A message about arguments whose types do not fit each
    other is a mistake of the program."""
    return any(words in str(error) for words in ("not implemented for", "FFT doesn't support tensors of type"))


def _has_narrow(value) -> bool:
    if isinstance(value, torch.Tensor):
        return value.dtype in _WIDER
    return isinstance(value, (list, tuple)) and any(_has_narrow(element) for element in value)


def retry(function, facts: Facts, args: tuple, kwargs: dict):
    """Calls the function on wider copies, rounds what it wrote and its results; raises the operator's own error if
    there is nothing to widen."""
    if not any(_has_narrow(value) for value in (*args, *kwargs.values())):
        return function(*args, **kwargs)
    wide: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def widened(value):
        if isinstance(value, torch.Tensor):
            if value.dtype not in _WIDER:
                return value
            if id(value) not in wide:
                wide[id(value)] = (value, value.to(_WIDER[value.dtype]))
            return wide[id(value)][1]
        if isinstance(value, (list, tuple)):
            return type(value)(widened(element) for element in value)
        return value

    wanted = _wanted_types(function, facts, args, kwargs)
    narrow_keywords = {name: value for name, value in kwargs.items() if name != "dtype"}
    results = function(*(widened(value) for value in args),
                       **{name: widened(value) for name, value in narrow_keywords.items()},
                       **({"dtype": _WIDER.get(kwargs["dtype"], kwargs["dtype"])} if kwargs.get("dtype") else {}))
    given = {id(wider): narrow for narrow, wider in wide.values()}
    for narrow, wider in wide.values():
        if narrow.size() != wider.size():
            narrow.resize_(wider.size())
        narrow.copy_(wider)
    lowest = next(narrow.dtype for narrow, _ in wide.values())
    return _narrowed(results, given, wanted, kwargs.get("dtype") or lowest)


def _wanted_types(function, facts: Facts, args: tuple, kwargs: dict) -> list[torch.dtype] | None:
    """The types of the results, by the operator's own rule; None if the rule needs values."""

    def meta(value):
        if isinstance(value, torch.Tensor):
            return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
        if isinstance(value, (list, tuple)):
            return type(value)(meta(element) for element in value)
        return torch.device("meta") if isinstance(value, torch.device) else value

    if not isinstance(function, torch._ops.OpOverload):
        return None
    try:
        results = function(*(meta(value) for value in args), **{name: meta(value) for name, value in kwargs.items()})
    except Exception:  # noqa: BLE001 - a rule that needs values or does not exist raises anything
        return None
    results = results if isinstance(results, (list, tuple)) else (results,)
    return [result.dtype if isinstance(result, torch.Tensor) else None for result in results]


def _narrowed(results, given: dict[int, torch.Tensor], wanted: list | None, lowest: torch.dtype):
    if isinstance(results, (list, tuple)):
        return tuple(_narrowed(one, given, wanted and [wanted[index]] if index < len(wanted or ()) else None, lowest)
                     for index, one in enumerate(results))
    if not isinstance(results, torch.Tensor):
        return results
    if id(results) in given:
        return given[id(results)]
    kind = wanted[0] if wanted else None
    if kind is None:
        kind = lowest if results.dtype == _WIDER.get(lowest) else results.dtype
        if lowest == torch.float16 and results.dtype == torch.complex64:
            kind = torch.complex32
    return results.to(kind)
