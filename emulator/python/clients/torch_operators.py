# SPDX-License-Identifier: Apache-2.0
"""Runs the operators of PyTorch's own database (op_db) on the device and on the CPU, forward and backward, and compares
the results with each other, and the failures with torch_known_failures.txt.

For a process that check.py starts. Exit code 1 when an operator fails that the list lacks, 77 where the database or a
module that it imports is missing.

usage: torch_operators.py [--samples N] [--shard I/N] [--dtype TYPE] [NAME...]
"""

import argparse
import dataclasses
import pathlib
import sys
import warnings

import torch
from torch.utils import _pytree

HERE = pathlib.Path(__file__).resolve().parent
EQUAL, CLOSE = "", "close"


@dataclasses.dataclass
class Outcome:
    samples: int = 0
    close: int = 0  # samples with other last digits
    faults: list[str] = dataclasses.field(default_factory=list)


def known_failures() -> dict[str, str]:
    lines = (HERE / "torch_known_failures.txt").read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def moved(value, device: str):
    """The arguments on a device; a tensor that is a part of its memory stays one."""

    def move(one):
        if isinstance(one, torch.Tensor):
            tensor = one.detach()
            if tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_conj() and not tensor.is_neg() \
                    and tensor.untyped_storage().nbytes() > tensor.numel() * tensor.element_size():
                whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
                result = whole.to(device, copy=True).as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
            else:
                result = tensor.to(device, copy=True)
            return result.requires_grad_(one.requires_grad)
        if isinstance(one, torch.device) or one in ("cpu", "cuda"):
            return device
        return one

    return _pytree.tree_map(move, value)


def difference(here, there) -> str:
    """EQUAL, CLOSE, or in which way two results differ."""
    first, second = _pytree.tree_leaves(here), _pytree.tree_leaves(there)
    if len(first) != len(second):
        return f"{len(second)} results, not {len(first)}"
    result = EQUAL
    for one, other in zip(first, second):
        if isinstance(one, torch.Tensor):
            if not isinstance(other, torch.Tensor) or one.layout != other.layout or one.dtype != other.dtype:
                return "a result has another type"
            one, other = one.detach(), other.detach().cpu()
            if one.is_quantized:
                one, other = one.dequantize(), other.dequantize()
            elif one.layout != torch.strided:
                one, other = one.to_dense(), other.to_dense()
            for kind, settings in ((EQUAL, {"rtol": 0, "atol": 0}), (CLOSE, {})):
                try:
                    torch.testing.assert_close(other, one, equal_nan=True, **settings)
                    result = max(result, kind)
                    break
                except AssertionError as error:
                    found = str(error).splitlines()
            else:
                return " ".join(found)[:160]
        elif isinstance(one, (int, float, complex, str)) and one != other and one == one:  # the last is false for NaN
            return f"{other}, not {one}"
    return result


def alike(here, there) -> str:
    """For operators whose values are random or undefined: whether the tensors have the same form."""
    forms = [[(leaf.dtype, leaf.size()) for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
             for value in (here, there)]
    return EQUAL if forms[0] == forms[1] else "a result has another form"


def call(operator, sample, device: str):
    given = moved((sample.input, sample.args, sample.kwargs), device)
    torch.manual_seed(0)
    return operator.op(given[0], *given[1], **given[2]), given


def gradients(result, given):
    leaves = [leaf for leaf in _pytree.tree_leaves(given) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    outputs = [leaf for leaf in _pytree.tree_leaves(result)
               if isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.layout == torch.strided]
    if not leaves or not outputs:
        return None
    return list(torch.autograd.grad([one.abs().sum() if one.is_complex() else one.sum() for one in outputs], leaves, allow_unused=True))


def quietly(function, *args):
    """The result of a function and None, or None and its error."""
    try:
        return function(*args), None
    except Exception as error:  # noqa: BLE001 - an operator may raise anything
        return None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:160]


def try_sample(operator, sample, compare, outcome: Outcome) -> None:
    expected, error = quietly(call, operator, sample, "cpu")
    if error:
        return  # the CPU does not have it
    outcome.samples += 1
    found, error = quietly(call, operator, sample, "cuda")
    if error:
        outcome.faults.append(error)
        return
    seen = compare(expected[0], found[0])
    wanted, error = quietly(gradients, *expected)
    if seen in (EQUAL, CLOSE) and wanted is not None:
        got, error = quietly(gradients, *found)
        backward = error or compare(wanted, got)
        seen = backward if backward not in (EQUAL, CLOSE) else max(seen, backward)
    if seen == CLOSE:
        outcome.close += 1
    elif seen != EQUAL:
        outcome.faults.append(seen)


def try_operator(operator, dtype, samples: int, undefined: bool) -> Outcome:
    outcome = Outcome()
    given, error = quietly(lambda: list(operator.sample_inputs("cpu", dtype, requires_grad=operator.supports_autograd
                                                               and (dtype.is_floating_point or dtype.is_complex))))
    for sample in (given or [])[:samples]:
        try_sample(operator, sample, alike if undefined else difference, outcome)
    return outcome


def type_for(operator, wanted: str):
    types = [getattr(torch, wanted), torch.float32, torch.complex64, torch.int64, *sorted(operator.dtypes, key=str)]
    return next(one for one in types if one in operator.dtypes) if operator.dtypes else torch.float32


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ModuleNotFoundError as missing:
        print(f"skipped: {missing}")
        return 77
    shard, shards = map(int, options.shard.split("/"))
    known, counts, unknown = known_failures(), {"equal": 0, "close": 0, "undefined": 0, "failed": 0, "not on the CPU": 0}, []
    for operator in op_db[shard - 1::shards]:
        name = operator.name + (f".{operator.variant_test_name}" if operator.variant_test_name else "")
        if options.names and name not in options.names:
            continue
        undefined = known.get(name, "").startswith(("random", "undefined"))
        outcome = try_operator(operator, type_for(operator, options.dtype), options.samples, undefined)
        kind = "failed" if outcome.faults else "not on the CPU" if not outcome.samples else \
            "undefined" if undefined else "close" if outcome.close else "equal"
        counts[kind] += 1
        for fault in sorted(set(outcome.faults))[:2]:
            print(f"{name}: {fault}", flush=True)
        if outcome.faults and (name not in known or undefined):
            unknown.append(name)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if unknown:
        print("fail, and are not known to:", *unknown)
    return 1 if unknown or not counts["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
