# SPDX-License-Identifier: Apache-2.0
"""torch.compile: the graph that Dynamo captures runs operator by operator, because Triton's kernels do not run here."""

from __future__ import annotations

import torch

from .fidelity import of_this_process


def _uses_cuda(graph_module, inputs) -> bool:
    tensors = [*inputs, *graph_module.parameters(), *graph_module.buffers()]
    if any(isinstance(one, torch.Tensor) and one.device.type == "cuda" for one in tensors):
        return True
    return any("cuda" in str(node.kwargs.get("device", "")) for node in graph_module.graph.nodes)


def change(module) -> None:
    """Replaces the compiler of the backend "inductor", in torch._inductor.compile_fx, for graphs with CUDA tensors."""
    compile_fx = module.compile_fx

    def compile_or_run(model, example_inputs, *args, **kwargs):
        if not isinstance(model, torch.fx.GraphModule) or not _uses_cuda(model, example_inputs):
            return compile_fx(model, example_inputs, *args, **kwargs)
        of_this_process.note("torch.compile runs its graphs operator by operator, because the emulator does not run the kernels "
                             "that inductor makes")
        return model.forward

    module.compile_fx = compile_or_run
