"""Text summary of a run, with the numbers of the page."""

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
    """Format the snapshot of a run as lines of text."""
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
        diagnosis = each["verdict"]
        about = f" ({diagnosis['stage']})" if diagnosis["stage"] else ""
        lines += _wrapped(
            f"{diagnosis['situation']}{about}: {diagnosis['evidence']}. {diagnosis['advice']}.", width, "  "
        )
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
        location = truncate_middle(stage["place"], name // 2)
        title = (
            f"{truncate_middle(stage['name'], name - len(location) - 1)} {location}"
            if location
            else truncate_middle(stage["name"], name)
        )
        cells = [
            stage["on"],
            stage["rate_words"],
            f"{stage['busy']:.0%}",
            "-" if stage["fill"] is None else f"{stage['fill']:.0%}",
            f"{stage['wait_in']:.0%}",
        ]
        lines.append(_line(title, cells, name))
        for op in stage["ops"] if len(stage["ops"]) > 1 else ():
            lines.append(
                _line(
                    f"  {truncate_middle(op['name'], name - 2)}",
                    ["", f"{op['share']:.0%} of it", "", "", ""],
                    name,
                )
            )
    return lines + _diagnosis_lines(each["verdict"], width)


def _line(name: str, cells: list[str], width: int) -> str:
    line = f"{name:{width}}"
    for (heading, size), cell in zip(_COLUMNS, cells, strict=True):
        line += f" {cell:{size}}" if heading == "on" else f" {cell:>{size}}"
    return line


def _diagnosis_lines(diagnosis: dict[str, Any] | None, width: int) -> list[str]:
    if diagnosis is None:
        return []
    if not diagnosis["stage"]:
        return _wrapped(f"{'; '.join(diagnosis['evidence'])}.", width)
    location = f" at {diagnosis['place']}" if diagnosis["place"] else ""
    text = f"The bottleneck is {diagnosis['stage']}{location}: {'; '.join(diagnosis['evidence'])}."
    if diagnosis["call"]:
        text += f" {diagnosis['advice']}: {diagnosis['call']}."
        text += (
            f" {diagnosis['gain_words'][0].upper()}{diagnosis['gain_words'][1:]}."
            if diagnosis["gain_words"]
            else ""
        )
    elif diagnosis["advice"]:
        text += f" {diagnosis['advice']}"
    return _wrapped(text, width)
