"""A first pipeline: read, transform, shuffle, batch, run, look at what happened.

Run it with: python examples/first_pipeline.py
"""

import numpy as np

import millrace.dataset as ds
import millrace.dataset.vision as vision

# 1. Some data: 600 small images of ten classes, in memory.
labels = np.arange(600, dtype=np.int32) % 10
images = (labels[:, None, None, None] * 20 + np.arange(32)[None, :, None, None]).astype(np.uint8)
images = np.broadcast_to(images, (600, 32, 32, 3)).copy()

# 2. A seed makes every run the same: the order, and what the random transforms do.
ds.config.set_seed(7)

# 3. The pipeline. Nothing runs yet: each call only describes a step.
data = ds.NumpySlicesDataset((images, labels), column_names=["image", "label"], shuffle=True)
data = data.map(
    operations=[
        vision.RandomCrop(28),
        vision.RandomHorizontalFlip(),
        vision.Rescale(1 / 255, 0.0),
        vision.HWC2CHW(),
    ],
    input_columns="image",
)
data = data.batch(64, drop_remainder=True)
print(f"{data.get_dataset_size()} batches an epoch, columns {data.get_col_names()}")

# 4. Run it: each "for" over the iterator is one epoch.
EPOCHS = 2
iterator = data.create_dict_iterator(num_epochs=EPOCHS, output_numpy=True)
for epoch in range(EPOCHS):
    for step, batch in enumerate(iterator):
        if step == 0:
            image, label = batch["image"], batch["label"]
            print(f"epoch {epoch}: {image.shape} {image.dtype}, first labels {label[:8].tolist()}")

# 5. What was run, and how it went.
print()
print(data.explain())
print()
print(data.report())
