"""A position in a run, as small JSON: enough to go on with exactly the rows that would have come next."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from millrace.core.errors import CursorError
from millrace.data.plan.fingerprint import Fingerprint

__all__ = ["Cursor"]

VERSION = 2


@dataclasses.dataclass(frozen=True)
class Cursor:
    """Taken after the last delivered batch. ``fingerprint`` names the plan, so another plan is refused."""

    fingerprint: str
    # a few characters for each part of the plan: they say what differs when it meets another
    plan: list[str]
    seed: int
    epoch: int
    step: int
    stages: Any
    delivered: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"version": VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, saved: Any) -> Cursor:
        if not isinstance(saved, Mapping):
            raise CursorError(
                f"a state is the dict that iterator.state() returned, but got {type(saved).__name__}"
            )
        if saved.get("version") != VERSION:
            raise CursorError(
                f"this state has version {saved.get('version')!r}, but this Millrace reads version {VERSION}: it was "
                "saved by another release, which knew pipelines by other signs. Start again, or go on at the same "
                f"step with dataset.set_init_step(n); the state was taken after step {saved.get('step')!r} of epoch "
                f"{saved.get('epoch')!r}, both counted from 0."
            )
        names = [field.name for field in dataclasses.fields(cls)]
        missing = [name for name in names if name not in saved]
        if missing:
            raise CursorError(f"this state lacks {missing}; it is not what iterator.state() returned")
        return cls(**{name: saved[name] for name in names})

    def check(self, now: Fingerprint) -> None:
        """Refuse another plan, and say what differs."""
        if self.fingerprint != now.text:
            raise CursorError(
                "this state was saved by another pipeline, so the rows it stands for cannot be found again: "
                f"{now.differences(self.plan)}. Build the pipeline as it was; workers, executors, chunk sizes and "
                "the memory budget may change. What an object gathers while rows run can be kept out with "
                "__getstate__."
            )
