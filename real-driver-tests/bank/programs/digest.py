# SPDX-License-Identifier: Apache-2.0
"""One short text for all outputs of a program: two texts are equal if and only if the bytes of the outputs are."""

import hashlib


def of(value) -> str:
    """The digest of numbers, texts, tensors and arrays of any library, and of lists, tuples and dicts of these."""
    digest = hashlib.sha256()
    _add(digest, value)
    return digest.hexdigest()[:16]


def _add(digest, value) -> None:
    if isinstance(value, dict):
        for key in sorted(value):
            _add(digest, key)
            _add(digest, value[key])
    elif isinstance(value, (list, tuple)):
        digest.update(b"[")
        for one in value:
            _add(digest, one)
        digest.update(b"]")
    elif isinstance(value, (str, int, float, bool, type(None))):
        digest.update(repr(value).encode())
    elif hasattr(value, "detach"):  # a tensor, of a type that numpy may not have
        import torch

        # (One element that was cut out of more is contiguous, and keeps a stride that no view takes.)
        plain = torch.empty(value.numel(), dtype=value.dtype).copy_(value.detach().reshape(-1))
        digest.update(f"{tuple(value.shape)} {value.dtype}".encode())
        digest.update(plain.view(torch.uint8).numpy().tobytes())
    else:
        import numpy

        plain = value.get() if hasattr(value, "get") else numpy.asarray(value)  # CuPy's arrays have get()
        digest.update(f"{plain.shape} {plain.dtype}".encode())
        digest.update(numpy.ascontiguousarray(plain).tobytes())
