"""ResNets: ``resnet18(ms)``, ``resnet50(ms)``."""

from __future__ import annotations

from typing import Any


def resnet(
    ms: Any,
    depths: tuple[int, ...],
    bottleneck: bool,
    classes: int = 1000,
    width: int = 64,
    small: bool = False,
) -> Any:
    """A ResNet; `small` is for pictures of 32 x 32: a plain first convolution and no pooling after it."""
    nn, ops = ms.nn, ms.ops

    def conv(inputs: int, outputs: int, size: int, stride: int = 1) -> Any:
        return nn.Conv2d(inputs, outputs, size, stride, pad_mode="pad", padding=size // 2)

    class Basic(nn.Cell):
        expansion = 1

        def __init__(self, inputs: int, planes: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = conv(inputs, planes, 3, stride), nn.BatchNorm2d(planes)
            self.conv2, self.bn2 = conv(planes, planes, 3), nn.BatchNorm2d(planes)
            self.relu, self.down = nn.ReLU(), shortcut(inputs, planes, stride)

        def construct(self, x: Any) -> Any:
            out = self.relu(self.bn1(self.conv1(x)))
            return self.relu(self.bn2(self.conv2(out)) + self.down(x))

    class Bottleneck(nn.Cell):
        expansion = 4

        def __init__(self, inputs: int, planes: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = conv(inputs, planes, 1), nn.BatchNorm2d(planes)
            self.conv2, self.bn2 = conv(planes, planes, 3, stride), nn.BatchNorm2d(planes)
            self.conv3, self.bn3 = conv(planes, planes * 4, 1), nn.BatchNorm2d(planes * 4)
            self.relu, self.down = nn.ReLU(), shortcut(inputs, planes * 4, stride)

        def construct(self, x: Any) -> Any:
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.relu(self.bn2(self.conv2(out)))
            return self.relu(self.bn3(self.conv3(out)) + self.down(x))

    def shortcut(inputs: int, outputs: int, stride: int) -> Any:
        if stride == 1 and inputs == outputs:
            return nn.Identity()
        return nn.SequentialCell([conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)])

    class ResNet(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            block = Bottleneck if bottleneck else Basic
            self.conv1 = conv(3, width, 3) if small else conv(3, width, 7, 2)
            self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU()
            self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, 2, pad_mode="same")
            inputs, stages = width, []
            for stage, depth in enumerate(depths):
                planes, blocks = width * 2**stage, []
                for place in range(depth):
                    blocks.append(block(inputs, planes, 2 if stage and not place else 1))
                    inputs = planes * block.expansion
                stages.append(nn.SequentialCell(blocks))
            self.layers = nn.SequentialCell(stages)
            self.flatten, self.fc = nn.Flatten(), nn.Dense(inputs, classes)

        def construct(self, x: Any) -> Any:
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = ops.mean(self.layers(x), (2, 3), True)
            return self.fc(self.flatten(x))

    return ResNet()


def resnet18(ms: Any, classes: int = 1000, **options: Any) -> Any:
    return resnet(ms, (2, 2, 2, 2), False, classes, **options)


def resnet50(ms: Any, classes: int = 1000, **options: Any) -> Any:
    return resnet(ms, (3, 4, 6, 3), True, classes, **options)
