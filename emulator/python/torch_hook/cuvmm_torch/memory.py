# SPDX-License-Identifier: Apache-2.0
"""CPU tensors with the contents of the CUDA tensors of one call.

The copies are ordinary copies on the current stream, so they come behind the work that the stream has so
far, also with `--streams=late`, and the emulator and the shim check them as any other copy.
"""

from __future__ import annotations

import torch

from . import layouts, originals, spans

_BYTE = torch.uint8


def _device_bytes(address: int, size: int, device: torch.device) -> torch.Tensor:
    storage = torch._C._construct_storage_from_data_pointer(address, device, size)
    return torch.empty(0, dtype=_BYTE, device=device).set_(storage, 0, (size,), (1,))


def _extent(tensor: torch.Tensor) -> int:
    return spans.extent(tensor.size(), tensor.stride(), tensor.element_size())


class Copies:
    """Copies bytes between CPU tensors and device memory, now, on the current stream."""

    def to_host(self, host: torch.Tensor, address: int, device: torch.device) -> None:
        """Fills `host`, which has bytes, from the address; waits for the stream."""
        originals.copy(host, _device_bytes(address, host.numel(), device), False)

    def to_device(self, address: int, device: torch.device, host: torch.Tensor) -> None:
        """Copies the bytes of `host`, pageable memory, which the driver has read when the call returns."""
        originals.copy(_device_bytes(address, host.numel(), device), host, True)


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a CPU tensor from its first element to its last."""
    start = tensor.storage_offset() * tensor.element_size()
    return torch.empty(0, dtype=_BYTE, device="cpu").set_(tensor.untyped_storage(), start, (_extent(tensor),), (1,))


def fill(target: torch.Tensor, tensor: torch.Tensor, copies: Copies) -> None:
    """Copies a CPU tensor to a CUDA tensor of the same type, size and strides."""
    if tensor.numel():
        copies.to_device(target.data_ptr(), target.device, as_bytes(tensor))


def upload(tensor: torch.Tensor, device: torch.device, copies: Copies) -> torch.Tensor:
    """A new CUDA tensor with the values, size and (if they name each element once) strides of a CPU tensor."""
    if not layouts.is_plain(tensor):
        return layouts.rebuilt(tensor, lambda part: upload(part, device, copies))
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.numel() and _extent(tensor) != tensor.numel() * tensor.element_size():
        tensor = tensor.clone(memory_format=torch.preserve_format)
        if _extent(tensor) != tensor.numel() * tensor.element_size():
            tensor = tensor.contiguous()
    result = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=device)
    fill(result, tensor, copies)
    return result


class HostCopy:
    """The memory of some CUDA tensors of one device as host memory; tensors that overlap there overlap here.

    `read` makes the CPU's twin of each tensor, `write_back` copies twins that an operator changed.
    """

    def __init__(self, tensors: list[torch.Tensor], copies: Copies):
        self._device = tensors[0].device
        self._copies = copies
        sized = [(tensor.data_ptr(), _extent(tensor), tensor.element_size()) for tensor in tensors]
        self._spans = spans.joined(sized)
        self._bytes: list[torch.Tensor] = []
        self._owners: dict[int, torch.UntypedStorage] = {}  # by the index of the span: the first storage there
        for first, end in self._spans:
            bytes_here = torch.empty(end - first, dtype=_BYTE, device="cpu")
            copies.to_host(bytes_here, first, self._device)
            self._bytes.append(bytes_here)

    def twin(self, tensor: torch.Tensor) -> torch.Tensor:
        """The CPU tensor of the same type, size, strides and contents."""
        twin = torch.empty(0, dtype=tensor.dtype, device="cpu")
        if _extent(tensor) == 0:
            twin = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")
        else:
            index = spans.owner(self._spans, tensor.data_ptr())
            offset = (tensor.data_ptr() - self._spans[index][0]) // tensor.element_size()
            twin.set_(*self._place(tensor, index, offset), tensor.size(), tensor.stride())
        if tensor.is_conj():
            twin = torch._conj(twin)
        if tensor.is_neg():
            twin = torch._neg_view(twin)
        return twin

    def _place(self, tensor: torch.Tensor, index: int, offset: int) -> tuple[torch.UntypedStorage, int]:
        """The storage and offset of a twin. Storages of the device that overlap stay different storages, because PyTorch
        refuses operators whose arguments overlap only if they have one storage."""
        first, end = self._spans[index]
        owner = self._owners.setdefault(index, tensor.untyped_storage())
        if owner._cdata == tensor.untyped_storage()._cdata:
            return self._bytes[index].untyped_storage(), offset
        start = max(first, tensor.untyped_storage().data_ptr())
        host = self._bytes[index].data_ptr() + start - first
        storage = torch._C._construct_storage_from_data_pointer(host, torch.device("cpu"), end - start)
        return storage, (tensor.data_ptr() - start) // tensor.element_size()

    def holds(self, twin: torch.Tensor) -> bool:
        """Whether the CPU tensor lies in memory of this object."""
        address = twin.data_ptr()
        return any(held.data_ptr() <= address < held.data_ptr() + held.numel() for held in self._bytes)

    def address_of(self, twin: torch.Tensor) -> int:
        """The device address of the first element of a tensor for which holds() is true."""
        for (first, _), held in zip(self._spans, self._bytes):
            if 0 <= twin.data_ptr() - held.data_ptr() < held.numel():
                return first + twin.data_ptr() - held.data_ptr()
        raise LookupError("not in this memory")

    def write_back(self, tensor: torch.Tensor) -> None:
        """Copies the bytes of the tensor's twin to the device."""
        size = _extent(tensor)
        if size == 0:
            return
        index = spans.owner(self._spans, tensor.data_ptr())
        start = tensor.data_ptr() - self._spans[index][0]
        self._copies.to_device(tensor.data_ptr(), self._device, self._bytes[index][start:start + size])
