"""One training script for threads, processes and a Ray cluster: only the place is said, and the batches are the same.

Run it with: python examples/run_anywhere.py
or with "processes", "ray" (it is started here; extra `ray`) or "ray HOST:PORT" (a cluster) after it.
"""

import hashlib
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import millrace as ms
import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace import nn

EPOCHS, BATCH = 3, 16


def draw_pictures(folder, count=96):
    """JPEG files of discs and squares; all nodes of a cluster must see them under the same name."""
    numbers = np.random.default_rng(1)
    for i in range(count):
        shape = ("disc", "square")[i % 2]
        (folder / shape).mkdir(exist_ok=True)
        image = Image.new("RGB", (48, 48), tuple(numbers.integers(0, 90, 3)))
        x, y, side = (int(n) for n in numbers.integers((2, 2, 14), (20, 20, 26)))
        paint = ImageDraw.Draw(image)
        outline = paint.ellipse if shape == "disc" else paint.rectangle
        outline((x, y, x + side, y + side), fill=tuple(numbers.integers(140, 256, 3)))
        image.save(folder / shape / f"{i}.jpg")


def pipeline(folder):
    data = ds.ImageFolderDataset(folder, shuffle=True, decode=True)
    flip, resize = vision.RandomHorizontalFlip(), vision.Resize((32, 32))
    return data.map([flip, resize, vision.Rescale(1 / 128, -1), vision.HWC2CHW()], ["image"]).batch(BATCH)


def one_step():
    first, second = nn.Conv2d(3, 8, 3, stride=2), nn.Conv2d(8, 8, 3, stride=2)
    net = nn.SequentialCell(first, nn.ReLU(), second, nn.ReLU(), nn.Flatten(), nn.Dense(512, 2))
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    return nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.003)).set_train()


def main(where="threads", address=None):
    ms.set_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        draw_pictures(Path(folder))
        data = pipeline(folder).run_on(where, address=address)  # the only line that knows
        step, seen = one_step(), hashlib.sha256()
        for epoch, batches in enumerate(data.epochs(EPOCHS), 1):
            losses = []
            for image, label in batches:
                seen.update(image.asnumpy().tobytes() + label.asnumpy().tobytes())
                losses.append(float(step(image, label)))
            print(f"epoch {epoch}: {len(losses)} batches, loss {np.mean(losses):.4f}")
        print("all batches:", seen.hexdigest()[:16])


if __name__ == "__main__":
    main(*sys.argv[1:])
