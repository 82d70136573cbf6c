# SPDX-License-Identifier: Apache-2.0
"""PyTorch on several streams and threads."""

import threading

import seeded
import torch


def reductions():
    """Sums on some streams while tensors of others are freed; the kernels' structs have words that were never written."""
    side = [torch.cuda.Stream() for _ in range(4)]
    sums = []
    for step in range(60):
        stream = side[step % len(side)]
        with torch.cuda.stream(stream):
            data = torch.full((1 + step % 5, 100_000), float(step % 11), device="cuda")
            sums += [data.sum(), data.mean(dim=1).max(), data.var(), data.argmax(), torch.linalg.vector_norm(data)]
            other = data * 2
            del data
        ready = stream.record_event()
        with torch.cuda.stream(side[(step + 1) % len(side)]):
            torch.cuda.current_stream().wait_event(ready)
            sums.append(other.sum())
            other.record_stream(torch.cuda.current_stream())
        del other
    torch.cuda.synchronize()
    return sums


def offloading():
    """Layers stay in pinned memory; a separate stream fetches each while the layer before it works."""
    layers = [(torch.randn(512, 512) / 16).pin_memory() for _ in range(8)]
    copies, x = torch.cuda.Stream(), seeded.on_device(64, 512)
    back = torch.empty(64, 512, pin_memory=True)
    outputs = []

    def fetch(index: int) -> tuple[torch.Tensor, torch.cuda.Event]:
        with torch.cuda.stream(copies):
            return layers[index].to("cuda", non_blocking=True), copies.record_event()

    for _ in range(4):
        coming = fetch(0)
        for index in range(len(layers)):
            weights, ready = coming
            if index + 1 < len(layers):
                coming = fetch(index + 1)
            torch.cuda.current_stream().wait_event(ready)
            x = torch.tanh(x @ weights)
            weights.record_stream(torch.cuda.current_stream())
        back.copy_(x, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        outputs.append(back.clone())
        torch.cuda.empty_cache()
    return outputs


def threads():
    """Eight threads, each with a model and a stream of its own."""
    inputs = [torch.randn(32, 64) for _ in range(8)]
    models = [torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8)) for _ in range(8)]
    outputs: list = [None] * 8
    failures: list[BaseException] = []

    def work(index: int) -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                x = inputs[index].cuda()
                trained = seeded.train(models[index].cuda(), lambda net, _: net(x).square().mean(), steps=10)
                torch.cuda.current_stream().synchronize()
                outputs[index] = [value.detach().cpu() for value in trained]
                if index % 3 == 0:
                    torch.cuda.empty_cache()
        except BaseException as failure:  # noqa: BLE001  a thread's end is nobody's otherwise
            failures.append(failure)

    running = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if failures:
        raise failures[0]
    return outputs


def graphs():
    """A step of inference is captured, and launched with new inputs; another graph gets the first one's pool."""
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64)).cuda()
    held = torch.zeros(32, 64, device="cuda")
    side = torch.cuda.Stream()
    with torch.no_grad():
        with torch.cuda.stream(side):
            for _ in range(3):
                net(held)
        torch.cuda.current_stream().wait_stream(side)
        first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(first):
            out = net(held)
        with torch.cuda.graph(second, pool=first.pool()):
            again = net(out).softmax(dim=-1)
        outputs = []
        for _ in range(5):
            held.copy_(torch.randn(32, 64))
            first.replay()
            second.replay()
            outputs += [out.clone(), again.clone()]
    torch.cuda.synchronize()
    return outputs
