"""Nets for pictures."""

import numpy as np

from tests.e2e.networks.families import net
from tests.e2e.networks.resnet import resnet18, resnet50
from tests.parity.runtime.nn.layers import make

LABELS = np.array([0, 3, 1, 2], np.int32)


def with_loss(ms, body):
    return ms.nn.WithLossCell(body, ms.nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))


@net("LeNet", make(4, 1, 32, 32), LABELS)
def _(ms):
    nn = ms.nn

    class LeNet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
            self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
            self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
            self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)

        def construct(self, x):
            x = self.pool(self.relu(self.conv1(x)))
            x = self.flatten(self.pool(self.relu(self.conv2(x))))
            return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))

    return with_loss(ms, LeNet())


@net("ResNet-18", make(4, 3, 16, 16), LABELS, rate=0.02)
def _(ms):
    return with_loss(ms, resnet18(ms, 5, width=8, small=True))


@net("ResNet-50", make(4, 3, 32, 32), LABELS, rate=0.0001)
def _(ms):
    return with_loss(ms, resnet50(ms, 5, width=4, small=True))


@net("VGG", make(4, 3, 16, 16), LABELS)
def _(ms):
    nn = ms.nn
    layers, channels = [], 3
    for width in (8, "M", 16, 16, "M"):
        if width == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        else:
            layers += [
                nn.Conv2d(channels, width, 3, padding=1, pad_mode="pad", has_bias=True),
                nn.BatchNorm2d(width),
                nn.ReLU(),
            ]
            channels = width
    layers += [nn.Flatten(), nn.Dense(256, 32), nn.ReLU(), nn.Dense(32, 4)]
    return with_loss(ms, nn.SequentialCell(layers))


@net("MobileNetV3", make(4, 3, 16, 16), LABELS, rate=0.02)
def _(ms):
    nn, P = ms.nn, ms.ops

    class Squeeze(nn.Cell):
        def __init__(self, channels):
            super().__init__()
            self.fc1, self.fc2 = nn.Dense(channels, 4), nn.Dense(4, channels)
            self.mean, self.act, self.gate = P.ReduceMean(keep_dims=False), nn.ReLU(), nn.HSigmoid()

        def construct(self, x):
            scale = self.gate(self.fc2(self.act(self.fc1(self.mean(x, (2, 3))))))
            return x * P.reshape(scale, (x.shape[0], x.shape[1], 1, 1))

    class Block(nn.Cell):
        def __init__(self, inputs, wide, outputs, stride, squeeze, act):
            super().__init__()
            self.expand, self.bn1 = nn.Conv2d(inputs, wide, 1), nn.BatchNorm2d(wide)
            self.depth = nn.Conv2d(wide, wide, 3, stride, pad_mode="pad", padding=1, group=wide)
            self.bn2, self.squeeze = nn.BatchNorm2d(wide), Squeeze(wide) if squeeze else None
            self.project, self.bn3 = nn.Conv2d(wide, outputs, 1), nn.BatchNorm2d(outputs)
            self.act, self.adds = act(), stride == 1 and inputs == outputs

        def construct(self, x):
            y = self.act(self.bn1(self.expand(x)))
            y = self.bn2(self.depth(y))
            if self.squeeze is not None:
                y = self.squeeze(y)
            y = self.bn3(self.project(self.act(y)))
            return x + y if self.adds else y

    return with_loss(
        ms,
        nn.SequentialCell(
            nn.Conv2d(3, 8, 3, 2, pad_mode="pad", padding=1),
            nn.BatchNorm2d(8),
            nn.HSwish(),
            Block(8, 16, 8, 1, True, nn.ReLU),
            Block(8, 24, 12, 2, False, nn.HSwish),
            Block(12, 36, 12, 1, True, nn.HSwish),
            nn.AvgPool2d(4),
            nn.Flatten(),
            nn.Dense(12, 4),
        ),
    )


