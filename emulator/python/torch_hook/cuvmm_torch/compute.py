# SPDX-License-Identifier: Apache-2.0
"""Computes an operator with CUDA tensors by the CPU's operator on copies of them."""

from __future__ import annotations

import functools

import torch

from . import generators, graphs, layouts, lower_types, originals, spans, stand_ins
from .fidelity import APPROXIMATE, EXACT, of_this_process
from .memory import Copies, HostCopy, fill, upload
from .schema import Facts

# Operators that take tensors of several devices; of other operators PyTorch's own kernels refuse
# them, so that a program with that mistake must not pass here.
_MIXED = ("aten::copy_", "aten::_foreach_copy_", "aten::index", "aten::_index_put", "aten::_unsafe_index",
          "aten::_fused_", "aten::_amp_", "aten::_pack_padded", "aten::_cudnn_rnn", "aten::lift", "aten::_to_copy",
          "aten::_ctc_loss", "aten::_use_", "aten::segment_reduce", "aten::_segment_reduce", "aten::_scaled_dot_product",
          "aten::_flash_attention", "aten::_efficient_attention", "aten::_embedding_bag", "aten::set_")


class Call:
    """One call of an operator: its arguments here, and their twins for the CPU."""

    def __init__(self, facts: Facts, args: tuple, kwargs: dict, copies: Copies):
        self.facts = facts
        self._how = copies
        self._tensors: list[torch.Tensor] = []  # the CUDA tensors among the arguments
        self._written: list[torch.Tensor] = []  # those that the operator may change
        self._here: list[torch.Tensor] = []  # the CPU tensors with dimensions
        self.has_numbers = False  # a number stands for a tensor; PyTorch unwraps it before it calls Python
        self.device: torch.device | None = None
        for name, value in self._named(args, kwargs):
            self._collect(value, name in facts.written)
            self.has_numbers |= name in facts.tensors and isinstance(value, (int, float, complex))
        if self._tensors:
            self.device = self._tensors[0].device
        self._refuse_mixed()
        by_device: dict[torch.device, list[torch.Tensor]] = {}
        for tensor in self._tensors:
            by_device.setdefault(tensor.device, []).append(tensor)
        self._copies = {device: HostCopy(tensors, copies) for device, tensors in by_device.items()}
        self._twins: dict[int, torch.Tensor] = {}  # by the id of the CUDA tensor
        self._origins: dict[int, torch.Tensor] = {}  # by the id of the twin
        self.args = tuple(self._for_cpu(value) for value in args)
        self.kwargs = {name: self._for_cpu(value) for name, value in kwargs.items()}

    def _named(self, args: tuple, kwargs: dict):
        yield from zip(self.facts.arguments, args)
        yield from kwargs.items()

    def _collect(self, value, written: bool) -> None:
        if isinstance(value, torch.Tensor):
            if value.device.type == "cuda":
                self._tensors += [value] if layouts.is_plain(value) else layouts.parts(value)
                if written:
                    self._written.append(value)
            elif value.dim() > 0:
                self._here.append(value)
        elif isinstance(value, (list, tuple)):
            for element in value:
                self._collect(element, written)
        elif isinstance(value, torch.device) and value.type == "cuda" and self.device is None:
            index = torch.cuda.current_device() if value.index is None else value.index
            self.device = torch.device("cuda", index)

    def _refuse_mixed(self) -> None:
        if self.facts.name.startswith(_MIXED):
            return
        devices = sorted({str(tensor.device) for tensor in self._tensors} | {str(tensor.device) for tensor in self._here})
        if self._tensors and len(devices) > 1:
            raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                               f"{devices[-1]} and {devices[0]}!")

    def _for_cpu(self, value):
        if isinstance(value, torch.Tensor):
            if value.device.type != "cuda":
                return value
            twin = self._twins.get(id(value))
            if twin is None:
                copy = self._copies[value.device]
                twin = copy.twin(value) if layouts.is_plain(value) else layouts.rebuilt(value, copy.twin)
                self._twins[id(value)] = twin
                self._origins[id(twin)] = value
            return twin
        if isinstance(value, (list, tuple)):
            return type(value)(self._for_cpu(element) for element in value)
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        return value

    def write_back(self) -> None:
        """Copies to the device what the operator may have changed."""
        for tensor in self._written:
            twin = self._twins[id(tensor)]
            if not layouts.is_plain(tensor):
                tensor.data = upload(twin, tensor.device, self._how)
            elif twin.size() == tensor.size() and twin.stride() == tensor.stride() and self._same_place(tensor, twin):
                self._copies[tensor.device].write_back(tensor)
            else:  # the operator resized its output
                tensor.resize_(twin.size())
                if twin.numel():
                    if twin.stride() != tensor.stride():
                        tensor.resize_(spans.extent(twin.size(), twin.stride(), 1))
                        tensor.as_strided_(twin.size(), twin.stride())
                    fill(tensor, twin, self._how)

    def _same_place(self, tensor: torch.Tensor, twin: torch.Tensor) -> bool:
        if tensor.numel() == 0:
            return True
        copy = self._copies[tensor.device]
        return copy.holds(twin) and copy.address_of(twin) == tensor.data_ptr()

    def results(self, results):
        """The results of the CPU's operator as the caller expects them: its own arguments, or new CUDA tensors."""
        if isinstance(results, torch.Tensor):
            return self._result(results)
        if isinstance(results, (list, tuple)):
            return type(results)(self.results(one) for one in results) if type(results) in (list, tuple) else \
                tuple(self.results(one) for one in results)
        return results

    def _result(self, result: torch.Tensor) -> torch.Tensor:
        origin = self._origins.get(id(result))
        if origin is not None:
            return origin
        if self.device is None or result.device.type != "cpu":
            return result
        if layouts.is_plain(result) and result.numel():
            for device, copy in self._copies.items():
                if copy.holds(result):  # the operator returned a view of an argument
                    return self._view(result, copy.address_of(result), device)
        return upload(result, self.device, self._how)

    def _view(self, result: torch.Tensor, address: int, device: torch.device) -> torch.Tensor:
        for tensor in self._tensors:
            if tensor.device == device and tensor.dtype == result.dtype:
                storage = tensor.untyped_storage()
                offset = address - storage.data_ptr()
                if 0 <= offset < storage.nbytes() and offset % result.element_size() == 0:
                    return tensor.as_strided(result.size(), result.stride(), offset // result.element_size())
        return upload(result, device, self._how)


class _Guards:
    """Keeps modes of the program, autograd and autocast away from the work that this package does itself."""

    def __enter__(self):
        self._all = [torch._C.DisableTorchFunction(), torch._C._AutoDispatchBelowAutograd()]
        if torch.is_autocast_enabled("cpu"):
            self._all.append(torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)))
        for guard in self._all:
            guard.__enter__()

    def __exit__(self, *error):
        for guard in reversed(self._all):
            guard.__exit__(*error)


