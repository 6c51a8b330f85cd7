"""Every kind of pipeline the engine can run, for suites that must hold for all of them.

Each entry builds a fresh dataset. Functions live at module level so that worker processes can be given them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import millrace.dataset as ds
import millrace.dataset.text as text
import millrace.dataset.vision as vision
from millrace._src.data.transforms.base import Transform
from tests.contracts.transforms.text_examples import LINES, tokenizer_file

ROWS = 23


class Squares:
    """A random-access source with an array and a number per row."""

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return np.full((2, 3), index, np.float32), index * index

    def __len__(self) -> int:
        return ROWS


class Ragged:
    """Rows of different lengths, with text and a dict."""

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return np.arange(index % 5 + 1), f"row {index}", {"index": index}

    def __len__(self) -> int:
        return ROWS


def stream() -> Iterator[tuple[Any, ...]]:
    for index in range(ROWS):
        yield np.full(3, index, np.int32), index


class Noise(Transform):
    """A random transform, so that suites see whether random numbers depend on anything they must not."""

    random = True

    def params(self, draws: Any) -> tuple[Any, ...]:
        return (draws.uniform(0), draws.integers(1, 0, 1000))

    def row(self, value: Any, noise: float, shift: int) -> Any:
        return value + noise + shift


def double(value: Any) -> Any:
    return value * 2


def both(one: Any, two: Any) -> Any:
    return one.sum() + two, one - two


def is_even(value: Any) -> bool:
    return int(value) % 2 == 0


def short(value: Any) -> Any:
    return value[:3]


def scale(rows: list[Any], info: ds.BatchInfo) -> Any:
    return [row * (info.get_batch_num() + 1) + info.get_epoch_num() for row in rows]


def growing(info: ds.BatchInfo) -> int:
    return info.get_batch_num() % 3 + 1


def spread(x: Any, y: Any) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": x.ravel(), "k": np.full(x.size, y)}, shuffle=False)


def squares(**options: Any) -> ds.Dataset:
    return ds.GeneratorDataset(Squares(), ["x", "y"], **options)


def slices(**options: Any) -> ds.Dataset:
    data = {"x": np.arange(ROWS * 4, dtype=np.float32).reshape(ROWS, 4), "y": np.arange(ROWS)}
    return ds.NumpySlicesDataset(data, **options)


class Pictures:
    """JPEG files of several sizes, in memory."""

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return vision.encode_jpeg(picture(80 + index % 5, 90 + index % 7)), index

    def __len__(self) -> int:
        return ROWS


def picture(height: int, width: int) -> Any:
    steps = np.arange(height * width * 3, dtype=np.uint32).reshape(height, width, 3)
    return (steps * 2654435761 >> 24).astype(np.uint8)


def pictures(*operations: Any) -> ds.Dataset:
    return ds.GeneratorDataset(Pictures(), ["image", "label"]).map(list(operations), "image").batch(4)


def streamed() -> ds.Dataset:
    return ds.GeneratorDataset(stream, ["x", "y"])


class Documents:
    """Rows of 0 to 8 tokens, and a number for each token."""

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        size = index * 7 % 9
        return np.arange(size, dtype=np.int32) + 100 * index, np.full(size, index, np.int16)

    def __len__(self) -> int:
        return ROWS


def documents(**options: Any) -> ds.Dataset:
    return ds.GeneratorDataset(Documents(), ["ids", "from"], **options)


def size_of(ids: Any, numbers: Any) -> int:
    return len(ids) + 1


def is_full(ids: Any) -> bool:
    return len(ids) != 3


def tokenized() -> ds.Dataset:
    data = ds.NumpySlicesDataset({"ids": list(LINES) * 2, "number": np.arange(2 * len(LINES))})
    return data.map(text.HuggingFaceTokenizer(tokenizer_file()), "ids")


def square_stream() -> Iterator[tuple[Any, ...]]:
    rows = Squares()
    for index in range(9):
        yield rows[index]


def streamed_squares() -> ds.Dataset:
    return ds.GeneratorDataset(square_stream, ["x", "y"])


PIPELINES: dict[str, Callable[[], ds.Dataset]] = {
    "source": lambda: squares(),
    "source in order": lambda: squares(shuffle=False),
    "slices": lambda: slices(),
    "batch": lambda: squares().batch(4),
    "batch that drops": lambda: squares().batch(4, drop_remainder=True),
    "shuffle batch": lambda: slices(shuffle=False).shuffle(5).batch(4),
    "random map": lambda: squares().map(Noise(), "x").batch(4),
    "python map": lambda: squares().map(double, "x").batch(5),
    "two to two": lambda: squares().map(both, ["x", "y"], ["sum", "left"]).batch(3),
    "map after batch": lambda: squares().batch(4).map(Noise(), "x"),
    "list of operations": lambda: squares().map([double, Noise(), double], "x").batch(4),
    "filter": lambda: squares().map(Noise(), "x").filter(is_even, "y").batch(3),
    "filter that drops batches": lambda: slices().filter(is_even, "y").batch(4, drop_remainder=True),
    "take and skip": lambda: squares().skip(3).take(11).batch(4),
    "take after filter": lambda: squares().filter(is_even, "y").skip(1).take(7).batch(2),
    "repeat": lambda: squares().map(Noise(), "x").repeat(3).batch(4),
    "repeat, then random": lambda: squares(shuffle=False).repeat(2).map(Noise(), "x").batch(4),
    "batch, then repeat": lambda: squares().batch(5).repeat(2),
    "endless, cut": lambda: slices().repeat().take(50).batch(8),
    "shuffle of repeat": lambda: slices().repeat(2).shuffle(7).map(Noise(), "x").batch(4),
    "shuffle of batches": lambda: squares().batch(2).shuffle(4),
    "stream": streamed,
    "stream shuffle": lambda: streamed().shuffle(6).batch(4),
    "stream random map": lambda: streamed().map(Noise(), "x").batch(4),
    "stream repeat": lambda: streamed().repeat(2).batch(3),
    "concat": lambda: (squares() + squares(shuffle=False)).map(Noise(), "x").batch(4),
    "concat of one source twice": lambda: (lambda data: (data + data).shuffle(9).batch(4))(squares()),
    "zip": lambda: ds.zip((squares(), slices().rename(["x", "y"], ["a", "b"]))).map(Noise(), "a").batch(4),
    "zip of unequal": lambda: ds.zip((squares().take(9), streamed().rename(["x", "y"], ["a", "b"]))).batch(2),
    "flat map": lambda: squares().flat_map(spread).map(Noise(), "x").batch(10),
    "mix": lambda: ds.mix([squares(), squares(shuffle=False)], [2, 1]).map(Noise(), "x").batch(4),
    "mix that restarts": lambda: ds.mix(
        [squares(), streamed_squares(), squares().take(3)], [3, 2, 1], exhausted="restart"
    ).map(Noise(), "x"),
    "mix that drops": lambda: ds.mix([squares().take(5), streamed_squares()], exhausted="drop").batch(3),
    "mix of batches, repeated": lambda: ds.mix([squares().batch(2), squares().repeat(2).batch(2)]).repeat(2),
    "mix without end, cut": lambda: (
        ds.mix([squares().repeat(), squares().repeat()], [1, 3]).take(70).batch(8)
    ),
    "padded batch": lambda: ds.GeneratorDataset(Ragged(), ["x", "t", "d"]).padded_batch(
        4, pad_info={"x": ([None], -1)}
    ),
    "per batch map": lambda: squares().batch(4, per_batch_map=scale, input_columns=["x"]).repeat(2),
    "batch size by function": lambda: squares().batch(growing),
    "buckets": lambda: (
        ds.GeneratorDataset(Ragged(), ["x", "t", "d"])
        .project(["x"])
        .bucket_batch_by_length(["x"], [2, 4], [2, 3, 2])
    ),
    "pack": lambda: documents().pack(12, bins=3, end_token=-1, pad_token=-2).map(Noise(), "ids").batch(2),
    "pack that cuts": lambda: documents().pack(5, too_long="cut", bins=2),
    "pack that splits long ones": lambda: documents().pack(4, too_long="split", bins=4).batch(3),
    "pack that splits": lambda: documents().pack(7, split=True, end_token=-1).shuffle(3).batch(2),
    "pack of a stream": lambda: documents(shuffle=False).repeat(2).filter(is_full, "ids").pack(9, "ids"),
    "batch by tokens": lambda: documents().map(Noise(), "ids").batch(max_tokens=20),
    "batch by tokens, few rows": lambda: (
        documents(shuffle=False)
        .repeat(2)
        .batch(3, True, max_tokens=24, length_of=size_of, pad_info={"ids": ([9], -1), "from": None})
        .project("ids")
    ),
    "tokenized and packed": lambda: tokenized().pack(24, "ids", too_long="split", bins=3).batch(2),
    "tokenized, mixed, by tokens": lambda: ds.mix(
        [tokenized(), tokenized().take(5)], [1, 2], exhausted="drop"
    ).batch(max_tokens=60),
    "text and dicts": lambda: ds.GeneratorDataset(Ragged(), ["x", "t", "d"]).project(["t", "d"]).batch(4),
    "text rows": lambda: ds.GeneratorDataset(Ragged(), ["x", "t", "d"]).project(["t"]),
    "text batches": lambda: ds.NumpySlicesDataset(["a" * n for n in range(ROWS)], "t").batch(3),
    "shard": lambda: squares(num_shards=3, shard_id=1).map(Noise(), "x").batch(2),
    "shard of a stream": lambda: ds.GeneratorDataset(stream, ["x", "y"], num_shards=3, shard_id=2).batch(2),
    "sampler": lambda: squares(sampler=ds.SubsetRandomSampler([1, 5, 9, 13, 2])).batch(2),
    "batch sampler": lambda: squares(batch_sampler=[[1, 2], [3], [4, 5, 6]]).map(Noise(), "x"),
    "split": lambda: squares(shuffle=False).split([0.5, 0.5])[1].map(Noise(), "x").batch(4),
    "split of a stream": lambda: streamed().split([10, 13])[1].batch(4),
    "rename and project": lambda: squares().rename("x", "image").project(["image"]).shuffle(3).batch(4),
    "pictures, part decoded": lambda: pictures(
        vision.Decode(), vision.RandomResizedCrop(72), vision.Normalize([1.0], [2.0]), vision.HWC2CHW()
    ),
    "pictures, resized": lambda: pictures(vision.Decode(), vision.Resize(99), vision.CenterCrop(75)),
    "pictures, with a function": lambda: pictures(vision.RandomCropDecodeResize(72), double),
}