@net("UNet", make(2, 1, 16, 16), make(2, 1, 16, 16, low=0.0), rate=0.5)
def _(ms):
    nn, ops = ms.nn, ms.ops

    def double(inputs, outputs):
        return nn.SequentialCell(
            nn.Conv2d(inputs, outputs, 3, has_bias=True),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, has_bias=True),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        )

    class UNet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.down1, self.down2, self.bottom = double(1, 4), double(4, 8), double(8, 16)
            self.pool = nn.MaxPool2d(2, 2)
            self.up2 = nn.Conv2dTranspose(16, 8, 2, 2)
            self.up1 = nn.Conv2dTranspose(8, 4, 2, 2)
            self.join2, self.join1 = double(16, 8), double(8, 4)
            self.last = nn.Conv2d(4, 1, 1)

        def construct(self, x):
            a = self.down1(x)
            b = self.down2(self.pool(a))
            c = self.bottom(self.pool(b))
            b = self.join2(ops.concat((self.up2(c), b), 1))
            return self.last(self.join1(ops.concat((self.up1(b), a), 1)))

    return nn.WithLossCell(UNet(), nn.BCEWithLogitsLoss())


@net("YOLO head", make(2, 16, 4, 4), make(2, 4, 4, 2, 7, low=0.05, high=0.95), rate=0.2)
def _(ms):
    nn, P = ms.nn, ms.ops

    class Yolo(nn.Cell):
        """Two boxes per cell of a grid: place, size, whether there is one, and its class."""

        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(16, 16, 3, pad_mode="same")
            self.bn, self.act = nn.BatchNorm2d(16), nn.LeakyReLU(0.1)
            self.conv2 = nn.Conv2d(16, 14, 1, has_bias=True)
            self.transpose, self.sigmoid = P.Transpose(), P.Sigmoid()
            self.cross_entropy = P.SigmoidCrossEntropyWithLogits()
            self.anchors = ms.Tensor(np.array([[1.0, 1.5], [2.0, 1.0]], np.float32))

        def construct(self, x, truth):
            x = self.conv2(self.act(self.bn(self.conv1(x))))
            x = P.Reshape()(self.transpose(x, (0, 2, 3, 1)), (2, 4, 4, 2, 7))
            place = self.sigmoid(x[..., 0:2])
            size = P.Exp()(x[..., 2:4]) * self.anchors
            near = P.Square()(place - truth[..., 0:2]).sum(-1) + P.Abs()(size - truth[..., 2:4]).sum(-1)
            sure = self.cross_entropy(x[..., 4:5], truth[..., 4:5])
            kind = self.cross_entropy(x[..., 5:], truth[..., 5:])
            weight = P.Cast()(truth[..., 4] > 0.5, ms.float32)
            return (near * weight).sum() / 10 + sure.mean() + kind.mean()

    return Yolo()


@net(
    "SSD head",
    make(2, 8, 4, 4),
    make(2, 32, 4),
    make(2, 32, low=0, high=3, dtype="int32"),
    rate=0.05,
)
def _(ms):
    nn, ops = ms.nn, ms.ops

    class Ssd(nn.Cell):
        """Places and classes of default boxes, with the loss over those that hold something."""

        def __init__(self):
            super().__init__()
            self.where, self.kind = nn.Conv2d(8, 8, 3, has_bias=True), nn.Conv2d(8, 6, 3, has_bias=True)
            self.smooth = nn.SmoothL1Loss()
            self.onehot = nn.OneHot(depth=3)

        def construct(self, x, boxes, labels):
            places = ops.transpose(self.where(x), (0, 2, 3, 1)).reshape(2, 32, 4)
            kinds = ops.transpose(self.kind(x), (0, 2, 3, 1)).reshape(2, 32, 3)
            mask = (labels > 0).astype(ms.float32)
            count = ops.maximum(mask.sum(), ms.Tensor(1.0, ms.float32))
            near = (self.smooth(places, boxes).mean(-1) * mask).sum() / count
            logs = ops.log_softmax(kinds, -1)
            return near - (logs * self.onehot(labels)).sum() / 64

    return Ssd()
