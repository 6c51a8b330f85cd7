"""Print a small table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millrace._src.core.io.terminal_escape import escape_controls

from .terminal_output import console

__all__ = ["print_table"]


def print_table(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of text under the names of their columns."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(Text(escape_controls(name)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(escape_controls(cell)) for cell in row))
    console(highlight=False).print(table)
