"""The answer for people."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from rich.console import Console

from millrace._src.cli.doctor.finding import size
from millrace._src.core.machine.cores import available_cores
from millrace._src.observe.views.formatting import plain_name

__all__ = ["print_result"]

MOST_BAD = 10
MOST_OPS = 8
ABSURD = 1e6


def print_result(console: Console, answer: dict[str, Any]) -> None:
    """Sections of short lines, none wider than the console."""
    speed, unit = answer["speed"], answer["unit"]
    _title(console, "How fast it loads")
    epochs = f", {speed['epochs']} whole epochs" if speed["epochs"] > 1 else ""
    _line(
        console,
        f"{unit} per second",
        f"{speed['rate']:,.0f}",
        f"{speed['rows']:,} {unit} in {speed['seconds']:.1f} s{epochs}",
    )
    if speed["read"]:
        _line(console, "read", f"{size(speed['read'])}/s", "of files")
    _line(console, "delivered", f"{size(speed['delivered'])}/s", "of arrays")
    _line(console, "first batch", f"{speed['first_batch'] * 1000:,.0f} ms", "")
    _line(console, "held at most", size(speed["peak_bytes"]), "in queues and work under way")
    _title(console, "Where the time goes")
    for name, share in [one for one in answer["shares"] if one[1] >= 0.005][:MOST_OPS]:
        bar = ("█" if console.encoding.startswith("utf") else "#") * round(20 * share)
        _line(
            console, _short(name, 34), f"{share:.0%}", bar if console.is_terminal else "", wide=34, middle=6
        )
    _machine(console, answer)
    _bad(console, answer)
    _title(console, "Advice")
    _paragraph(console, answer["advice"])


def _machine(console: Console, answer: dict[str, Any]) -> None:
    machine, each = answer["machine"], answer["bytes_per_row"]
    _title(console, "What this machine could do")
    read, decode, copy = machine.get("read"), machine.get("decode"), machine["copy"]
    for kind in ("cold", "warm") if read else ():
        rows = read[kind] / each if each else 0.0
        # of small rows a disk delivers more than any program takes: no number to hold anything against
        worth = f"{rows:,.0f} {answer['unit']}/s" if 0 < rows < ABSURD else ""
        note = {"cold": "not in the page cache", "warm": "in the page cache"}[kind]
        _line(console, f"read, {kind}", f"{size(read[kind])}/s", f"{worth + ', ' if worth else ''}{note}")
    if decode:
        _line(console, "JPEG decode, 1 core", f"{decode['one']:,.0f}/s", "on samples of these files")
        cores = int(decode["cores"])
        if cores > 1:
            _line(console, f"JPEG decode, {cores} cores", f"{decode['all']:,.0f}/s", _reached(answer))
    _line(console, "memory copy, 1 core", f"{size(copy['one'])}/s", "")
    if available_cores() > 1:
        _line(console, f"memory copy, {available_cores()} cores", f"{size(copy['all'])}/s", "")


def _reached(answer: dict[str, Any]) -> str:
    """How close the pipeline comes to decoding alone; nothing where a crop spares it part of the decoding."""
    share = answer["speed"]["rate"] / answer["machine"]["decode"]["all"]
    return f"your pipeline reaches {share:.0%} of it" if share <= 1 else ""


def _bad(console: Console, answer: dict[str, Any]) -> None:
    bad = answer["bad"]
    if not bad:
        return
    _title(console, f"Left out: {len(bad)} bad {'file' if len(bad) == 1 else 'files'}")
    for name, reason in list(bad.items())[:MOST_BAD]:
        _paragraph(console, f"{name}: {_reason(reason, name)}", hanging="    ")
    if len(bad) > MOST_BAD:
        console.print(f"  and {len(bad) - MOST_BAD} more; --json names them all")


def _reason(text: str, name: str) -> str:
    """Without the class of the error and the file, which stands before it."""
    text = re.sub(r"^\w+: ", "", text)
    return text.replace(f": {name} (", " (").replace(name, "it")


def _title(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]")


def _line(console: Console, name: str, value: str, note: str, wide: int = 24, middle: int = 12) -> None:
    console.print(f"  {name:<{wide}}{value:>{middle}}  {note}".rstrip(), markup=False)


def _short(name: str, width: int) -> str:
    name = plain_name(name)
    return name if len(name) < width else name[: width - 4] + "..."


def _paragraph(console: Console, text: str, hanging: str = "  ") -> None:
    wrapped = textwrap.wrap(
        text, min(console.width, 110) - 2, initial_indent="  ", subsequent_indent=hanging,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
    console.print("\n".join(wrapped), markup=False)
