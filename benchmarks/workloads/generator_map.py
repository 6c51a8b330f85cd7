"""The generator with a Python function in map: what does one more Python call per row cost?"""

from __future__ import annotations

from typing import Any

from . import STREAM, Bar
from .generator import like_mindspore, like_torch

QUESTION = "The same with a Python lambda in map (image * 2)"
NOTE = (
    "GeneratorDataset(source, shuffle=True).map(lambda).batch(64), with the defaults of each engine; MindSpore also "
    "with 2 worker processes. PyTorch: the same function called in __getitem__, 0 and 2 (persistent) workers."
)
METRICS = STREAM
BARS = (Bar("at least 8 times MindSpore", "rows_per_s", ratio=8),)

FUNCTION = lambda image: image * 2  # noqa: E731  a lambda is what the question is about


def millrace(quick: bool, epochs: int | None = None) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, FUNCTION, epochs=epochs)


def mindspore(quick: bool, workers: int | None = None, epochs: int | None = None) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, FUNCTION, workers, epochs)


def torch(quick: bool, workers: int = 0, epochs: int | None = None) -> dict[str, Any]:
    return like_torch(quick, workers, FUNCTION, epochs)


VARIANTS = {
    "millrace": {"default": millrace},
    "mindspore": {"default": mindspore, "2 processes": lambda quick: mindspore(quick, 2)},
    "torch": {"0 workers": torch, "2 workers": lambda quick: torch(quick, 2)},
}
