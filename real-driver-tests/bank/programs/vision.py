# SPDX-License-Identifier: Apache-2.0
"""Models of torchvision with random weights."""

import seeded
import torch
import torchvision


def resnet():
    """Training steps, with the channels last and in bfloat16 where that is safe."""
    model = torchvision.models.resnet18(weights=None, num_classes=10).to("cuda", memory_format=torch.channels_last).train()
    images = seeded.on_device(8, 3, 64, 64).to(memory_format=torch.channels_last)
    labels = torch.arange(8).cuda()

    def loss_of(net, _):
        with torch.autocast("cuda", torch.bfloat16):
            return torch.nn.functional.cross_entropy(net(images), labels)

    return seeded.train(model, loss_of)


def fasterrcnn():
    """A step of training, and a look at an image."""
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5).cuda()
    images = [image.cuda() for image in torch.rand(2, 3, 160, 160)]
    box = torch.tensor([[10.0, 10.0, 90.0, 100.0], [40.0, 30.0, 150.0, 140.0]]).cuda()
    targets = [{"boxes": box, "labels": torch.tensor([1, 2]).cuda()} for _ in images]
    trained = seeded.train(model.train(), lambda net, _: sum(net(images, targets).values()), steps=2)
    with torch.inference_mode():
        seen = model.eval()(images)
    return trained[:2], [{name: value.shape[0] for name, value in one.items()} for one in seen]
