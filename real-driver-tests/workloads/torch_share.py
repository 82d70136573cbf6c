# SPDX-License-Identifier: Apache-2.0
"""PyTorch in two processes: tensors in expandable segments go to a consumer, which changes them in place."""

import stopwatch
import torch
import torch.multiprocessing as mp
import torch_expandable


def consume(inbox, outbox) -> None:
    while (tensor := inbox.get()) is not None:
        assert bool((tensor == tensor[0]).all()), "the consumer sees other contents"
        tensor.add_(1)
        torch.cuda.synchronize()
        outbox.put(int(tensor[0].item()))
        del tensor
    torch.cuda.empty_cache()


def main() -> None:
    spawn = mp.get_context("spawn")
    inbox, outbox = spawn.Queue(), spawn.Queue()
    consumer = spawn.Process(target=consume, args=(inbox, outbox))
    consumer.start()
    living = []
    with stopwatch.work():
        for step in range(12):
            tensor = torch.full((1 << (8 + step),), step, device="cuda", dtype=torch.int64)
            torch.cuda.synchronize()
            inbox.put(tensor)
            assert outbox.get(timeout=60) == step + 1
            assert bool((tensor == step + 1).all()), f"step {step}: the consumer's change is not seen"
            if step % 2:
                living.append(tensor)  # some live to the end, with their segments' descriptors
            del tensor
    inbox.put(None)
    consumer.join(60)
    assert consumer.exitcode == 0, f"the consumer ended with {consumer.exitcode}"
    torch_expandable.require()


if __name__ == "__main__":
    main()
