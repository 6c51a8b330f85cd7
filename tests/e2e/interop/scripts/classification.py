"""A classifier's loader: a folder of images, lists of transforms, labels cast, mixing over whole batches."""

import inspect

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore.dataset import transforms, vision
from PIL import Image
from report import report, rows


def write_images(folder):
    for label, name in enumerate(["ant", "bee", "cow"]):
        (folder / "train" / name).mkdir(parents=True)
        for k in range(3):
            pixels = np.full((9, 12, 3), label * 60 + k * 10, np.uint8)
            pixels[2:5, 3:7] = 255 - k
            Image.fromarray(pixels).save(folder / "train" / name / f"{k}.png")


def mix(images, labels):
    """Blend each picture with the one opposite."""
    hot = np.eye(3, dtype=np.float32)[labels]
    return (0.75 * images + 0.25 * images[::-1]).astype(np.float32), 0.75 * hot + 0.25 * hot[::-1]


def eval_transforms(size):
    return [
        vision.Decode(),
        vision.Resize(size + 2),
        vision.CenterCrop(size),
        vision.Normalize(mean=[123.0, 116.0, 103.0], std=[58.0, 57.0, 57.0]),
        vision.HWC2CHW(),
    ]


def main(folder):
    write_images(folder)
    sampler = ds.SequentialSampler(num_samples=7)
    data = ds.ImageFolderDataset(
        dataset_dir=str(folder / "train"), shuffle=None, sampler=sampler, num_parallel_workers=2
    )
    size = data.get_dataset_size()
    data.num_classes = lambda: 3
    data = data.map(
        operations=eval_transforms(6), input_columns="image", num_parallel_workers=2,
        python_multiprocessing=False,
    )  # fmt: skip
    target = "label" if "label" in data.get_col_names() else "fine_label"
    data = data.map(operations=transforms.TypeCast(ms.int32), input_columns=target, num_parallel_workers=2)
    data = data.batch(batch_size=3, drop_remainder=True)
    mixed = data.map(input_columns=["image", target], num_parallel_workers=2, operations=mix)
    shards = [
        ds.ImageFolderDataset(str(folder / "train"), shuffle=False, num_shards=2, shard_id=k, decode=True)
        for k in range(2)
    ]
    tuples = list(data.create_tuple_iterator(output_numpy=True, num_epochs=1))
    tensors = [
        [type(value).__name__, str(value.dtype), value.shape]
        for row in data.create_tuple_iterator(num_epochs=1)
        for value in row
    ]
    return {
        "size": size,
        "batches": data.get_dataset_size(),
        "batch_size": data.get_batch_size(),
        "classes": data.num_classes(),
        "index": ds.ImageFolderDataset(str(folder / "train")).get_class_indexing(),
        "tuples": tuples,
        "tensors": tensors,
        "mixed": rows(mixed),
        "shards": [[row["label"] for row in rows(shard)] for shard in shards],
        "kwargs": "kwargs" in inspect.signature(data.map).parameters,
        "parameters": [
            [
                name
                for name, kind in inspect.signature(method).parameters.items()
                if kind.kind != kind.KEYWORD_ONLY
            ]
            for method in (data.map, data.batch, data.padded_batch, data.filter, data.split)
        ],
    }


if __name__ == "__main__":
    report(main)
