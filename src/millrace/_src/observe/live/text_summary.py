"""A run as lines of text, from the numbers that the page shows."""

from __future__ import annotations

import textwrap
from typing import Any

from millrace._src.observe.views.formatting import format_count, seconds, truncate_middle

__all__ = ["WIDTH", "text_summary"]

WIDTH = 80
_COLUMNS = (("on", 12), ("rate", 15), ("busy", 5), ("queue", 5), ("wait in", 7))
_NAME = WIDTH - sum(width + 1 for _, width in _COLUMNS)
STATUS = {
    "live": "live",
    "finished": "finished",
    "failed": "failed",
    "gone": "ended without a word: the process is gone",
}


def text_summary(now: dict[str, Any], *, width: int = WIDTH) -> list[str]:
    """Everything, top to bottom."""
    rank = "" if now.get("rank") is None else f", rank {now['rank']}"
    who = f"{now.get('program', '?')} (process {now.get('pid', '?')}{rank}), {now['when']}"
    lines = _wrapped(f"{who}: {STATUS[now['status']]} after {seconds(now['elapsed'])}", width)
    if now["why"]:
        lines += _wrapped(now["why"], width)
    for each in now["trainings"]:
        lines += ["", *_training(each, width)]
    for each in now["channels"]:
        lines += ["", *_channel(each, width)]
    for each in now["pipelines"]:
        lines += ["", *_pipeline(each, width)]
    if not (now["trainings"] or now["channels"] or now["pipelines"]):
        lines.append("no pipeline has begun yet")
    if now["damaged"]:
        lines += ["", f"{format_count(now['damaged'], 'line')} of the file could not be read."]
    return [line.rstrip() for line in lines]


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _training(each: dict[str, Any], width: int) -> list[str]:
    parts = [
        f"step {each['step']:,}, epoch {each['epoch']} of {each['epochs']}",
        f"{each['steps_rate']:.3g} steps/s",
        f"{each['step_words']} a step",
        f"waits for data {each['wait_share']:.1%}",
    ]
    parts += [f"loss {_figure(each['loss'])}"] if each["loss"] is not None else []
    parts += [f"learning rate {_figure(each['rate'])}"] if each["rate"] is not None else []
    return _wrapped(f"{each['network']}: {', '.join(parts)}", width)


def _figure(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _channel(each: dict[str, Any], width: int) -> list[str]:
    rings = f"device ring {each['ring']} of {each['ring_slots']}"
    if each["host_slots"]:
        rings = f"host ring {each['host']} of {each['host_slots']}, {rings}"
    head = (
        f"channel {each['name']} to {each['device']}: {format_count(each['sent'], 'batch')} sent, "
        f"{each['taken']:,} taken, "
        f"{rings}, {each['rate_words']}, steps wait {each['wait_share']:.1%}"
    )
    lines = _wrapped(head, width)
    if each["verdict"]:
        told = each["verdict"]
        about = f" ({told['stage']})" if told["stage"] else ""
        lines += _wrapped(f"{told['situation']}{about}: {told['evidence']}. {told['advice']}.", width, "  ")
    return lines


def _pipeline(each: dict[str, Any], width: int) -> list[str]:
    ended = "" if each["live"] else ", ended"
    head = (
        f"pipeline {each['number']}{ended}: {each['rate_words']}, {format_count(each['rows'], 'row')}, "
        f"{each['held_words']}, its consumer waits {each['wait_share']:.1%}"
    )
    name = max(16, _NAME + width - WIDTH)
    lines = [*_wrapped(head, width), _line("stage", [heading for heading, _ in _COLUMNS], name)]
    for stage in each["stages"]:
        place = truncate_middle(stage["place"], name // 2)
        called = (
            f"{truncate_middle(stage['name'], name - len(place) - 1)} {place}"
            if place
            else truncate_middle(stage["name"], name)
        )
        cells = [
            stage["on"],
            stage["rate_words"],
            f"{stage['busy']:.0%}",
            "-" if stage["fill"] is None else f"{stage['fill']:.0%}",
            f"{stage['wait_in']:.0%}",
        ]
        lines.append(_line(called, cells, name))
        for op in stage["ops"] if len(stage["ops"]) > 1 else ():
            lines.append(
                _line(
                    f"  {truncate_middle(op['name'], name - 2)}",
                    ["", f"{op['share']:.0%} of it", "", "", ""],
                    name,
                )
            )
    return lines + _verdict(each["verdict"], width)


def _line(name: str, cells: list[str], width: int) -> str:
    made = f"{name:{width}}"
    for (heading, size), cell in zip(_COLUMNS, cells, strict=True):
        made += f" {cell:{size}}" if heading == "on" else f" {cell:>{size}}"
    return made


def _verdict(told: dict[str, Any] | None, width: int) -> list[str]:
    if told is None:
        return []
    if not told["stage"]:
        return _wrapped(f"{'; '.join(told['evidence'])}.", width)
    place = f" at {told['place']}" if told["place"] else ""
    text = f"The bottleneck is {told['stage']}{place}: {'; '.join(told['evidence'])}."
    if told["call"]:
        text += f" {told['advice']}: {told['call']}."
        text += f" {told['gain_words'][0].upper()}{told['gain_words'][1:]}." if told["gain_words"] else ""
    elif told["advice"]:
        text += f" {told['advice']}"
    return _wrapped(text, width)
