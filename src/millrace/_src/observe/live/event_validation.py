"""Validate the lines of an event log, which may be an untrusted file."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["check_description", "check_point", "check_diagnosis", "number_in", "text_in"]

Line = dict[str, Any]

_COUNTS = {
    "pipeline": ("rows", "batches", "epochs", "waited", "between", "held", "peak"),
    "channel": (
        "sent", "taken", "bytes", "data", "moving", "full", "waited", "stepping", "host", "host_slots", "ring",
        "ring_slots",
    ),
    "training": ("seconds", "waited", "steps", "step", "epoch", "epochs", "steps_in_epoch"),
}  # fmt: skip
_LISTS = ("given", "busy", "cpu", "wait_in", "wait_out", "fill")
_TEXTS = {"pipeline": (), "channel": ("name", "device", "ended"), "training": ("network",)}


def number_in(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(value)
    if abs(value) > 1e300:
        raise ValueError(value)
    return value


def text_in(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def check_point(line: Line) -> None:
    series = next((series for series in _COUNTS if series in line), "")
    for name in _COUNTS[series]:
        number_in(line[name])
    for name in _TEXTS[series]:
        text_in(line[name])
    if series == "pipeline":
        lengths = {len([number_in(one) for one in line[name]]) for name in _LISTS}
        ops = [[number_in(one) for one in each] for each in line["op_busy"]]
        if lengths != {len(ops)}:
            raise ValueError(line)
    if series != "pipeline" and line["of"] is not None:
        number_in(line["of"])
    for name in ("loss", "rate") if series == "training" else ():
        if line[name] not in (None, "nan", "inf", "-inf"):
            number_in(line[name])


def check_description(line: Line) -> None:
    number_in(line["limit"])
    for index, stage in enumerate(line["stages"]):
        for name in ("name", "place", "on", "unit"):
            text_in(stage[name])
        number_in(stage["working"])
        if not isinstance(stage["queue"], bool):
            raise ValueError(line)
        # the next stage has a larger index, so that there are no cycles
        if stage["feeds"] is not None and not index < number_in(stage["feeds"]) < len(line["stages"]):
            raise ValueError(line)
        for name in stage["ops"]:
            text_in(name)


def check_diagnosis(line: Line) -> None:
    fields = (
        ("situation", "evidence", "advice", "stage")
        if "channel" in line
        else ("kind", "stage", "place", "advice", "call")
    )
    for name in fields:
        text_in(line[name])
    if "pipeline" in line:
        for name in ("now", "predicted"):
            number_in(line[name])
        for text in line["evidence"]:
            text_in(text)
        for number in (*line["guilty"], *([] if line["op"] is None else [line["op"]])):
            number_in(number)
