"""The pipeline stage that a transfer waits for, from the report of the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from millrace._src.core.transfer_statistics import TransferStatistics

__all__ = ["Stage", "slowest", "waited_for"]


class Stage(NamedTuple):
    """A stage: its name with the user's line, its share of the pipeline's work, and the advice of the pipeline."""

    name: str = "the pipeline"
    share: float = 0.0
    advice: str = ""


def slowest(channel: TransferStatistics) -> Stage:
    """The operation with the largest share of the pipeline's work."""
    report = _report(channel)
    if report is None:
        return Stage()
    ops = [
        (op["busy"], _named(op["name"], op["where"])) for stage in report.stages for op in _parts_of(stage)
    ]
    whole = sum(busy for busy, _ in ops)
    if not whole:
        return Stage()
    busy, name = max(ops)
    # the advice of the pipeline, if it recommends a change
    change = report.verdict.change
    return Stage(name, busy / whole, "" if change is None else report.verdict.advice.rstrip("."))


def waited_for(channel: TransferStatistics) -> str:
    """The first stage, from the source on, without output so far."""
    report = _report(channel)
    stuck = [] if report is None else [stage for stage in report.stages if not stage["given"]]
    return _named(stuck[0]["name"], stuck[0]["where"]) if stuck else Stage().name


def _report(channel: TransferStatistics) -> Any:
    return None if channel.report is None else channel.report()


def _parts_of(stage: dict[str, Any]) -> list[dict[str, Any]]:
    return stage["ops"] or [stage]


def _named(name: str, where: str) -> str:
    return f"{name} at {where}" if where and where not in name else name
