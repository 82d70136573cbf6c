# SPDX-License-Identifier: Apache-2.0
"""PyTorch computes on the emulator: networks train with the CPU's loss to the last digit, and what surrounds operators works.

torch_compute.py [NAME...]: only these cases.
"""

import gc
import sys
import threading
import traceback

import torch
from torch import nn
from torch.nn import functional

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


class Recurrent(nn.Module):
    def __init__(self, kind, **settings):
        super().__init__()
        self.layers = kind(12, 24, batch_first=True, **settings)
        self.last = nn.Linear(24 * (2 if settings.get("bidirectional") else 1), 5)

    def forward(self, given):
        return self.last(self.layers(given)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.words = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.last = nn.Linear(32, 50)
        self.causal = causal

    def forward(self, given):
        mask = nn.Transformer.generate_square_subsequent_mask(given.shape[1], device=given.device) if self.causal else None
        return self.last(self.layers(self.words(given), mask=mask, is_causal=self.causal)).flatten(0, 1)


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, groups=4),
                         nn.GroupNorm(4, 32), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 5))


def linear():
    return nn.Sequential(nn.Flatten(), nn.Linear(84, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 5))


def losses(make, given, wanted, device) -> list[float]:
    torch.manual_seed(1)
    model, given, wanted = make().to(device), given.to(device), wanted.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    result = []
    for _ in range(5):
        loss = functional.cross_entropy(model(given), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        result.append(loss.item())
    return result


@case
def networks_have_the_loss_of_the_cpu():
    torch.manual_seed(0)
    classes, series = torch.randint(0, 5, (8,)), torch.randn(8, 7, 12)
    words, following = torch.randint(0, 50, (4, 11)), torch.randint(0, 50, (44,))
    for name, make, given, wanted in (
        ("linear", linear, series, classes),
        ("convolutions", convolutions, torch.randn(8, 3, 16, 16), classes),
        ("LSTM", lambda: Recurrent(nn.LSTM), series, classes),
        ("LSTM of two layers in both directions", lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True), series, classes),
        ("GRU", lambda: Recurrent(nn.GRU), series, classes),
        ("transformer", lambda: Transformer(False), words, following),
        ("causal transformer", lambda: Transformer(True), words, following),
    ):
        cpu, cuda = (losses(make, given, wanted, device) for device in ("cpu", "cuda"))
        assert cpu == cuda, f"{name}: {cpu} on the CPU, {cuda} on the device"
        assert cpu[0] != cpu[-1], name


@case
def views_and_changes_in_place():
    here = torch.arange(24.0).reshape(4, 6)
    there = here.clone().cuda()
    for tensor in (here, there):
        tensor[1:3, ::2] *= 3
        tensor.t()[2].add_(1)
        tensor[:, 1].copy_(tensor[:, 2])
        tensor[tensor > 10] = 0
        torch._foreach_add_([tensor[0], tensor[3]], 1.0)
    assert torch.equal(here, there.cpu())


@case
def tensors_over_the_same_memory_share_it():
    """As two tensors that a faulty allocator puts at one place: the program sees the wrong result."""
    first = torch.zeros(8, device="cuda")

    class Other:
        __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (first.data_ptr() + 8, False), "version": 2}

    second = torch.as_tensor(Other(), device="cuda")
    assert second.untyped_storage()._cdata != first.untyped_storage()._cdata
    second.fill_(7)
    assert first.tolist() == [0, 0, 7, 7, 7, 7, 0, 0]
    torch.add(first[:4], second, out=first[4:])
    assert first.tolist() == [0, 0, 7, 7, 7, 7, 14, 14] and second.tolist() == [7, 7, 7, 7], (first, second)


@case
def sparse_and_quantised_tensors():
    here = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0]), (2, 3))
    there, other = here.cuda(), torch.randn(3, 4)
    assert torch.equal(torch.sparse.mm(there, other.cuda()).cpu(), torch.sparse.mm(here, other))
    assert torch.equal((there + there).coalesce().to_dense().cpu(), 2 * here.to_dense())
    assert torch.equal((there.to_sparse_csr() @ other.cuda()).cpu(), here.to_sparse_csr() @ other)
    embedding = nn.Embedding(10, 3, sparse=True).cuda()
    embedding(torch.tensor([1, 1, 2], device="cuda")).sum().backward()
    torch.optim.SparseAdam(embedding.parameters()).step()
    wide = torch.randn(4, 4)
    narrow = [torch.quantize_per_tensor(tensor, 0.1, 3, torch.quint8).dequantize() for tensor in (wide, wide.cuda())]
    assert torch.equal(narrow[0], narrow[1].cpu())


@case
def outputs_given_by_the_caller():
    here = torch.randn(5, 5)
    result = torch.empty(0, device="cuda")
    torch.add(here.cuda(), 1, out=result)
    assert torch.equal(result.cpu(), here + 1)
    rows = torch.zeros(10, 5, device="cuda")
    torch.mul(here.cuda(), 2, out=rows[::2])
    assert torch.equal(rows[::2].cpu(), here * 2) and not rows[1::2].any()


@case
def tensors_of_several_devices_are_refused():
    there, here = torch.randn(3, device="cuda"), torch.randn(3)
    for mistake in (lambda: there + here, lambda: there + torch.randn(3, device="cuda:1"), lambda: torch.dot(there, here)):
        try:
            mistake()
        except RuntimeError as error:
            assert "same device" in str(error), error
        else:
            raise AssertionError("a mistake of the program passed")
    there[torch.tensor([0])] = 1  # indices may lie on the CPU, as on a GPU
    assert (there + torch.tensor(1.0)).is_cuda


