"""Pipelines whose saved positions are kept as files. They read the relative folder ``data``: run them from its parent.

No pipeline holds a function: its bytecode, and with it the fingerprint, differs between versions of Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import millrace
import millrace.dataset as ds
from millrace.dataset import audio, text, transforms, vision
from millrace.dataset.transforms import Relational

__all__ = [
    "PIPELINES",
    "SAVED_TRANSFORMS",
    "TUNED_SETTINGS",
    "cached",
    "training_data",
    "transformed",
    "tuned",
]

SAVED_TRANSFORMS = Path(__file__).parents[2] / "fixtures" / "json" / "transforms_0.2.0.json"

# name -> the pipeline
PIPELINES: dict[str, Callable[[], ds.Dataset]] = {}


def pipeline(build: Callable[[], ds.Dataset]) -> Callable[[], ds.Dataset]:
    PIPELINES[build.__name__] = build
    return build


def numbers(size: int = 24, **arguments: Any) -> ds.Dataset:
    values = {"x": np.arange(size, dtype=np.int32), "y": np.arange(size, dtype=np.float32) / 4}
    return ds.NumpySlicesDataset(values, **arguments)


@pipeline
def arrays() -> ds.Dataset:
    return numbers(shuffle=True).batch(3, drop_remainder=True)


@pipeline
def mnist() -> ds.Dataset:
    data = ds.MnistDataset("data/mnist", shuffle=True)
    operations = [
        vision.Resize((8, 8), vision.Inter.BICUBIC),
        vision.RandomHorizontalFlip(0.5),
        vision.RandomRotation(20, vision.Inter.NEAREST),
        vision.Normalize([0.5], [0.25]),
        vision.HWC2CHW(),
    ]
    data = data.map(operations, "image").map(transforms.TypeCast(millrace.int32), "label")
    return data.shuffle(4).batch(2).repeat(2)


@pipeline
def images() -> ds.Dataset:
    data = ds.ImageFolderDataset("data/images", class_indexing={"a": 3, "b": 5}, decode=True)
    crop = vision.RandomCrop((6, 6), padding=1, padding_mode=vision.Border.REFLECT)
    choice = transforms.RandomChoice([vision.Invert(), vision.Equalize()])
    data = data.map(transforms.Compose([crop, choice]), "image")
    data = data.map([vision.AutoAugment(vision.AutoAugmentPolicy.CIFAR10), vision.ToTensor()], "image")
    return data.batch(2, drop_remainder=True)


@pipeline
def words() -> ds.Dataset:
    data = ds.TextFileDataset("data/lines.txt", shuffle=ds.Shuffle.GLOBAL)
    vocab = text.Vocab.from_list(["to", "be", "or", "not"], special_tokens=["<unk>"])
    data = data.map(
        [
            text.NormalizeUTF8(text.NormalizeForm.NFKC),
            text.WhitespaceTokenizer(),
            text.Lookup(vocab, "<unk>", millrace.int32),
            transforms.PadEnd([4], 0),
            transforms.Mask(Relational.GT, 1),
        ],
        "text",
    )
    return data.batch(2)


@pipeline
def sound() -> ds.Dataset:
    data = ds.NumpySlicesDataset({"wave": np.linspace(-1, 1, 320, dtype=np.float32).reshape(8, 40)})
    data = data.map(
        [
            audio.Fade(4, 4, audio.FadeShape.LINEAR),
            audio.BassBiquad(8000, 3.0),
            audio.Spectrogram(n_fft=16, window=audio.WindowType.HANN, pad_mode=audio.BorderType.REFLECT),
            audio.AmplitudeToDB(audio.ScaleType.POWER),
        ],
        "wave",
    )
    return data.batch(2)


@pipeline
def records() -> ds.Dataset:
    padded = {"id": np.int64(-1), "name": "none"}
    data = ds.MindDataset(
        "data/rows.mindrecord", ["id", "name"], num_shards=2, shard_id=0, padded_sample=padded, num_padded=2
    )
    return data.batch(2)


@pipeline
def tables() -> ds.Dataset:
    data = ds.CSVDataset("data/rows.csv", column_defaults=[1, "", 0.5], column_names=["id", "name", "share"])
    other = ds.RandomDataset(12, ds.Schema("data/schema.json"), num_samples=12)
    return data.zip(other.rename("id", "number")).project(["name", "number"]).batch(2)


@pipeline
def manifest() -> ds.Dataset:
    data = ds.ManifestDataset("data/rows.manifest", usage="train", sampler=ds.SubsetSampler([2, 0, 1, 1]))
    return data.skip(1).take(2)


@pipeline
def mixed() -> ds.Dataset:
    one, other = numbers(10, shuffle=False), numbers(6, sampler=ds.RandomSampler(True, 9))
    return ds.mix([one, other], [0.75, 0.25], exhausted="restart").take(15).batch(2)


@pipeline
def joined() -> ds.Dataset:
    return (numbers(5, shuffle=False) + numbers(7, num_shards=2, shard_id=1)).padded_batch(
        2, pad_info={"x": ([], 7)}
    )


def _sampled(sampler: Any) -> Callable[[], ds.Dataset]:
    return lambda: numbers(12, sampler=sampler()).batch(2)


def _chained() -> Any:
    sampler = ds.SequentialSampler(1, 4)
    sampler.add_child(ds.DistributedSampler(2, 1, shuffle=True))
    return sampler


PIPELINES |= {
    "sampler_chained": _sampled(_chained),
    "sampler_distributed": _sampled(lambda: ds.DistributedSampler(3, 2, offset=1)),
    "sampler_random": _sampled(lambda: ds.RandomSampler(num_samples=7)),
    "sampler_subset": _sampled(lambda: ds.SubsetSampler([3, 1, 2, 11, 0])),
    "sampler_subset_random": _sampled(lambda: ds.SubsetRandomSampler([3, 1, 2, 11, 0])),
    "sampler_weighted": _sampled(lambda: ds.WeightedRandomSampler([0.5, 1, 2] * 4, 9)),
    "sampler_pk": lambda: ds.MnistDataset("data/mnist", sampler=ds.PKSampler(2, shuffle=True)).batch(2),
}


def transformed(name: str) -> ds.Dataset:
    """A pipeline that maps one transform of SAVED_TRANSFORMS; it is bound and positioned, its rows are not computed."""
    schema = ds.Schema()
    schema.add_column("c", "int8", [1])
    plan = ds.serialize(ds.RandomDataset(4, schema).map(transforms.Duplicate(), "c", ["a", "b"]))
    saved = json.loads(SAVED_TRANSFORMS.read_text(encoding="utf-8"))[name]
    data = ds.deserialize({**plan, "operations": [saved], "output_columns": []})
    assert data is not None
    return data


def training_data(size: int = 12) -> ds.Dataset:
    values = np.linspace(-1, 1, size * 3, dtype=np.float32).reshape(size, 3)
    return ds.NumpySlicesDataset({"x": values, "y": values[:, :2] * 2}, shuffle=True).batch(2)


def tuned() -> ds.Dataset:
    """The pipeline whose numbers of workers autotune has chosen; set TUNED_SETTINGS before."""
    schema = ds.Schema()
    schema.add_column("x", "int32", [2])
    data = ds.RandomDataset(total_rows=32, schema=schema, num_parallel_workers=1)
    return data.map(transforms.TypeCast(np.float32), ["x"], num_parallel_workers=1).batch(4)


TUNED_SETTINGS = {
    "num_parallel_workers": 1,
    "prefetch_size": 1,
    "executor": "threads",
    "autotune_interval": 10**6,
}


def cached(folder: str) -> ds.Dataset:
    """Rows kept in a folder that outlives the process."""
    data = ds.MnistDataset("data/mnist", shuffle=False)
    return data.map(vision.Resize((6, 6)), "image", cache=ds.DatasetCache(path=folder)).batch(2)
