"""What a stage is: an iterator of chunks with a state.

``pull()`` returns the next chunk, END once at the end of each epoch (the next pull begins the next epoch), and
DONE when there are no more epochs. ``state()`` is the position after what was pulled last: a stage restored to
it goes on with exactly the rows that would have come. States are small and JSON-able.
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
    """The run is being closed: raised inside stages to end what they wait for."""


class Stage:
    """Base of all stages; a barrier overrides pull and state, and closes what it owns."""

    stats: StageStats
    # set by interrupt, from another thread; a stage at which chunks begin or are waited for looks at it
    is_interrupted = False

    def pull(self) -> StageOutput:
        raise TypeError(f"{type(self).__name__} does not define this")

    def state(self) -> State:
        raise TypeError(f"{type(self).__name__} does not define this")

    def restore(self, state: State) -> None:
        """Go to a position; called before the first pull."""
        raise TypeError(f"{type(self).__name__} does not define this")

    def skip_epoch(self) -> None:
        """Leave out the rest of this epoch: the next pull is the first of the next epoch."""
        while isinstance(self.pull(), Chunk):
            pass

    def skip(self, rows: int) -> int:
        """Leave out up to so many of the next rows of this epoch without making them; how many were left out.

        Called before the first pull of an epoch. A stage that would have to make them answers 0, and the caller drops
        them.
        """
        return 0

    def is_ready(self) -> bool:
        """False when a pull would have to wait for a worker."""
        return True

    def interrupt(self) -> None:
        """End whatever a thread waits for in here or below, from any thread, at once; close comes after it."""
        self.is_interrupted = True

    def raise_if_interrupted(self) -> None:
        """End this pull when the run is being closed."""
        if self.is_interrupted:
            raise Interrupted("Iterator does not have a running pipeline: it is being closed")

    def close(self) -> None:
        """Release everything; safe at any time and more than once."""


class UnaryStage(Stage):
    """A stage with one upstream that hands readiness, interrupting and closing on."""

    def __init__(self, up: Stage, stats: StageStats) -> None:
        self.upstream = up
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
