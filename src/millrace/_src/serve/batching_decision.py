"""Decide whether requests to a model are computed in batches.

The program of an archive is analysed: its batch axis must reach every result, and no operator may mix rows. Then the
loaded model is tried with extreme values. An ONNX file has no such analysis, only the trials.
"""

from __future__ import annotations

from typing import NamedTuple

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.log import get_logger
from millrace._src.runtime.graph.batch_axis import find_mixing

from .row_independence_trials import run_trials
from .runners.runner import ArchiveRunner, ModelRunner

__all__ = ["UNDECIDED", "Batching", "decide_batching"]

log = get_logger(__name__)


class Batching(NamedTuple):
    """Whether requests are batched, and why; shown in the metadata of the model."""

    on: bool
    reason: str

    def __str__(self) -> str:
        return f"{'on' if self.on else 'off'}: {self.reason}"


UNDECIDED = Batching(False, "the model is not served yet")


def decide_batching(model: str, runner: ModelRunner, takes_rows: bool, mode: str, max_batch: int) -> Batching:
    """Decide for a loaded model; `mode` and `max_batch` as ``Config`` has them."""
    batching = _decide(runner, takes_rows, mode, max_batch)
    if batching.on:
        log.info("model '%s': requests are computed together (%s)", model, batching.reason)
    elif mode == "on":
        raise ArgumentValueError(
            f"model '{model}': expected rows that do not depend on each other (batching='on'), got {batching.reason}. "
            "Set batching='auto' or 'off'."
        )
    elif takes_rows and mode == "auto" and max_batch > 1:
        log.warning("model '%s': requests are computed one by one: %s", model, batching.reason)
    return batching


def _decide(runner: ModelRunner, takes_rows: bool, mode: str, max_batch: int) -> Batching:
    if mode == "off":
        return Batching(False, "disabled by the configuration")
    if not takes_rows:
        return Batching(False, "the number of rows of an input or output is fixed")
    if max_batch == 1:
        return Batching(False, "max_batch is 1")
    analysed = isinstance(runner, ArchiveRunner)
    if isinstance(runner, ArchiveRunner):
        # a GraphRunner refuses a program in training mode
        mixing = find_mixing(runner.graph, evaluation_checked=True)
        if mixing is not None:
            return Batching(False, f"its rows may depend on each other. {mixing}")
    trials = run_trials(runner, max_batch, compare_single=not analysed)
    if trials.problem is not None:
        return Batching(False, f"its rows may depend on each other. Trial {trials.ran}: {trials.problem}")
    if analysed:
        return Batching(True, f"the program keeps rows independent; confirmed by {trials}")
    return Batching(True, f"not proven, the program is not analysed; rows were independent in {trials}")
