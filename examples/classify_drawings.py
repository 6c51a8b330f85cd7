"""Classification: LeNet learns digits that are drawn on the spot, with Model.fit.

Run it with: python examples/classify_drawings.py
"""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import millrace as ms
import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace import nn, train

ms.set_seed(1)  # order, random transforms and weights: every run is the same
ms.set_context(mode=ms.GRAPH_MODE)  # a step is recorded once and replayed; PYNATIVE_MODE gives the same bits


# 1. Data: digits at random places, in random grey, on noise.
def drawn(count, seed):
    draw, font = np.random.default_rng(seed), ImageFont.load_default(20)
    images, labels = [], np.arange(count, dtype=np.int32) % 10
    for label in labels:
        image = Image.fromarray(draw.integers(0, 60, (32, 32), dtype=np.uint8))
        place = tuple(draw.integers(2, 18, 2))
        ImageDraw.Draw(image).text(place, str(label), fill=int(draw.integers(140, 256)), font=font)
        images.append(np.asarray(image)[..., None])
    return np.stack(images), labels


def pipeline(rows, shuffle):
    data = ds.NumpySlicesDataset(rows, column_names=["image", "label"], shuffle=shuffle)
    data = data.map([vision.Rescale(1 / 128, -0.5), vision.HWC2CHW()], input_columns="image")
    return data.batch(32, drop_remainder=shuffle)


learned, held_out = pipeline(drawn(2000, seed=1), True), pipeline(drawn(300, seed=2), False)


# 2. The net, as MindSpore writes it.
class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(1, 8, 5, pad_mode="valid"),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(8, 16, 5, pad_mode="valid"),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Flatten(),
        )
        self.head = nn.SequentialCell(nn.Dense(400, 84, activation="relu"), nn.Dense(84, 10))

    def construct(self, x):
        return self.head(self.features(x))


# 3. Train, with an evaluation after each epoch.
EPOCHS = 5
net = LeNet()
steps = learned.get_dataset_size()
rates = nn.cosine_decay_lr(0.0, 0.003, EPOCHS * steps, steps, EPOCHS)
optimizer = nn.Adam(net.trainable_params(), rates)
model = train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
history = train.History()
model.fit(EPOCHS, learned, held_out, callbacks=[history])
print("held-out accuracy after each epoch:", [round(float(a), 3) for a in history.history["accuracy"]])

# 4. Use it. A wrong shape would be refused with the transform that mends it.
image, label = drawn(10, seed=3)
answer = model.predict(ms.Tensor((image / 128 - 0.5).astype(np.float32).transpose(0, 3, 1, 2))).argmax(1)
print(f"{int((answer.asnumpy() == label).sum())} of 10 new digits are read right")
