# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: cuDNN's operators and the fused cells of CUDA, by the CPU's."""

from __future__ import annotations

import torch

from .stand_ins import on_device, stands_in
from .thread_state import recording_gradients

aten = torch.ops.aten
_FUNCTIONS = (aten.rnn_relu, aten.rnn_tanh, aten.lstm, aten.gru)  # by the number of cuDNN's mode
_LSTM = 2


@on_device("aten::_cudnn_rnn_flatten_weight")
def _flatten_weight(weights, weight_stride0, input_size, mode, hidden_size, proj_size, num_layers, batch_first, bidirectional):
    """One buffer with all weights, of which the weights become parts, as with cuDNN (whose order of parts is another)."""
    with torch._C._AutoDispatchBelowAutograd():
        buffer = torch.empty(sum(weight.numel() for weight in weights), dtype=weights[0].dtype, device=weights[0].device)
        offset = 0
        for weight in weights:
            size = tuple(weight.size())
            part = buffer.narrow(0, offset, weight.numel()).view(size)
            part.copy_(weight)
            weight.set_(part.untyped_storage(), part.storage_offset(), size, part.stride())
            offset += part.numel()
        return buffer


@stands_in("aten::_cudnn_init_dropout_state")
def _dropout_state(dropout, train, dropout_seed, **_options):
    return torch.tensor([dropout_seed], dtype=torch.int64, device="cpu").view(torch.uint8)


def _layers(tensor, weight, weight_stride0, hx, cx, mode, num_layers, batch_first, dropout, train, bidirectional, batch_sizes):
    state = [hx, cx] if mode == _LSTM else hx
    settings = (weight, weight_stride0 >= 4, num_layers, dropout, train, bidirectional)
    if len(batch_sizes):
        sizes = torch.tensor(list(batch_sizes), dtype=torch.int64, device="cpu")
        results = _FUNCTIONS[mode].data(tensor, sizes, state, *settings)
    else:
        results = _FUNCTIONS[mode].input(tensor, state, *settings, batch_first)
    return results if mode == _LSTM else (*results, None)


def _drops(*args, **kwargs) -> bool:
    return args[11] > 0 and args[12]


@stands_in("aten::_cudnn_rnn", random=_drops)
def _rnn(tensor, weight, weight_stride0, weight_buf, hx, cx, mode, hidden_size, proj_size, num_layers, batch_first, dropout,
         train, bidirectional, batch_sizes, dropout_state):
    # The reserve, which the backward pass gets, has the state of the generator, so that both drop the same elements.
    reserve = torch.default_generator.get_state() if dropout > 0 and train else torch.empty(0, dtype=torch.uint8, device="cpu")
    output, hy, cy = _layers(tensor, weight, weight_stride0, hx, cx, mode, num_layers, batch_first, dropout, train,
                             bidirectional, batch_sizes)
    cy = torch.empty(0, dtype=tensor.dtype, device="cpu") if cy is None else cy
    buffer = torch.empty(0, dtype=tensor.dtype, device="cpu") if weight_buf is None else weight_buf
    return output, hy, cy, reserve, buffer


@stands_in("aten::_cudnn_rnn_backward")
def _rnn_backward(tensor, weight, weight_stride0, weight_buf, hx, cx, output, grad_output, grad_hy, grad_cy, mode, hidden_size,
                  proj_size, num_layers, batch_first, dropout, train, bidirectional, batch_sizes, dropout_state, reserve,
                  output_mask):
    before = torch.default_generator.get_state()
    try:
        with recording_gradients():
            if reserve.numel():
                torch.default_generator.set_state(reserve)
            inputs = [None if one is None else one.detach().requires_grad_() for one in (tensor, hx, cx, *weight)]
            results = _layers(inputs[0], inputs[3:], weight_stride0, inputs[1], inputs[2], mode, num_layers, batch_first,
                              dropout, train, bidirectional, batch_sizes)
            pairs = [(result, grad) for result, grad in zip(results, (grad_output, grad_hy, grad_cy))
                     if result is not None and grad is not None]
            asked = [one for one in inputs if one is not None]
            grads = iter(torch.autograd.grad([result for result, _ in pairs], asked, [grad for _, grad in pairs],
                                             allow_unused=True))
    finally:
        torch.default_generator.set_state(before)
    found = [None if one is None else next(grads) for one in inputs]
    zeroed = [torch.zeros_like(one.detach()) if grad is None and one is not None else grad for one, grad in zip(inputs, found)]
    return zeroed[0], zeroed[1], zeroed[2], zeroed[3:]


