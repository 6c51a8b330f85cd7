"""Stage interface: `pull`, `state`, `restore`, `skip`, `interrupt` and `close`, and the end-of-epoch signals.

``pull()`` returns the next chunk, END_OF_EPOCH once at the end of each epoch (the next pull starts the next epoch), and
END_OF_DATA when there are no more epochs. ``state()`` is the position after the last pull: a stage restored to it
continues with exactly the rows that would have come. States are small and JSON-serializable.
"""

from __future__ import annotations

import enum
from typing import Any, Final

from millrace._src.core.errors import PlanError
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk

__all__ = [
    "END_OF_DATA",
    "END_OF_EPOCH",
    "Interrupted",
    "StageOutput",
    "Signal",
    "Stage",
    "State",
    "UnaryStage",
]


class Signal(enum.Enum):
    END = "end of epoch"
    DONE = "no more epochs"


END_OF_EPOCH: Final = Signal.END
END_OF_DATA: Final = Signal.DONE

StageOutput = Chunk | Signal
State = Any


class Interrupted(PlanError):
    """The run is being closed: raised inside stages to end their waits."""


class Stage:
    """Base class of all stages; a barrier overrides pull and state, and closes what it owns."""

    stats: StageStats
    # set by interrupt() from another thread; checked by stages that produce chunks or wait for them
    is_interrupted = False

    def pull(self) -> StageOutput:
        raise TypeError(f"{type(self).__name__} does not define this")

    def state(self) -> State:
        raise TypeError(f"{type(self).__name__} does not define this")

    def restore(self, state: State) -> None:
        """Restore a position; called before the first pull."""
        raise TypeError(f"{type(self).__name__} does not define this")

    def skip_epoch(self) -> None:
        """Skip the rest of this epoch: the next pull is the first of the next epoch."""
        while isinstance(self.pull(), Chunk):
            pass

    def skip(self, rows: int) -> int:
        """Skip up to this many of the next rows of this epoch without producing them. Returns the number of skipped
        rows.

        Called before the first pull of an epoch. A stage that would have to produce them returns 0, and the caller
        drops them.
        """
        return 0

    def is_ready(self) -> bool:
        """Whether a pull returns without waiting for a worker."""
        return True

    def interrupt(self) -> None:
        """End all waits of threads in this stage and below, from any thread, without blocking; close() follows."""
        self.is_interrupted = True

    def raise_if_interrupted(self) -> None:
        """Raise Interrupted when the run is being closed."""
        if self.is_interrupted:
            raise Interrupted("Iterator does not have a running pipeline: it is being closed")

    def close(self) -> None:
        """Release everything; safe at any time and more than once."""


class UnaryStage(Stage):
    """A stage with one upstream stage; delegates readiness, interruption and closing."""

    def __init__(self, upstream: Stage, stats: StageStats) -> None:
        self.upstream = upstream
        self.stats = stats

    def is_ready(self) -> bool:
        return self.upstream.is_ready()

    def skip_epoch(self) -> None:
        self.upstream.skip_epoch()

    def interrupt(self) -> None:
        super().interrupt()
        self.upstream.interrupt()

    def close(self) -> None:
        self.upstream.close()
