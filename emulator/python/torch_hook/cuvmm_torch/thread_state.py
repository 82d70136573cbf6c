# SPDX-License-Identifier: Apache-2.0
"""The dispatcher's state of a thread: that in which PyTorch records gradients, and back."""

from __future__ import annotations

import contextlib

import torch

# As a thread of its own begins: no key is included or excluded by a guard.
_INCLUDED = torch._C._dispatch_tls_local_include_set()
_EXCLUDED = torch._C._dispatch_tls_local_exclude_set()


@contextlib.contextmanager
def recording_gradients():
    """Within it CPU tensors record gradients, although a kernel runs below autograd."""
    with torch.inference_mode(False), torch._C._ForceDispatchKeyGuard(_INCLUDED, _EXCLUDED), torch.enable_grad():
        yield
