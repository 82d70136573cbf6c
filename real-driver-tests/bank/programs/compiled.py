# SPDX-License-Identifier: Apache-2.0
"""torch.compile in its three modes, and flex attention, whose kernels it makes."""

import seeded
import torch


def _train(mode: str) -> list[torch.Tensor]:
    net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 16)).cuda()
    x, labels = seeded.on_device(64, 128), (torch.arange(64) % 16).cuda()
    model = torch.compile(net, mode=mode)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    losses = []
    for _ in range(6):  # the first rounds of reduce-overhead are warm-up and capture
        torch.compiler.cudagraph_mark_step_begin()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach().clone())
    net.eval()
    with torch.inference_mode():
        for _ in range(4):
            torch.compiler.cudagraph_mark_step_begin()
            seen = model(x).clone()
    return [*losses, seen]


def default():
    return _train("default")


def reduce_overhead():
    return _train("reduce-overhead")


def max_autotune():
    return _train("max-autotune")


def flex():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    query, key, value = (seeded.on_device(1, 4, 256, 64, dtype=torch.float16).requires_grad_() for _ in range(3))
    mask = create_block_mask(lambda _b, _h, q, kv: q >= kv, None, None, 256, 256, device="cuda")
    attention = torch.compile(flex_attention)
    outputs = []
    for _ in range(3):
        out = attention(query, key, value, score_mod=lambda score, _b, _h, q, kv: score + (q - kv) * 0.01, block_mask=mask)
        out.sum().backward()
        outputs.append(out)
    return outputs, query.grad
