"""Format numbers and names for the table, the live view and the page."""

from __future__ import annotations

import os
import re
from typing import Any

from millrace._src.core.executor_traits import EXECUTORS

__all__ = [
    "format_cache_stats",
    "count",
    "format_workers",
    "truncate_middle",
    "file_and_line",
    "format_count",
    "megabytes",
    "per_second",
    "plain_name",
    "seconds",
    "short_name",
    "sparkline",
]

_BARS = "▁▂▃▄▅▆▇█"
_ONE = {"threads": "thread", "processes": "process"}
_LOCATION = re.compile(r" at (\S.*:\d+)$")


def plain_name(name: str) -> str:
    """The name of an op without its call site.

    >>> plain_name("map(decode) at /home/me/train.py:12")
    'map(decode)'
    """
    return _LOCATION.sub("", name)


def short_name(name: str) -> str:
    """The name of an op with its call site, without the folder.

    >>> short_name("map(decode) at /home/me/train.py:12")
    'map(decode) at train.py:12'
    """
    return _LOCATION.sub(lambda match: f" at {file_and_line(match[1])}", name)


def truncate_middle(text: str, most: int) -> str:
    """Truncate text in the middle to at most ``most`` characters.

    >>> truncate_middle("NumpySlicesDataset + map(decode) + batch", 21)
    'NumpySlice…e) + batch'
    """
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"


def format_count(number: int, unit: str) -> str:
    """
    >>> format_count(1, "batch"), format_count(1200, "batch"), format_count(3, "row")
    ('1 batch', '1,200 batches', '3 rows')
    """
    return f"{number:,} {unit if number == 1 else _plural(unit)}"


def _plural(unit: str) -> str:
    return f"{unit}es" if unit.endswith("ch") else f"{unit}s"


def per_second(number: float, unit: str) -> str:
    """Format a rate with its unit.

    >>> per_second(12_345.6, "row"), per_second(7.25, "batch")
    ('12.3k rows/s', '7.2 batches/s')
    """
    return f"{count(number)} {_plural(unit)}/s"


def file_and_line(where: str) -> str:
    """``file:line`` without the folder.

    >>> file_and_line("/home/me/train.py:12")
    'train.py:12'
    """
    path, _, line = where.rpartition(":")
    return f"{os.path.basename(path)}:{line}" if path else ""


def count(number: float) -> str:
    """Format a count with three significant digits.

    >>> count(950), count(12_345), count(2_500_000)
    ('950', '12.3k', '2.50M')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            value = number / (1e3 if unit == "k" else size)
            return (
                f"{value:.2f}{unit}"
                if value < 10
                else f"{value:.1f}{unit}"
                if value < 100
                else f"{value:.0f}{unit}"
            )
    return f"{number:.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def format_workers(workers: int, executor: str) -> str:
    """
    >>> format_workers(1, "threads"), format_workers(4, "processes"), format_workers(2, "ray")
    ('1 thread', '4 processes', '2 Ray workers')
    """
    if executor not in EXECUTORS:
        return f"{workers} {executor}"
    one = EXECUTORS[executor].worker
    return f"{workers} {one}" if workers == 1 else f"{workers} {one}{'es' if one.endswith('s') else 's'}"


def seconds(number: float) -> str:
    """
    >>> seconds(0.0421), seconds(3.14159), seconds(312)
    ('42 ms', '3.1 s', '5 min 12 s')
    """
    if number < 1:
        return f"{number * 1000:.0f} ms"
    return f"{number:.1f} s" if number < 100 else f"{number // 60:.0f} min {number % 60:.0f} s"


def megabytes(number: float) -> str:
    """
    >>> megabytes(1_500_000), megabytes(12_884_901_888)
    ('1.5 MB', '12.9 GB')
    """
    if number >= 1e9:
        return f"{number / 1e9:.1f} GB"
    return f"{number / 1e6:.1f} MB" if number >= 1e5 else f"{number / 1e3:.1f} kB"


def sparkline(values: list[float], width: int = 24) -> str:
    """The last values as a line of small bars, scaled to the maximum.

    >>> sparkline([1, 2, 4, 8])
    '▁▂▄█'
    """
    values = values[-width:]
    most = max(values, default=0)
    if most <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[int(value / most * 7.999)] for value in values)


def format_cache_stats(cache: dict[str, Any]) -> str:
    """Format the statistics of a cache.

    >>> stats = {
    ...     "hits": 3,
    ...     "made": 1,
    ...     "stored": 1,
    ...     "bytes": 2000,
    ...     "on_disk": 0,
    ...     "saved": 0.5,
    ...     "reason": "",
    ...     "unit": "row",
    ... }
    >>> format_cache_stats(stats)
    '3 rows fetched, 1 row made, 1 stored (2.0 kB); 500 ms of making saved'
    """
    unit = cache["unit"]
    parts = [f"{format_count(cache['hits'], unit)} fetched"]
    if cache["made"]:
        parts.append(f"{format_count(cache['made'], unit)} made")
    if cache["stored"]:
        disk = f", {megabytes(cache['on_disk'])} of it on disk" if cache["on_disk"] else ""
        parts.append(f"{cache['stored']:,} stored ({megabytes(cache['bytes'])}{disk})")
    text = ", ".join(parts)
    if cache["saved"]:
        text += f"; {seconds(cache['saved'])} of making saved"
    return text + (f". Not all is kept: {cache['reason']}" if cache["reason"] else "")
