"""How long until the first batch is there, in a fresh process that has imported its engine and made its data?"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import FIRST, Bar, arrays, generator, generator_map

TITLE = "First batch"
QUESTION = "time to the first batch, from building the pipeline in a fresh process"
NOTE = (
    "The three pipelines above, each built and asked for one batch, with each engine's defaults (PyTorch: 0 workers, "
    "which starts fastest). MindSpore's shuffle operator fills its buffer first; the other two shuffle in the sampler. "
    "The import is not counted here; it has its own table."
)
WHY = {
    "mindspore": "both need some milliseconds to start their threads; with its sampler MindSpore fills no buffer here.",
    "torch": (
        "with 0 workers PyTorch makes the first batch in the caller at once; Millrace first binds the plan, runs its "
        "passes and starts its threads, some milliseconds in all."
    ),
}
METRICS = (FIRST,)
BARS = (
    Bar("under 0.3 s", "first_batch_s", below=0.3),
    Bar("at most 1.2 times as long as PyTorch", "first_batch_s", ratio=1 / 1.2, peer="torch"),
)


def _one(module: ModuleType, peer: str) -> Callable[[bool], dict[str, Any]]:
    return lambda quick: getattr(module, peer)(quick, epochs=0)


# The same three for every peer: variants are compared name by name, none of them stands for a peer's best.
PAIRED = True
PIPELINES = {"arrays": arrays, "generator": generator, "generator with map": generator_map}
VARIANTS = {
    peer: {name: _one(module, peer) for name, module in PIPELINES.items()}
    for peer in ("millrace", "mindspore", "torch")
}
