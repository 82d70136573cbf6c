# SPDX-License-Identifier: Apache-2.0
"""Convolutions, batch norms and samplers that PyTorch leaves to cuDNN or to kernels of its own on CUDA, by the CPU's."""

from __future__ import annotations

import torch

from .stand_ins import stands_in

aten = torch.ops.aten


def _bytes():
    return torch.empty(0, dtype=torch.uint8, device="cpu")


@stands_in("aten::cudnn_batch_norm", "aten::miopen_batch_norm")
def _batch_norm(tensor, weight, bias, running_mean, running_var, training, momentum, epsilon):
    output, mean, invstd = aten.native_batch_norm(tensor, weight, bias, running_mean, running_var, training, momentum, epsilon)
    return output, mean, invstd, _bytes()


@stands_in("aten::cudnn_batch_norm_backward")
def _batch_norm_backward(tensor, grad, weight, running_mean, running_var, save_mean, save_var, epsilon, reserve):
    return aten.native_batch_norm_backward(grad, tensor, weight, running_mean, running_var, save_mean, save_var, True, epsilon,
                                           [True, True, True])


@stands_in("aten::cudnn_convolution")
def _convolution(tensor, weight, padding, stride, dilation, groups, benchmark, deterministic, allow_tf32):
    return aten.convolution(tensor, weight, None, stride, padding, dilation, False, [0] * len(padding), groups)


@stands_in("aten::cudnn_convolution_transpose")
def _convolution_transpose(tensor, weight, padding, output_padding, stride, dilation, groups, benchmark, deterministic, allow_tf32):
    return aten.convolution(tensor, weight, None, stride, padding, dilation, True, output_padding, groups)


@stands_in("aten::cudnn_convolution_relu")
def _convolution_relu(tensor, weight, bias, stride, padding, dilation, groups):
    return aten.relu(aten.convolution(tensor, weight, bias, stride, padding, dilation, False, [0] * len(padding), groups))


@stands_in("aten::cudnn_convolution_add_relu")
def _convolution_add_relu(tensor, weight, added, alpha, bias, stride, padding, dilation, groups):
    output = aten.convolution(tensor, weight, bias, stride, padding, dilation, False, [0] * len(padding), groups)
    return aten.relu(output + (1 if alpha is None else alpha) * added)


@stands_in("aten::_conv_depthwise2d", "aten::conv_depthwise3d")
def _depthwise(tensor, weight, kernel_size, bias, stride, padding, dilation):
    return aten.convolution(tensor, weight, bias, stride, padding, dilation, False, [0] * len(padding), tensor.size(1))


@stands_in("aten::cudnn_grid_sampler")
def _grid_sampler(tensor, grid):
    return aten.grid_sampler_2d(tensor, grid, 0, 0, True)


@stands_in("aten::cudnn_grid_sampler_backward")
def _grid_sampler_backward(tensor, grid, grad):
    return aten.grid_sampler_2d_backward(grad, tensor, grid, 0, 0, True, [True, True])


@stands_in("aten::cudnn_affine_grid_generator")
def _affine_grid(theta, n, c, h, w):
    return aten.affine_grid_generator(theta, [n, c, h, w], True)


def _channels(tensor):
    """The dimensions of a batch norm's sums: all but the channel."""
    return [0, *range(2, tensor.dim())]


def _along(statistic, tensor):
    return statistic.view(1, -1, *([1] * (tensor.dim() - 2)))


# SyncBatchNorm: the statistics of this process, of all processes, and the norm with them.
@stands_in("aten::batch_norm_stats", exact=False)
def _stats(tensor, eps):
    wide = tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
    variance, mean = torch.var_mean(wide, _channels(tensor), correction=0)
    return mean, (variance + eps).rsqrt()


@stands_in("aten::batch_norm_gather_stats_with_counts", exact=False)
def _gather_stats(tensor, mean, invstd, running_mean, running_var, momentum, eps, counts):
    counts = counts.to(mean.dtype).view(-1, 1)
    total = counts.sum()
    everyone = (mean * counts).sum(0) / total
    variance = ((invstd.pow(-2) - eps + (mean - everyone).pow(2)) * counts).sum(0) / total
    if running_mean is not None:
        running_mean.copy_((1 - momentum) * running_mean + momentum * everyone)
    if running_var is not None:
        running_var.copy_((1 - momentum) * running_var + momentum * variance * total / (total - 1))
    return everyone, (variance + eps).rsqrt()


@stands_in("aten::batch_norm_gather_stats", exact=False)
def _gather_equal_stats(tensor, mean, invstd, running_mean, running_var, momentum, eps, count):
    counts = torch.full((mean.size(0),), count, dtype=mean.dtype, device="cpu")
    return _gather_stats(tensor, mean, invstd, running_mean, running_var, momentum, eps, counts)


@stands_in("aten::batch_norm_elemt", exact=False)
def _elemt(tensor, weight, bias, mean, invstd, eps):
    output = (tensor - _along(mean, tensor)) * _along(invstd, tensor)
    output = output if weight is None else output * _along(weight, tensor)
    return (output if bias is None else output + _along(bias, tensor)).to(tensor.dtype)


@stands_in("aten::batch_norm_backward_reduce", exact=False)
def _backward_reduce(grad, tensor, mean, invstd, weight, input_g, weight_g, bias_g):
    grad = grad.to(mean.dtype)
    sum_dy = grad.sum(_channels(tensor))
    sum_dy_xmu = (grad * (tensor - _along(mean, tensor))).sum(_channels(tensor))
    kind = mean.dtype if weight is None else weight.dtype
    return sum_dy, sum_dy_xmu, (sum_dy_xmu * invstd).to(kind) if weight_g else None, sum_dy.to(kind) if bias_g else None


@stands_in("aten::batch_norm_backward_elemt", exact=False)
def _backward_elemt(grad, tensor, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    total = count.sum()
    scale = invstd if weight is None else invstd * weight
    centred = grad - _along(sum_dy / total, tensor)
    return ((centred - (tensor - _along(mean, tensor)) * _along(invstd.pow(2) * sum_dy_xmu / total, tensor))
            * _along(scale, tensor)).to(tensor.dtype)
