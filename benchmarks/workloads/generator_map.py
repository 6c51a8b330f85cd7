"""The generator with a Python function in map: what does one more Python call per row cost?"""

from __future__ import annotations

from typing import Any

from . import STREAM, Bar
from .generator import (
    like_dali,
    like_grain,
    like_huggingface,
    like_mindspore,
    like_tensorflow,
    like_torch,
    like_webdataset,
)

TITLE = "Python generator and map"
QUESTION = "the same with a Python lambda in map (image * 2)"
NOTE = (
    "GeneratorDataset(source, shuffle=True).map(lambda).batch(64), with the defaults of each engine; MindSpore also "
    "with 2 worker processes. PyTorch: the same function called in __getitem__, 0 and 2 (persistent) workers. tf.data: "
    "in map through numpy_function, since it is Python's; the others in their own map, DALI in the external source."
)
WHY = {
    "torch": "with 0 workers the loop runs in the caller: no plan, queue or thread.",
    "webdataset": "it runs in the caller, and shuffles within 1,000 rows instead of the whole epoch.",
}
METRICS = STREAM
BARS = (
    Bar("at least 8 times MindSpore", "rows_per_s", ratio=8),
    Bar("ahead of WebDataset", "rows_per_s", ratio=1, peer="webdataset"),
)

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
    "tensorflow": {"from_generator": lambda quick: like_tensorflow(quick, FUNCTION)},
    "grain": {
        "1 thread": lambda quick: like_grain(quick, 1, FUNCTION),
        "2 threads": lambda quick: like_grain(quick, 2, FUNCTION),
    },
    "dali": {"external source": lambda quick: like_dali(quick, FUNCTION)},
    "webdataset": {"DataPipeline": lambda quick: like_webdataset(quick, FUNCTION)},
    "huggingface": {"from_generator": lambda quick: like_huggingface(quick, FUNCTION)},
}
