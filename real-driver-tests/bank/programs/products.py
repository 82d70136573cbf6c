# SPDX-License-Identifier: Apache-2.0
"""Products of small numbers, and casts between types."""

import seeded
import skip
import torch


def int8():
    """Weights as 8-bit integers, with a scale for each row: products in integers, and the way back."""
    weights, x = seeded.on_device(256, 512), seeded.on_device(64, 512)
    outputs = []
    for _ in range(5):
        scales = [matrix.abs().amax(dim=1, keepdim=True) / 127 for matrix in (weights, x)]
        small = [torch.round(matrix / scale).to(torch.int8) for matrix, scale in zip((weights, x), scales)]
        product = torch._int_mm(small[1], small[0].t())
        x = (product.to(torch.float32) * scales[1] * scales[0].t()).repeat(1, 2)
        x = x / x.abs().max()
        outputs.append(product)
    zero = torch.zeros(256, dtype=torch.int32, device="cuda")
    faked = torch.fake_quantize_per_channel_affine(weights, scales[0].flatten(), zero, 0, -128, 127)
    return outputs, x, faked


def fp8():
    if torch.cuda.get_device_capability() < (8, 9):
        raise skip.Skipped("the GPU has no products of 8-bit floats")
    one = torch.tensor(1.0, device="cuda")
    x, outputs = seeded.on_device(64, 256, dtype=torch.bfloat16), []
    weights = seeded.on_device(256, 256, dtype=torch.bfloat16).to(torch.float8_e4m3fn)
    for _ in range(5):
        x = torch._scaled_mm(x.to(torch.float8_e4m3fn), weights.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        x = x / x.abs().max().clamp(min=1e-3)
        outputs.append(x)
    return outputs


def casts():
    """Kernels that cast get a struct of a type and a size, of which three bytes are never written.

    With expandable segments, PyTorch reserves more addresses than the GPU has memory (89 GiB where it has 80): then any
    two 32-bit numbers, the upper one small, are an address in there.
    """
    types = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool)
    outputs = []
    for size in (1, 3, 1000, 1 << 18):
        for source in types:
            x = (torch.arange(2 * size) % 7).to("cuda", source)
            for target in types:
                outputs.append(x[::2].to(target))         # strided
                outputs.append(x.to(target)[:16].clone())  # as it lies
            outputs.append(torch.add(x, x.to(torch.float16)))
            into = torch.empty(2 * size, dtype=torch.float16, device="cuda")
            outputs.append(into.copy_(x))
        outputs = [value[:64].clone() for value in outputs]
        torch.cuda.empty_cache()
    return outputs
