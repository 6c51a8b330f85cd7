"""Segmentation: a small U-net finds discs in noise, with a training step of one's own.

Run it with: python examples/segment_drawings.py
"""

import numpy as np

import millrace as ms
import millrace.dataset as ds
from millrace import nn, ops

ms.set_seed(1)


# 1. Data: an image and its mask come from one row, so random flips must hit both alike.
class Discs:
    def __init__(self, count, size=32):
        self.count, self.grid = count, np.mgrid[:size, :size]

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        draw = np.random.default_rng(number)
        (y, x), radius = draw.integers(8, 24, 2), draw.integers(4, 9)
        mask = (self.grid[0] - y) ** 2 + (self.grid[1] - x) ** 2 < radius**2
        return (mask + draw.normal(0, 0.5, (1, *mask.shape))).astype(np.float32), mask.astype(np.int32)


def flipped(image, mask):
    return (image[:, :, ::-1], mask[:, ::-1]) if image[0, 0, 0] > 0 else (image, mask)


def pipeline(count, shuffle):
    data = ds.GeneratorDataset(Discs(count), ["image", "mask"], shuffle=shuffle)
    return data.map(flipped, input_columns=["image", "mask"]).batch(16)


# 2. Down, up, and a way across.
class SmallUnet(nn.Cell):
    def __init__(self, wide=12):
        super().__init__()
        self.first = nn.SequentialCell(nn.Conv2d(1, wide, 3), nn.BatchNorm2d(wide), nn.ReLU())
        self.down = nn.SequentialCell(nn.MaxPool2d(2, 2), nn.Conv2d(wide, 2 * wide, 3), nn.ReLU())
        self.up, self.last = nn.Conv2dTranspose(2 * wide, wide, 2, 2), nn.Conv2d(2 * wide, 2, 3)

    def construct(self, x):
        x = self.first(x)
        return self.last(ops.cat((x, self.up(self.down(x))), axis=1))


net = SmallUnet()
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)

# 3. One's own step: value_and_grad and the optimizer, recorded as one graph by @ms.jit.
gradients = ms.value_and_grad(lambda x, mask: ops.cross_entropy(net(x), mask), None, optimizer.parameters)


@ms.jit
def step(image, mask):
    loss, found = gradients(image, mask)
    optimizer(found)
    return loss


net.set_train()
for epoch, rows in enumerate(pipeline(320, True).epochs(3)):
    losses = [step(image, mask) for image, mask in rows]
    print(f"epoch {epoch}: loss {float(losses[-1]):.3f}")

# 4. How much of disc and answer is common to both (intersection over union), on rows that were held out.
net.set_train(False)
shared = whole = 0
for image, mask in pipeline(400, False).skip(20).create_tuple_iterator(num_epochs=1):
    answer = net(image).argmax(1)
    shared += int((answer * mask).sum())
    whole += int(ops.maximum(answer, mask).sum())
print(f"intersection over union on held-out images: {shared / whole:.2f}")
