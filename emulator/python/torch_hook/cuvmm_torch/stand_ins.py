# SPDX-License-Identifier: Apache-2.0
"""Functions of CPU tensors in the place of operators that only CUDA has, or that the CPU has in another form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch

aten = torch.ops.aten


@dataclasses.dataclass(frozen=True)
class StandIn:
    function: Callable
    exact: bool  # the result is that of the CPU's operator for the same computation
    random: Callable | None  # whether a call with these arguments draws random numbers; None: its schema says it


_all: dict[str, StandIn] = {}
_of_device: dict[str, Callable] = {}


def of(name: str) -> StandIn | None:
    return _all.get(name)


def of_device(name: str) -> Callable | None:
    return _of_device.get(name)


def stands_in(*operators: str, exact: bool = True, random: Callable | None = None):
    """Registers a function for the operators "aten::...". It has their arguments, as CPU tensors."""

    def register(function: Callable) -> Callable:
        for operator in operators:
            _all[operator] = StandIn(function, exact, random)
        return function

    return register


def on_device(operator: str):
    """Registers a function that gets the CUDA tensors themselves."""

    def register(function: Callable) -> Callable:
        _of_device[operator] = function
        return function

    return register


def decomposition(operator) -> Callable | None:
    """PyTorch's own description of the operator by simpler ones, in Python; None if there is none."""
    from torch._decomp import decomposition_table

    return decomposition_table.get(operator)


@stands_in("aten::_softmax")
def _softmax(tensor, dim, half_to_float):
    return aten._softmax(tensor.float() if half_to_float else tensor, dim, False)


@stands_in("aten::_softmax.out")
def _softmax_out(tensor, dim, half_to_float, *, out):
    return aten._softmax.out(tensor.float() if half_to_float else tensor, dim, False, out=out)


@stands_in("aten::_log_softmax")
def _log_softmax(tensor, dim, half_to_float):
    return aten._log_softmax(tensor.float() if half_to_float else tensor, dim, False)


@stands_in("aten::_log_softmax.out")
def _log_softmax_out(tensor, dim, half_to_float, *, out):
    return aten._log_softmax.out(tensor.float() if half_to_float else tensor, dim, False, out=out)


@stands_in("aten::_softmax_backward_data")
def _softmax_backward(grad, output, dim, kind):
    return aten._softmax_backward_data(grad, output, dim, grad.dtype).to(kind)


@stands_in("aten::_log_softmax_backward_data")
def _log_softmax_backward(grad, output, dim, kind):
    return aten._log_softmax_backward_data(grad, output, dim, grad.dtype).to(kind)


@stands_in("aten::_use_cudnn_ctc_loss", "aten::_use_cudnn_ctc_loss.Tensor", "aten::_use_miopen_ctc_loss",
           "aten::_use_miopen_ctc_loss.Tensor")
def _no_other_library(*_args, **_keywords):
    return False


@stands_in("aten::mm.dtype")
def _mm_dtype(left, right, kind):
    return aten.mm(left.to(kind), right.to(kind))


@stands_in("aten::bmm.dtype")
def _bmm_dtype(left, right, kind):
    return aten.bmm(left.to(kind), right.to(kind))


@stands_in("aten::addmm.dtype")
def _addmm_dtype(added, left, right, kind, *, beta=1, alpha=1):
    return aten.addmm(added.to(kind), left.to(kind), right.to(kind), beta=beta, alpha=alpha)


@stands_in("aten::baddbmm.dtype")
def _baddbmm_dtype(added, left, right, kind, *, beta=1, alpha=1):
    return aten.baddbmm(added.to(kind), left.to(kind), right.to(kind), beta=beta, alpha=alpha)


@stands_in("aten::_masked_scale")
def _masked_scale(tensor, mask, scale):
    return tensor * mask.to(tensor.dtype) * scale


@stands_in("aten::_fused_dropout", exact=False)
def _fused_dropout(tensor, p, generator=None):
    mask = torch.empty_like(tensor, dtype=torch.uint8).bernoulli_(p, generator=generator)
    return tensor * mask.to(tensor.dtype) / p, mask


@stands_in("aten::native_dropout_backward")
def _dropout_backward(grad, mask, scale):
    return aten.native_dropout_backward(grad, mask, scale)
