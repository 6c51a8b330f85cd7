"""Print the benchmark result for people."""

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


def print_result(console: Console, result: dict[str, Any]) -> None:
    """Print sections of short lines, none wider than the console."""
    speed, unit = result["speed"], result["unit"]
    _print_title(console, "Throughput")
    epochs = f", {speed['epochs']} complete epochs" if speed["epochs"] > 1 else ""
    _print_line(
        console,
        f"{unit} per second",
        f"{speed['rate']:,.0f}",
        f"{speed['rows']:,} {unit} in {speed['seconds']:.1f} s{epochs}",
    )
    if speed["read"]:
        _print_line(console, "read", f"{size(speed['read'])}/s", "of files")
    _print_line(console, "delivered", f"{size(speed['delivered'])}/s", "of arrays")
    _print_line(console, "first batch", f"{speed['first_batch'] * 1000:,.0f} ms", "")
    _print_line(console, "peak memory", size(speed["peak_bytes"]), "in queues and running work")
    _print_title(console, "Where the time goes")
    for name, share in [one for one in result["shares"] if one[1] >= 0.005][:MOST_OPS]:
        bar = ("█" if console.encoding.startswith("utf") else "#") * round(20 * share)
        _print_line(
            console,
            _shorten_name(name, 34),
            f"{share:.0%}",
            bar if console.is_terminal else "",
            wide=34,
            middle=6,
        )
    _print_machine(console, result)
    _print_bad_files(console, result)
    _print_title(console, "Advice")
    _print_paragraph(console, result["advice"])


def _print_machine(console: Console, result: dict[str, Any]) -> None:
    machine, each = result["machine"], result["bytes_per_row"]
    _print_title(console, "Baseline of this machine")
    read, decode, copy = machine.get("read"), machine.get("decode"), machine["copy"]
    for cache_state in ("cold", "warm") if read else ():
        rows = read[cache_state] / each if each else 0.0
        # for small rows the disk is faster than any program: the number is not comparable
        worth = f"{rows:,.0f} {result['unit']}/s" if 0 < rows < ABSURD else ""
        note = {"cold": "not in the page cache", "warm": "in the page cache"}[cache_state]
        _print_line(
            console,
            f"read, {cache_state}",
            f"{size(read[cache_state])}/s",
            f"{worth + ', ' if worth else ''}{note}",
        )
    if decode:
        _print_line(console, "JPEG decode, 1 core", f"{decode['one']:,.0f}/s", "on samples of these files")
        cores = int(decode["cores"])
        if cores > 1:
            _print_line(
                console, f"JPEG decode, {cores} cores", f"{decode['all']:,.0f}/s", _format_share(result)
            )
    _print_line(console, "memory copy, 1 core", f"{size(copy['one'])}/s", "")
    if available_cores() > 1:
        _print_line(console, f"memory copy, {available_cores()} cores", f"{size(copy['all'])}/s", "")


def _format_share(result: dict[str, Any]) -> str:
    """Share of the pure decoding rate that the pipeline reaches; "" where a crop skips part of the decoding."""
    share = result["speed"]["rate"] / result["machine"]["decode"]["all"]
    return f"your pipeline reaches {share:.0%} of this" if share <= 1 else ""


def _print_bad_files(console: Console, result: dict[str, Any]) -> None:
    bad = result["bad"]
    if not bad:
        return
    _print_title(console, f"Skipped: {len(bad)} bad {'file' if len(bad) == 1 else 'files'}")
    for name, reason in list(bad.items())[:MOST_BAD]:
        _print_paragraph(console, f"{name}: {_shorten_reason(reason, name)}", hanging="    ")
    if len(bad) > MOST_BAD:
        console.print(f"  and {len(bad) - MOST_BAD} more; --json lists all of them")


def _shorten_reason(text: str, name: str) -> str:
    """The reason without the error class and without the file name, which is printed before it."""
    text = re.sub(r"^\w+: ", "", text)
    return text.replace(f": {name} (", " (").replace(name, "it")


def _print_title(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]")


def _print_line(console: Console, name: str, value: str, note: str, wide: int = 24, middle: int = 12) -> None:
    console.print(f"  {name:<{wide}}{value:>{middle}}  {note}".rstrip(), markup=False)


def _shorten_name(name: str, width: int) -> str:
    name = plain_name(name)
    return name if len(name) < width else name[: width - 4] + "..."


def _print_paragraph(console: Console, text: str, hanging: str = "  ") -> None:
    wrapped = textwrap.wrap(
        text, min(console.width, 110) - 2, initial_indent="  ", subsequent_indent=hanging,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
    console.print("\n".join(wrapped), markup=False)
