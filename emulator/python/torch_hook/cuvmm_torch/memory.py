# SPDX-License-Identifier: Apache-2.0
"""CPU tensors with the contents of the CUDA tensors of one call.

The copies are ordinary asynchronous copies on the current stream, so they come behind the work that the
stream has so far, also with `--streams=late`, and the emulator and the shim check them as any other copy.
"""

from __future__ import annotations

import torch

from . import originals, spans

_BYTE = torch.uint8


def _device_bytes(address: int, size: int, device: torch.device) -> torch.Tensor:
    storage = torch._C._construct_storage_from_data_pointer(address, device, size)
    return torch.empty(0, dtype=_BYTE, device=device).set_(storage, 0, (size,), (1,))


def _extent(tensor: torch.Tensor) -> int:
    return spans.extent(tensor.size(), tensor.stride(), tensor.element_size())


def upload(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A new CUDA tensor with the values, size and (if they name each element once) strides of a CPU tensor."""
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.numel() and _extent(tensor) != tensor.numel() * tensor.element_size():
        tensor = tensor.clone(memory_format=torch.preserve_format)
        if _extent(tensor) != tensor.numel() * tensor.element_size():
            tensor = tensor.contiguous()
    result = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=device)
    if tensor.numel():
        originals.copy(result, tensor, False)
    return result


class HostCopy:
    """The memory of some CUDA tensors of one device as host memory; tensors that overlap there overlap here.

    `read` makes the CPU's twin of each tensor, `write_back` copies twins that an operator changed.
    """

    def __init__(self, tensors: list[torch.Tensor]):
        self._device = tensors[0].device if tensors else None
        sized = [(tensor.data_ptr(), _extent(tensor), tensor.element_size()) for tensor in tensors]
        self._spans = spans.joined(sized)
        self._bytes: list[torch.Tensor] = []
        for first, end in self._spans:
            bytes_here = torch.empty(end - first, dtype=_BYTE, device="cpu")
            originals.copy(bytes_here, _device_bytes(first, end - first, self._device), False)
            self._bytes.append(bytes_here)

    def twin(self, tensor: torch.Tensor) -> torch.Tensor:
        """The CPU tensor of the same type, size, strides and contents."""
        twin = torch.empty(0, dtype=tensor.dtype, device="cpu")
        if _extent(tensor) == 0:
            twin = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")
        else:
            index = spans.owner(self._spans, tensor.data_ptr())
            offset = (tensor.data_ptr() - self._spans[index][0]) // tensor.element_size()
            twin.set_(self._bytes[index].untyped_storage(), offset, tensor.size(), tensor.stride())
        if tensor.is_conj():
            twin = torch._conj(twin)
        if tensor.is_neg():
            twin = torch._neg_view(twin)
        return twin

    def holds(self, twin: torch.Tensor) -> bool:
        """Whether the CPU tensor lies in memory of this object."""
        address = twin.untyped_storage().data_ptr()
        return any(address == held.data_ptr() for held in self._bytes)

    def address_of(self, twin: torch.Tensor) -> int:
        """The device address of the first element of a tensor for which holds() is true."""
        start = twin.untyped_storage().data_ptr()
        for (first, _), held in zip(self._spans, self._bytes):
            if held.data_ptr() == start:
                return first + twin.storage_offset() * twin.element_size()
        raise LookupError("not in this memory")

    def write_back(self, tensor: torch.Tensor) -> None:
        """Copies the bytes of the tensor's twin to the device."""
        size = _extent(tensor)
        if size == 0:
            return
        index = spans.owner(self._spans, tensor.data_ptr())
        start = tensor.data_ptr() - self._spans[index][0]
        # The source is pageable memory, which the copy has read when the call returns.
        originals.copy(_device_bytes(tensor.data_ptr(), size, self._device), self._bytes[index][start:start + size], True)
