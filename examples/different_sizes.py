"""Rows of different sizes in one batch: padding, buckets, and one size per batch as YOLO does it.

Run it with: python examples/different_sizes.py
"""

import cv2
import numpy as np

import millrace.dataset as ds


class Sentences:
    """Token numbers; the sentences are between 3 and 40 tokens long."""

    def __getitem__(self, index):
        length = 3 + (index * 17) % 38
        return (np.arange(1, length + 1, dtype=np.int32),)

    def __len__(self):
        return 240


def padding(batches):
    """The share of a batch that is padding."""
    cells = sum(batch["tokens"].size for batch in batches)
    return 1 - sum(np.count_nonzero(batch["tokens"]) for batch in batches) / cells


def run(data):
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


ds.config.set_seed(1)
sentences = ds.GeneratorDataset(Sentences(), ["tokens"], shuffle=True)

# 1. Pad every row to the longest of its batch.
padded = run(sentences.padded_batch(16, pad_info={"tokens": ([None], 0)}))
print(f"padded_batch:           {len(padded)} batches, {padding(padded):.0%} padding")

# 2. Put sentences of like length together: less padding. One dataset may feed several pipelines.
bucketed = run(
    sentences.bucket_batch_by_length(
        column_names=["tokens"],
        bucket_boundaries=[10, 20, 30],
        bucket_batch_sizes=[32, 16, 12, 8],
        pad_info={"tokens": ([None], 0)},
    )
)
print(f"bucket_batch_by_length: {len(bucketed)} batches, {padding(bucketed):.0%} padding")


# 3. Images: one size per batch, another for each, chosen from the epoch and the batch number.
class Images:
    def __getitem__(self, index):
        return (np.full((90 + index % 40, 120 - index % 30, 3), index, np.uint8),)

    def __len__(self):
        return 60


def multi_scale(images, info):
    size = 64 + 32 * ((info.get_epoch_num() + info.get_batch_num()) % 3)
    return ([cv2.resize(image, (size, size)).transpose(2, 0, 1) for image in images],)


images = ds.GeneratorDataset(Images(), ["image"], shuffle=True)
images = images.batch(20, per_batch_map=multi_scale, input_columns=["image"], output_columns=["image"])
iterator = images.create_dict_iterator(num_epochs=2, output_numpy=True)
for epoch in range(2):
    print(f"epoch {epoch}:", [batch["image"].shape for batch in iterator])
