# SPDX-License-Identifier: Apache-2.0
"""Sparse and quantised tensors as their dense parts, from which a tensor on another device is put together."""

from __future__ import annotations

from collections.abc import Callable

import torch

_COMPRESSED_ROWS = (torch.sparse_csr, torch.sparse_bsr)

# The dispatcher's keys of these tensors, each with the key of its CPU kernels.
KEYS = {"SparseCUDA": "SparseCPU", "SparseCsrCUDA": "SparseCsrCPU", "QuantizedCUDA": "QuantizedCPU"}

# Operators at these keys that ask for the parts, make tensors of them, or copy them: PyTorch's kernels work here.
WORKING = frozenset((
    "_indices", "_values", "indices", "values", "crow_indices", "col_indices", "ccol_indices", "row_indices", "is_coalesced",
    "_coalesced_", "sparse_dim", "dense_dim", "_dimI", "_dimV", "_nnz", "sparse_resize_", "sparse_resize_and_clear_",
    "_sparse_coo_tensor_with_dims", "_sparse_coo_tensor_with_dims_and_tensors", "_sparse_compressed_tensor_with_dims",
    "empty.memory_format", "empty_like", "resize_", "resize_as_sparse_", "copy_", "copy_sparse_to_sparse_", "clone", "q_scale",
    "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis", "qscheme",
    "_empty_affine_quantized", "_empty_per_channel_affine_quantized", "set_.source_Storage", "as_strided", "view",
    "set_.source_Storage_storage_offset", "empty_strided", "_reshape_alias", "detach",
))


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether the tensor is strided and not quantised."""
    return tensor.layout == torch.strided and not tensor.is_quantized


def parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The plain tensors in a tensor that is not plain."""
    if tensor.layout == torch.sparse_coo:
        return tensor._indices(), tensor._values()
    if tensor.is_quantized:
        size = tensor.numel() * tensor.element_size()
        raw = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        whole = tensor if tensor.is_contiguous() else tensor.contiguous()
        raw.set_(whole.untyped_storage(), whole.storage_offset() * whole.element_size(), (size,), (1,))
        if tensor.qscheme() == torch.per_tensor_affine:
            return (raw,)
        return raw, tensor.q_per_channel_scales(), tensor.q_per_channel_zero_points()
    if tensor.layout in _COMPRESSED_ROWS:
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    return tensor.ccol_indices(), tensor.row_indices(), tensor.values()


def rebuilt(tensor: torch.Tensor, elsewhere: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The tensor with each of its parts replaced by elsewhere(part), on another device."""
    pieces = [elsewhere(part) for part in parts(tensor)]
    if tensor.layout == torch.sparse_coo:
        return torch.ops.aten._sparse_coo_tensor_unsafe(*pieces, tensor.size(), dtype=tensor.dtype, device=pieces[1].device,
                                               is_coalesced=tensor.is_coalesced())
    if not tensor.is_quantized:
        return torch.ops.aten._sparse_compressed_tensor_unsafe(*pieces, tensor.size(), dtype=tensor.dtype, layout=tensor.layout,
                                                      device=pieces[2].device)
    kind = {"dtype": tensor.dtype, "device": pieces[0].device}
    if tensor.qscheme() == torch.per_tensor_affine:
        result = torch._empty_affine_quantized(tensor.size(), scale=tensor.q_scale(), zero_point=tensor.q_zero_point(), **kind)
    else:
        result = torch._empty_per_channel_affine_quantized(tensor.size(), scales=pieces[1], zero_points=pieces[2],
                                                           axis=tensor.q_per_channel_axis(), **kind)
    raw = torch.empty(0, dtype=torch.uint8, device=result.device)
    raw.set_(result.untyped_storage(), 0, (pieces[0].numel(),), (1,)).copy_(pieces[0])
    return result
