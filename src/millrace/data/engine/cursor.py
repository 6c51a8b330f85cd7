"""A position in a run, as small JSON: enough to go on with exactly the rows that would have come next."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from millrace.core.errors import CursorError

__all__ = ["Cursor"]

VERSION = 1


@dataclasses.dataclass(frozen=True)
class Cursor:
    """Taken after the last delivered batch. ``fingerprint`` names the plan, so another plan is refused."""

    fingerprint: str
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
                f"this state has version {saved.get('version')!r}, this Millrace reads version {VERSION}"
            )
        names = [field.name for field in dataclasses.fields(cls)]
        missing = [name for name in names if name not in saved]
        if missing:
            raise CursorError(f"this state lacks {missing}; it is not what iterator.state() returned")
        return cls(**{name: saved[name] for name in names})

    def check(self, fingerprint: str) -> None:
        if self.fingerprint != fingerprint:
            raise CursorError(
                "this state was saved by another pipeline: its ops, arguments, source sizes or error mode differ, "
                "so the rows it stands for cannot be found again. Build the pipeline as it was (worker counts, "
                f"executors and chunk sizes may change). Saved plan {self.fingerprint}, this plan {fingerprint}."
            )