@case
def functions_of_the_program_in_autograd():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, given):
            ctx.save_for_backward(given)
            return given * given

        @staticmethod
        def backward(ctx, grad):
            (given,) = ctx.saved_tensors
            return 2 * grad * given

    given = torch.randn(4, device="cuda", requires_grad=True)
    Square.apply(given).sum().backward()
    assert torch.equal(given.grad, 2 * given)
    per_row = torch.func.vmap(torch.func.grad(lambda row: (row**2).sum()))
    assert torch.equal(per_row(given.detach()[None]), 2 * given.detach()[None])


@case
def types_that_the_cpu_lacks_are_computed_in_wider_ones():
    half = torch.randn(8, 8, device="cuda").half()
    distances = torch.cdist(half, half)
    assert distances.dtype == torch.float16
    assert torch.allclose(distances.float(), torch.cdist(half.float(), half.float()), atol=1e-2)
    try:
        torch.mm(half, half.float())
    except RuntimeError as error:
        assert "dtype" in str(error), error
    else:
        raise AssertionError("a mistake of the program passed")


@case
def autocast_and_scaler():
    model, scaler = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).cuda(), torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.autocast("cuda", dtype=torch.float16):
        output = model(torch.randn(3, 8, device="cuda"))
        assert output.dtype == torch.float16
        loss = functional.mse_loss(output, torch.zeros(3, 4, device="cuda"))
        recurrent = nn.LSTM(4, 4).cuda()(torch.randn(2, 3, 4, device="cuda"))[0]
        assert recurrent.dtype == torch.float16
    scaler.scale(loss + recurrent.float().sum()).backward()
    scaler.step(optimizer)
    scaler.update()


@case
def random_numbers_follow_the_cuda_generator():
    torch.manual_seed(5)
    first = torch.randn(4, device="cuda")
    state = torch.cuda.get_rng_state()
    second = torch.randn(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(second, torch.randn(4, device="cuda")) and not torch.equal(first, second)
    torch.manual_seed(5)
    assert torch.equal(first, torch.randn(4, device="cuda"))
    dropped = (functional.dropout(torch.ones(1000, device="cuda"), 0.3) == 0).sum().item()
    assert 200 < dropped < 400, dropped


@case
def streams_keep_their_order():
    side, done = torch.cuda.Stream(), torch.cuda.Event()
    zeros = torch.zeros(1000, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        result = (zeros + 1).mul_(3)
        done.record()
    torch.cuda.current_stream().wait_event(done)
    here = torch.empty(1000, pin_memory=True)
    here.copy_(result + 1, non_blocking=True)
    torch.cuda.synchronize()
    assert here.sum() == 4000


@case
def sleeping_is_work_of_the_stream():
    done = torch.cuda.Event()
    torch.cuda._sleep(1_000_000)
    done.record()
    done.synchronize()
    assert done.query()


@case
def memory_that_is_exhausted_raises_as_on_a_gpu():
    kept = torch.zeros(4, device="cuda")
    try:
        torch.empty(1 << 50, dtype=torch.int8, device="cuda")
    except torch.OutOfMemoryError as error:
        assert "Tried to allocate 1048576.00 GiB" in str(error), error
    else:
        raise AssertionError("there is a PiB of memory")
    assert (kept == 0).all()


@case
def graphs_reuse_the_memory_of_tensors_that_ended():
    given, graph = torch.ones(1000, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ended = given + 1
        first = ended + 3
        address = ended.data_ptr()
        del ended
        second = given + 4
    assert second.data_ptr() == address
    given.fill_(10)
    graph.replay()
    assert (first == 14).all() and (second == 14).all()


@case
def graphs_may_end_before_their_work():
    given = torch.ones(1000, device="cuda")
    for _ in range(3):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            given.add_(1)
        graph.replay()
        del graph
    gc.collect()
    assert (given == 4).all()


@case
def threads_compute():
    found = []

    def work():
        given = torch.ones(5, device="cuda", requires_grad=True)
        (given * 2).sum().backward()
        found.append(given.grad.sum().item())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [10.0] * 4, found


@case
def graphs_compute_at_each_launch():
    given = torch.ones(4, device="cuda")
    model = nn.Linear(4, 4).cuda()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        model(given)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = model(given).sin()
        total = result.sum()
        dropped = functional.dropout(torch.ones(1000, device="cuda"))
        given.mul_(2)
    masks = []
    for expected in (3.0, 5.0):
        given.fill_(expected)
        graph.replay()
        torch.cuda.synchronize()
        wanted = model(torch.full((4,), expected, device="cuda")).sin()
        assert torch.equal(result, wanted) and torch.equal(total, wanted.sum()) and (given == 2 * expected).all()
        masks.append(dropped.clone())
    assert 400 < (masks[0] == 0).sum() < 600 and not torch.equal(masks[0], masks[1])
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            given.nonzero()
    except RuntimeError as error:
        assert "capturing" in str(error), error
    else:
        raise AssertionError("an operator whose result has an unknown size was captured")


def main() -> int:
    failed = []
    for name in sys.argv[1:] or CASES:
        try:
            CASES[name]()
        except Exception:  # noqa: BLE001 - the next case runs all the same
            traceback.print_exc()
            failed.append(name)
    print("PyTorch", torch.__version__, f"failed: {failed}" if failed else "computes on the emulator")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
