"""Escape control characters in text from files and names, which a terminal would interpret."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["escape_controls", "escape_json"]

# C0 and C1 controls, marks that change the direction of text, separators of lines, halves of characters, tag characters
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def _python_escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def escape_controls(
    text: str, keep: str = "", escape: Callable[[re.Match[str]], str] = _python_escape
) -> str:
    """Escape control characters and bidirectional marks as Python's repr does.

    Args:
        text: Untrusted text.
        keep: Control characters that stay, such as a newline.
        escape: Returns the replacement of a character.

    >>> print(escape_controls("a\\x1b[31m\\x9b2J\\u202e\\n"))
    a\\x1b[31m\\x9b2J\\u202e\\n
    """
    return _CONTROLS.sub(lambda match: match[0] if match[0] in keep else escape(match), text)


def escape_json(text: str) -> str:
    """Escape control characters in JSON text; its values stay the same.

    >>> print(escape_json('["\\x9b2J"]'))
    ["\\u009b2J"]
    """
    return escape_controls(text, keep="\n", escape=_json_escape)


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