def _cudnn(mode, tensor, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    state = hx if mode == _LSTM else (hx, None)
    if torch.is_autocast_enabled("cuda"):
        tensor, *rest = (_lowered(one) for one in (tensor, *state, *params))
        with torch.autocast("cuda", enabled=False):
            return _cudnn(mode, tensor, batch_sizes, rest[:2] if mode == _LSTM else rest[0], rest[2:], has_biases, num_layers,
                          dropout, train, bidirectional, batch_first)
    per_layer = len(params) // (num_layers * (2 if bidirectional else 1))
    projected = state[0].size(2) if mode == _LSTM and per_layer in (3, 5) else 0
    hidden = state[1].size(2) if mode == _LSTM else state[0].size(2)
    output, hy, cy, _, _ = aten._cudnn_rnn(tensor, params, per_layer, None, state[0], state[1], mode, hidden, projected, num_layers,
                                           batch_first, dropout, train, bidirectional, batch_sizes, None)
    return (output, hy, cy) if mode == _LSTM else (output, hy)


def _lowered(tensor):
    single = tensor is not None and tensor.dtype == torch.float32
    return tensor.to(torch.get_autocast_dtype("cuda")) if single else tensor


def _of_tensor(mode):
    def rnn(tensor, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        return _cudnn(mode, tensor, [], hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)

    return rnn


def _of_packed(mode):
    def rnn(tensor, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        sizes = batch_sizes.tolist()
        return _cudnn(mode, tensor, sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional, False)

    return rnn


def replace_networks(library) -> None:
    """PyTorch's lstm() and its kin ask cuDNN, which does not start here, before they call aten::_cudnn_rnn. The functions that
    replace them call it at once. They stand at the key of autograd too, as that operator knows its gradients."""
    for mode, name in enumerate(("rnn_relu", "rnn_tanh", "lstm", "gru")):
        for key in ("AutogradCUDA", "CUDA"):
            library.impl(f"{name}.input", _of_tensor(mode), key)
            library.impl(f"{name}.data", _of_packed(mode), key)


def _with_biases(gates, *biases):
    for bias in biases:
        gates = gates if bias is None else gates + bias
    return gates


@stands_in("aten::_thnn_fused_lstm_cell", exact=False)
def _lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    gates = _with_biases(input_gates, input_bias) + _with_biases(hidden_gates, hidden_bias)
    enter, forget, cell, leave = gates.chunk(4, 1)
    enter, forget, cell, leave = enter.sigmoid(), forget.sigmoid(), cell.tanh(), leave.sigmoid()
    cy = forget * cx + enter * cell
    return leave * cy.tanh(), cy, torch.cat((enter, forget, cell, leave), 1)


@stands_in("aten::_thnn_fused_lstm_cell_backward_impl", exact=False)
def _lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    enter, forget, cell, leave = workspace.chunk(4, 1)
    tanh = cy.tanh()
    hidden = torch.zeros_like(cx) if grad_hy is None else grad_hy
    through = hidden * leave * (1 - tanh * tanh)
    if grad_cy is not None:
        through = through + grad_cy
    gates = torch.cat((through * cell * enter * (1 - enter), through * cx * forget * (1 - forget),
                       through * enter * (1 - cell * cell), hidden * tanh * leave * (1 - leave)), 1)
    return gates, through * forget, gates.sum(0) if has_bias else torch.empty(0, dtype=gates.dtype, device="cpu")


@stands_in("aten::_thnn_fused_gru_cell", exact=False)
def _gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    reset_in, update_in, new_in = _with_biases(input_gates, input_bias).chunk(3, 1)
    reset_hidden, update_hidden, new_hidden = _with_biases(hidden_gates, hidden_bias).chunk(3, 1)
    reset, update = (reset_in + reset_hidden).sigmoid(), (update_in + update_hidden).sigmoid()
    new = (new_in + reset * new_hidden).tanh()
    return new + update * (hx - new), torch.cat((reset, update, new, hx, new_hidden), 1)


@stands_in("aten::_thnn_fused_gru_cell_backward", exact=False)
def _gru_cell_backward(grad_hy, workspace, has_bias):
    reset, update, new, hx, new_hidden = workspace.chunk(5, 1)
    grad_update = grad_hy * (hx - new) * (1 - update) * update
    grad_new = grad_hy * (1 - update) * (1 - new * new)
    grad_reset = grad_new * new_hidden * (1 - reset) * reset
    of_input = torch.cat((grad_reset, grad_update, grad_new), 1)
    of_hidden = torch.cat((grad_reset, grad_update, grad_new * reset), 1)
    none = torch.empty(0, dtype=grad_hy.dtype, device="cpu")
    return of_input, of_hidden, grad_hy * update, of_input.sum(0) if has_bias else none, of_hidden.sum(0) if has_bias else none
