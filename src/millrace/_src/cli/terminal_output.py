"""Printing to the terminal. Control characters in text from files and names are escaped.

Escape sequences can rename the window, move the cursor or write to the clipboard; direction marks can reverse
text. Commands print with `say`, `say_json` and `console`, which show such characters as ``\\\\x1b``.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

from millrace._src.core.io.terminal_escape import escape_controls, escape_json

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "say", "say_json"]

LAYOUT = "\n\t"


def say(text: str = "", *, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print lines of text.

    >>> say("name: \\x1b]0;title\\x07")
    name: \\x1b]0;title\\x07
    """
    print(escape_controls(text, keep=LAYOUT), file=file or sys.stdout, end=end, flush=flush)


def say_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON. Control characters inside strings are escaped as in JSON.

    >>> say_json({"name": "\\x9b2J"})
    {"name": "\\u009b2J"}
    """
    print(escape_json(json.dumps(value, ensure_ascii=False, indent=indent)))


def console(**options: Any) -> Console:
    """A rich console that escapes control characters in text and keeps rich's styles."""
    return _console_class()(**options)


@functools.cache
def _console_class() -> type[Console]:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class PlainTextConsole(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                if segment.control:
                    yield segment
                else:
                    yield segment._replace(text=escape_controls(segment.text, keep=LAYOUT))

    return PlainTextConsole
