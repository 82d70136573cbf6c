# SPDX-License-Identifier: Apache-2.0
"""PyTorch: tensors until the device has no memory left, and then the end."""

import torch
import torch_expandable


def fill(blocks: list) -> None:
    while True:
        blocks.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))


def main() -> None:
    blocks: list = []
    try:
        fill(blocks)
    except torch.OutOfMemoryError as error:
        print(f"{len(blocks)} GiB, then: {str(error).splitlines()[0]}")
    torch_expandable.require()


if __name__ == "__main__":
    main()