_direct = Copies()


def _function(operator, facts: Facts, has_cpu_kernel: bool, device: torch.device | None, args: tuple, kwargs: dict):
    """The function of CPU tensors that computes the operator, and how exactly; None if there is none."""
    stand_in = stand_ins.of(facts.name)
    function = stand_in.function if stand_in else operator if has_cpu_kernel else stand_ins.decomposition(operator)
    exact = stand_in.exact if stand_in else has_cpu_kernel
    random = stand_in.random(*args, **kwargs) if stand_in and stand_in.random else facts.random
    if function is not None and random and device is not None:
        return generators.seeded(function, facts, device), APPROXIMATE
    return function, EXACT if exact else APPROXIMATE


def _apply(function, kind: str, facts: Facts, args: tuple, kwargs: dict):
    try:
        return function(*args, **kwargs), kind
    except (RuntimeError, NotImplementedError) as error:
        if not lower_types.lacks_the_type(error):
            raise
        return lower_types.retry(function, facts, args, kwargs), APPROXIMATE


def run(operator, facts: Facts, has_cpu_kernel: bool, *args, **kwargs):
    """The kernel of an operator for CUDA tensors."""
    with _Guards():
        capture = graphs.current()
        if capture and facts.waits:
            raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing ({facts.name})")
        call = Call(facts, args, kwargs, capture or _direct)
        function, kind = _function(operator, facts, has_cpu_kernel, call.device, args, kwargs)
        if function is None:
            return _skip(facts, args, kwargs)
        if call.has_numbers and function is operator:
            function = operator.overloadpacket  # finds the overload for a number
        results, kind = _apply(function, kind, facts, call.args, call.kwargs)
        if capture:
            # Without the call, because that has the CUDA tensors, whose memory a graph does not own.
            twins, keywords = call.args, call.kwargs
            capture.repeat(lambda: _apply(function, kind, facts, twins, keywords)[0], results, facts.name)
        call.write_back()
        of_this_process.count(kind, facts.name)
        return call.results(results)


def _skip(facts: Facts, args: tuple, kwargs: dict):
    of_this_process.skip(facts.name, "PyTorch's CPU part does not have this operator")
    return originals.call(facts.name, *args, **kwargs)


def _plain(target: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether a copy moves bytes only."""
    if target.layout != torch.strided or source.layout != torch.strided or target.numel() == 0:
        return True
    return (target.dtype == source.dtype and target.size() == source.size()
            and target.is_conj() == source.is_conj() and target.is_neg() == source.is_neg()
            and (target.numel() == 1 or target.stride() == source.stride() and spans.dense(target.size(), target.stride())))


def _copy(operator, facts: Facts, target: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """The kernel of aten::copy_: the driver does plain copies, the CPU those that change the type or the layout."""
    if _plain(target, source):
        return originals.copy(target, source, non_blocking)
    return run(operator, facts, True, target, source, non_blocking)


def kernel(operator, facts: Facts, has_cpu_kernel: bool):
    """The function to register for the operator."""
    if (own := stand_ins.of_device(facts.name)) is not None:
        return own
    if facts.name == "aten::copy_":
        return functools.partial(_copy, operator, facts)
    return functools.partial(run, operator, facts, has_cpu_kernel)
