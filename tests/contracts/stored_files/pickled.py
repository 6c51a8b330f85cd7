"""Public objects whose pickles are kept. Nothing here holds a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millrace
import millrace.dataset as ds
from millrace import Parameter, Tensor, nn
from millrace.dataset import audio, text, transforms, vision

__all__ = ["OBJECTS"]


def _error() -> Exception:
    from millrace.dataset import deserialize

    try:
        deserialize({"op_type": "Nothing"})
    except Exception as error:
        return error.with_traceback(None)
    raise AssertionError


OBJECTS: dict[str, Callable[[], Any]] = {
    "Dataset": lambda: ds.NumpySlicesDataset([3, 1, 2], shuffle=False).batch(2),
    "MnistDataset": lambda: ds.MnistDataset("data/mnist", shuffle=False).map(vision.HWC2CHW(), "image"),
    "RandomSampler": lambda: ds.RandomSampler(True, 4),
    "SubsetSampler": lambda: ds.SubsetSampler([2, 0]),
    "Schema": lambda: ds.Schema("data/schema.json"),
    "DatasetCache": lambda: ds.DatasetCache(path="cache"),
    "Resize": lambda: vision.Resize((4, 5), vision.Inter.NEAREST),
    "Compose": lambda: transforms.Compose([vision.RandomCrop(4), vision.ToTensor()]),
    "Fade": lambda: audio.Fade(2, 3, audio.FadeShape.LINEAR),
    "Lookup": lambda: text.Lookup(text.Vocab.from_list(["a", "b"]), "a"),
    "Vocab": lambda: text.Vocab.from_list(["a", "b"]),
    "Inter": lambda: vision.Inter.LINEAR,
    "Shuffle": lambda: ds.Shuffle.FILES,
    "BorderType": lambda: audio.BorderType.EDGE,
    "float32": lambda: millrace.float32,
    "bfloat16": lambda: millrace.bfloat16,
    "Tensor": lambda: Tensor(np.array([1.5, 2.5], np.float32)),
    "Parameter": lambda: Parameter(Tensor(np.array([1, 2], np.int32)), name="p"),
    "Cell": lambda: nn.Dense(2, 1, weight_init="ones"),
    "error": _error,
}
