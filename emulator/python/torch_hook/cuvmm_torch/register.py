# SPDX-License-Identifier: Apache-2.0
"""Registers the kernels of this package with PyTorch's dispatcher, in the place of its CUDA kernels.

They stand below autograd, autocast, functorch and the program's own modes, so all of these see what they see
on a GPU, in every thread.
"""

from __future__ import annotations

import warnings

import torch

from . import attention, compute, cudnn, graphs, layouts, originals, recurrent, stand_ins  # noqa: F401 - some register stand-ins
from .schema import facts_of

# PyTorch's kernels of these operators work here: they make memory, name it differently, or copy it.
_WORKING = frozenset((
    "empty.memory_format", "empty_strided", "_efficientzerotensor", "set_", "set_.source_Storage",
    "set_.source_Storage_storage_offset", "set_.source_Tensor", "resize_", "_resize_output_", "resize_as_", "as_strided_",
    "record_stream", "_local_scalar_dense", "is_set_to", "_lazy_clone", "_pin_memory", "is_pinned",
    "_nested_view_from_buffer", "_nested_from_padded",
))
# The CUDA part of these operators is chosen inside of kernels that all devices share.
_SHARED = ("copy_", "convolution", "convolution_backward", "_convolution")

_libraries: list = []  # a library's kernels are unregistered when it dies


def _overload(name: str):
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


def _to_replace() -> list[str]:
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name for name in torch._C._dispatch_get_all_op_names()
             if name.startswith("aten::") and name.removeprefix("aten::") not in _WORKING and has(name, "CUDA")]
    return names + [f"aten::{name}" for name in _SHARED if f"aten::{name}" not in names]


def install() -> int:
    """Replaces PyTorch's CUDA kernels; returns their number."""
    has_for_cpu = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    library = torch.library.Library("aten", "IMPL")
    _libraries.append(library)
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each registration warns that it replaces a kernel
        for name in _to_replace():
            operator = _overload(name)
            facts = facts_of(operator)
            if facts.view:
                continue
            computed = has_for_cpu(name, "CPU")
            kept = computed or stand_ins.of(name) or stand_ins.of_device(name) or originals.keep(name)
            if not kept:
                continue  # nothing to do instead, and no way to call the original afterwards
            library.impl(name.removeprefix("aten::"), compute.kernel(operator, facts, computed), "CUDA", allow_override=True)
            count += 1
        count += _install_layouts(library)
        recurrent.replace_networks(library)
    graphs.follow_graphs()
    graphs.sleep_without_a_kernel()
    return count


def _install_layouts(library) -> int:
    """Replaces the kernels for sparse and quantised tensors."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    count = 0
    for name in torch._C._dispatch_get_all_op_names():
        base = name.removeprefix("aten::")
        if base == name or base in layouts.WORKING:
            continue
        for key, of_cpu in layouts.KEYS.items():
            if has(name, key) and has(name, of_cpu):
                operator = _overload(name)
                facts = facts_of(operator)
                if not facts.view:
                    library.impl(base, compute.kernel(operator, facts, True), key, allow_override=True)
                    count += 1
    return count
