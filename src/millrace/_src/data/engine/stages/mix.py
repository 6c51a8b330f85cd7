"""Mix stage: weighted random interleaving of several inputs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import DataError
from millrace._src.core.random.rng import RandomStream, derive_row_ids
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.plan.nodes.order_ops import Mix

from .base import END_OF_DATA, END_OF_EPOCH, Stage, StageOutput, State
from .concat_zip import MultiInputStage, SchemaConsistencyCheck
from .rebatch import RowBuffer
from .stage_registry import StageContext, register_stage

__all__ = ["MixStage"]

# Number of positions for which inputs are sampled at a time; how many rows leave together depends on the available
# rows.
BLOCK = 256


class MixStage(MultiInputStage):
    """Weighted random interleaving. The input of a row is a function of (seed, epoch, position), so the state holds
    only counts.

    An exhausted input is detected when a row is sampled from it, never earlier: chunk boundaries change nothing.
    """

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        upstreams, stats, node = context.upstreams, context.stats, context.node
        self.node: Mix = node
        self.seed, self.epochs = context.seed, context.epochs
        self.sides = [RowBuffer(upstream) for upstream in upstreams]
        self.weights = np.array(node.weights, np.float64)
        self.epoch, self.position = 0, 0
        # how often each input was exhausted in this epoch, and whether it has given a row since
        self.turns, self.gave = [0] * len(upstreams), [False] * len(upstreams)
        self._consistency = SchemaConsistencyCheck("Mix", "mixed")
        stats.sampled = [0] * len(upstreams)

    def pull(self) -> StageOutput:
        if self.node.exhausted == "restart" and self.epochs is not None and self.epoch >= self.epochs:
            return END_OF_DATA
        while True:
            choices = self._sample_inputs()
            signals = {int(k): self.sides[k].fill(1) for k in np.unique(choices)}
            if END_OF_DATA in signals.values():
                return END_OF_DATA
            ready = self._count_ready(choices)
            if ready:
                return self._take_rows(choices[:ready])
            if self._end_input(int(choices[0])):
                self.skip_epoch()
                return END_OF_EPOCH

    def _sample_inputs(self) -> npt.NDArray[np.int64]:
        """Sample the inputs of the next rows."""
        positions = np.arange(self.position, self.position + BLOCK, dtype=np.uint64)
        random_stream = RandomStream.for_rows(positions, seed=self.seed, epoch=self.epoch, op=self.node.op_id)
        weights = self.weights
        if self.node.exhausted == "drop":
            weights = np.where(np.array(self.turns) == 0, weights, 0.0)
        ends = np.cumsum(weights)
        # an input with weight 0 is an empty interval; the last input with a positive weight covers rounding errors
        last = int(np.flatnonzero(weights)[-1])
        choices: npt.NDArray[np.int64] = np.searchsorted(
            ends, random_stream.uniform(0) * ends[-1], side="right"
        )
        return np.minimum(choices, last)

    def _count_ready(self, choices: npt.NDArray[np.int64]) -> int:
        """Number of sampled rows that are available, up to the first that is not."""
        ready = len(choices)
        for k in np.unique(choices):
            positions = np.flatnonzero(choices == k)
            have = self.sides[k].num_rows
            if have < len(positions):
                ready = min(ready, int(positions[have]))
        return ready

    def _take_rows(self, choices: npt.NDArray[np.int64]) -> Chunk:
        parts: list[Chunk] = []
        for k in np.unique(choices).tolist():
            part = self.sides[k].take(int((choices == k).sum()))
            self._consistency.check(part)
            ids = derive_row_ids(part.ids, k, self.turns[k]) if k or self.turns[k] else part.ids
            parts.append(Chunk(part.columns, ids, self.numbered(part, k)))
            self.gave[k] = True
            self.stats.sampled[k] += len(part)
        whole = Chunk.concat(parts)
        if len(parts) > 1:  # reorder from input order to sampled order
            order = np.empty(len(choices), np.int64)
            order[np.argsort(choices, kind="stable")] = np.arange(len(choices))
            whole = whole.take(order)
        chunk = Chunk(whole.columns, whole.ids, whole.origin, self.epoch, self.position)
        self.position += len(chunk)
        self.stats.rows += len(chunk)
        self.stats.chunks += 1
        return chunk

    def _end_input(self, k: int) -> bool:
        """Handle the end of input k. Returns whether the epoch ends with it."""
        if not self.gave[k] and self.node.exhausted != "drop":
            raise DataError(
                f"dataset {k} of mix has no rows and cannot provide its share of {self.node.share(k):.3g}; "
                "remove it, or use mix(..., exhausted='drop')",
                op=self.stats.name,
            )
        self.turns[k], self.gave[k] = self.turns[k] + 1, False
        if self.node.exhausted == "stop":
            return True
        if all(self.turns):
            return True
        if self.node.exhausted == "restart":
            self.sides[k].take_signal()
        return False

    def skip_epoch(self) -> None:
        for side in self.sides:
            side.skip_rest()
        self.epoch, self.position = self.epoch + 1, 0
        self.turns, self.gave = [0] * len(self.upstreams), [False] * len(self.upstreams)

    def state(self) -> State:
        sides = [side.state() for side in self.sides]
        position = {"epoch": self.epoch, "position": self.position}
        return {"sides": sides, **position, "turns": list(self.turns), "gave": list(self.gave)}

    def restore(self, state: State) -> None:
        for side, inner in zip(self.sides, state["sides"], strict=True):
            side.restore(inner)
        self.epoch, self.position = state["epoch"], state["position"]
        self.turns, self.gave = list(state["turns"]), list(state["gave"])


@register_stage(Mix)
def _mix(context: StageContext) -> Stage:
    return MixStage(context)
