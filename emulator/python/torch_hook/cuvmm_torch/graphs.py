# SPDX-License-Identifier: Apache-2.0
"""Operators in a stream that captures: each becomes copies to the host, a host function, and copies back.

At the capture the operator runs once, on zeros, because the program must get results of the right size. At
each launch of the graph, the host function runs the CPU's operator on the bytes that the nodes before it
copied, and the nodes behind it copy the results to the device.
"""

from __future__ import annotations

import ctypes
import traceback

import torch

from .fidelity import of_this_process
from .memory import Copies, as_bytes

_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_driver = None
_ended: list = []  # what the launches of graphs that ended still need, each behind the event of the last launch


class _Needed(list):
    """What the nodes of a graph use. It outlives the graph until the graph's last launch is over."""

    launched: torch.cuda.Event | None = None

    def note_launch(self) -> None:
        if self.launched is None:
            self.launched = torch.cuda.Event()
        self.launched.record()

    def __del__(self):
        if self.launched is not None and _ended is not None:  # None: the interpreter ends
            _ended.append((self.launched, list(self)))


_forever = _Needed()  # what captures need that no torch.cuda.CUDAGraph owns
_owner: list = _forever  # the list of the graph that is captured now


def _call(name: str, *arguments) -> None:
    global _driver
    if _driver is None:
        _driver = ctypes.CDLL("libcuda.so.1")
    code = getattr(_driver, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"cuvmm: {name} answered {code}")


def _tensors(results):
    if isinstance(results, torch.Tensor):
        yield results
    elif isinstance(results, (list, tuple)):
        for one in results:
            yield from _tensors(one)


class Capture(Copies):
    """The copies of an operator as nodes of the graph that the current stream captures."""

    def __init__(self, stream: int):
        self._stream = ctypes.c_void_p(stream)

    def to_host(self, host: torch.Tensor, address: int, device: torch.device) -> None:
        host.zero_()
        _owner.append(host)
        _call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(host.data_ptr()), ctypes.c_uint64(address), ctypes.c_size_t(host.numel()),
              self._stream)

    def to_device(self, address: int, device: torch.device, host: torch.Tensor) -> None:
        _owner.append(host)
        _call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), ctypes.c_void_p(host.data_ptr()), ctypes.c_size_t(host.numel()),
              self._stream)

    def repeat(self, compute, results, name: str) -> None:
        """Adds the host function. `compute` returns new results; those of the capture are where the copies read."""
        places = list(_tensors(results))

        def work(_unused) -> None:
            try:
                with torch._C.DisableTorchFunction(), torch._C._AutoDispatchBelowAutograd():
                    for place, result in zip(places, _tensors(compute())):
                        if place is not result and place.numel():
                            as_bytes(place).copy_(as_bytes(result))
            except Exception:  # noqa: BLE001 - nothing can be raised through the driver
                of_this_process.note(f"{name} failed in a graph:\n{traceback.format_exc()}")

        function = _HOST_FUNCTION(work)
        _owner.append(function)
        _call("cuLaunchHostFunc", self._stream, function, None)


def _drop_what_is_over() -> None:
    mode = ctypes.c_int(2)  # relaxed: a query does not disturb captures of other threads
    _call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    try:
        _ended[:] = [(event, needed) for event, needed in _ended if not event.query()]
    finally:
        _call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))


def current() -> Capture | None:
    """The capture of the current stream; None if it captures nothing."""
    if not torch.cuda.is_initialized() or not torch._C._cuda_isCurrentStreamCapturing():
        return None
    return Capture(torch.cuda.current_stream().cuda_stream)


def follow_graphs() -> None:
    """Makes each torch.cuda.CUDAGraph own what its host functions need."""
    names = ("capture_begin", "capture_end", "replay", "reset")
    begin, end, launch, reset = (getattr(torch.cuda.CUDAGraph, name) for name in names)

    def capture_begin(self, *args, **kwargs):
        global _owner
        _drop_what_is_over()
        begin(self, *args, **kwargs)
        self._cuvmm = _owner = _Needed()

    def capture_end(self, *args, **kwargs):
        global _owner
        _owner = _forever
        return end(self, *args, **kwargs)

    def replay(self, *args, **kwargs):
        result = launch(self, *args, **kwargs)
        if needed := getattr(self, "_cuvmm", None):
            needed.note_launch()
        return result

    def reset_(self, *args, **kwargs):
        result = reset(self, *args, **kwargs)
        self._cuvmm = _Needed()
        return result

    torch.cuda.CUDAGraph.capture_begin = capture_begin
    torch.cuda.CUDAGraph.capture_end = capture_end
    torch.cuda.CUDAGraph.replay = replay
    torch.cuda.CUDAGraph.reset = reset_


def sleep_without_a_kernel() -> None:
    """Makes torch.cuda._sleep() work that its stream waits for, in the place of a kernel that counts cycles: nothing is
    skipped, and with `--streams=late` the stream is busy until something waits for it."""
    free = ctypes.CDLL(None).free  # does nothing for a null pointer, and needs no interpreter

    def sleep(_cycles: int) -> None:
        _call("cuLaunchHostFunc", ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), free, None)

    torch._C._cuda_sleep = sleep
