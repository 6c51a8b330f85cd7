"""Resumable position of a pipeline run as small JSON, tied to the plan fingerprint.

A run that is resumed from it produces exactly the rows that would have come next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from millrace._src.core.errors import CursorError
from millrace._src.data.plan.fingerprint.plan_fingerprint import Fingerprint

__all__ = ["Cursor", "check_state_layout"]

VERSION = 3
# Written by version 0.2.0, whose fingerprints hold module paths instead of ids.
VERSION_OF_0_2_0 = 2

_DAMAGED = "this state is damaged"


def check_state_layout(fresh: Any, saved: Any) -> None:
    """Reject a saved state whose structure differs from a fresh one: other container types, or no integer.

    >>> check_state_layout([0, {"skip": 0}], [3, {"skip": "x"}])
    Traceback (most recent call last):
    ...
    millrace.errors.CursorError: this state is damaged: expected an integer, got str
    """
    if isinstance(fresh, Mapping):
        if not isinstance(saved, Mapping):
            raise CursorError(f"{_DAMAGED}: expected a dict, got {type(saved).__name__}")
        for name in fresh.keys() & saved.keys():
            check_state_layout(fresh[name], saved[name])
    elif isinstance(fresh, (list, tuple)):
        if not isinstance(saved, (list, tuple)):
            raise CursorError(f"{_DAMAGED}: expected a list, got {type(saved).__name__}")
        for fresh_item, saved_item in zip(fresh, saved):
            check_state_layout(fresh_item, saved_item)
    elif type(fresh) is int:
        if type(saved) is not int:
            raise CursorError(f"{_DAMAGED}: expected an integer, got {type(saved).__name__}")
        if not min(0, fresh) <= saved < 2**63:
            raise CursorError(f"{_DAMAGED}: expected a position, got an integer out of range")


@dataclasses.dataclass(frozen=True)
class Cursor:
    """Position after the last delivered batch. ``fingerprint`` identifies the plan; other plans are rejected."""

    fingerprint: str
    # a short digest of each op, to describe how another plan differs
    plan: list[str]
    seed: int
    epoch: int
    step: int
    stages: Any
    delivered: int = 0
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, saved: Any) -> Cursor:
        if not isinstance(saved, Mapping):
            raise CursorError(
                f"a state is the dict that iterator.state() returned, but got {type(saved).__name__}"
            )
        version = saved.get("version")
        if type(version) is not int or version not in (VERSION, VERSION_OF_0_2_0):
            raise CursorError(
                f"this state has version {str(version)[:20]}, but this Millrace reads version {VERSION} and that of "
                f"Millrace 0.2.0, {VERSION_OF_0_2_0}: another release saved it. Start again, or continue at the same "
                f"step with dataset.set_init_step(n); the state was taken after step {saved.get('step')!r} of epoch "
                f"{saved.get('epoch')!r}, both counted from 0."
            )
        names = [field.name for field in dataclasses.fields(cls)]
        missing = [name for name in names if name not in saved]
        if missing:
            raise CursorError(f"this state lacks {missing}; it is not what iterator.state() returned")
        cursor = cls(**{name: saved[name] for name in names})
        numbers = (cursor.seed, cursor.epoch, cursor.step, cursor.delivered)
        if not (
            isinstance(cursor.fingerprint, str)
            and isinstance(cursor.plan, list)
            and all(isinstance(mark, str) for mark in cursor.plan)
            and all(type(number) is int and 0 <= number < 2**64 for number in numbers)
            and isinstance(cursor.stages, Mapping)
            and {"root", "skip"} <= set(cursor.stages)
        ):
            raise CursorError(f"{_DAMAGED}: its fields have other types than iterator.state() gives")
        check_state_layout(0, cursor.stages["skip"])
        return cursor

    def check(self, now: Fingerprint) -> None:
        """Raise CursorError for another plan, with the differences."""
        if self.version == VERSION_OF_0_2_0:
            now = now.of_0_2_0()
        if self.fingerprint != now.text:
            release = ", with Millrace 0.2.0" * (self.version == VERSION_OF_0_2_0)
            raise CursorError(
                f"this state was saved by another pipeline{release}, so its position does not apply here: "
                f"{now.differences(self.plan)}. Build the pipeline as it was; workers, executors, chunk sizes and "
                "the memory budget may change. Exclude attributes that change while rows run with "
                "__getstate__."
            )
