# SPDX-License-Identifier: Apache-2.0
"""scaled_dot_product_attention: CUDA's fused operators, by the CPU's fused operator."""

from __future__ import annotations

import torch

from .stand_ins import on_device, stands_in
from .thread_state import recording_gradients

aten = torch.ops.aten
_MATH, _FLASH, _EFFICIENT = 0, 1, 2  # at::SDPBackend


@on_device("aten::_fused_sdp_choice")
def _choice(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    """The choice of the CPU for tensors of this shape. Its fused operator stands behind the memory-efficient one of CUDA,
    which takes masks as well."""
    if enable_gqa or any(tensor.is_nested for tensor in (query, key, value)):
        return _MATH

    def alike(tensor):
        if tensor is None or tensor.device.type != "cuda":
            return tensor
        empty = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")
        return empty.requires_grad_(tensor.requires_grad and empty.is_floating_point())

    with torch._C.DisableTorchFunction():
        chosen = aten._fused_sdp_choice(alike(query), alike(key), alike(value), alike(attn_mask), dropout_p, is_causal,
                                        scale=scale, enable_gqa=enable_gqa)
    return _EFFICIENT if chosen == _FLASH else chosen


def _attend(query, key, value, bias, dropout_p, is_causal, scale):
    if dropout_p > 0:
        raise NotImplementedError("cuvmm: fused attention with dropout is not computed; select SDPBackend.MATH")
    return aten._scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p, is_causal, attn_mask=bias, scale=scale)


def _drops(*args, **kwargs) -> bool:
    return any(isinstance(value, float) and value > 0 for value in args[3:])  # the one float is the probability


def _number():
    return torch.zeros((), dtype=torch.int64, device="cpu")


@stands_in("aten::_scaled_dot_product_efficient_attention", random=_drops)
def _efficient(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    output, logsumexp = _attend(query, key, value, attn_bias, dropout_p, is_causal, scale)
    return output, logsumexp, _number(), _number()


@stands_in("aten::_scaled_dot_product_efficient_attention_backward", random=_drops)
def _efficient_backward(grad, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
                        grad_input_mask, is_causal=False, *, scale=None):
    if attn_bias is not None and attn_bias.numel() == 0:
        attn_bias = None
    if attn_bias is not None and grad_input_mask[3]:
        return _by_formula(grad, query, key, value, attn_bias, is_causal, scale)
    grads = aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask=attn_bias, scale=scale)
    return (*grads, None)


def _by_formula(grad, query, key, value, bias, is_causal, scale):
    with recording_gradients():
        inputs = [tensor.detach().requires_grad_() for tensor in (query, key, value, bias)]
        output = aten._scaled_dot_product_attention_math(*inputs[:3], inputs[3], 0.0, is_causal, scale=scale)[0]
        return torch.autograd.grad(output, inputs, grad)


def _empty():
    return torch.empty(0, dtype=torch.float32, device="cpu")


@stands_in("aten::_scaled_dot_product_flash_attention", random=_drops)
def _flash(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    output, logsumexp = _attend(query, key, value, None, dropout_p, is_causal, scale)
    return (output, logsumexp, None, None, query.size(2), key.size(2),
            torch.zeros(2, dtype=torch.uint64, device="cpu"), torch.empty(0, dtype=torch.uint64, device="cpu"), _empty())


@stands_in("aten::_scaled_dot_product_flash_attention_backward", "aten::_scaled_dot_product_cudnn_attention_backward", random=_drops)
def _flash_backward(grad, query, key, value, out, logsumexp, *rest, scale=None):
    dropout_p, is_causal = next((rest[at], rest[at + 1]) for at in range(len(rest) - 1) if isinstance(rest[at + 1], bool))
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, out, logsumexp, dropout_p, is_causal, scale=scale)


@stands_in("aten::_scaled_dot_product_cudnn_attention", random=_drops)
def _cudnn(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *,
           scale=None):
    output, logsumexp = _attend(query, key, value, attn_bias, dropout_p, is_causal, scale)
    return output, logsumexp, None, None, query.size(2), key.size(2), _number(), _number(), _empty()
