"""Cutting and replacing by regular expressions, which are written as ICU has them."""

from __future__ import annotations

import functools
import re
from typing import Any

from millrace._src.core.errors import DataError
from millrace._src.core.optional import require

from .icu_regex import PatternError, translate_icu_pattern
from .unicode_tokenizers import Spans, placed

__all__ = ["Template", "compiled", "cut", "cut_spans", "replaced"]

_TEMPLATE = re.compile(
    r"\\u(?P<u>[0-9a-fA-F]{4})|\\U(?P<U>[0-9a-fA-F]{8})|\\(?P<literal>.?)|\$\{(?P<name>\w*)\}|\$(?P<number>\d+)|\$",
    re.DOTALL,
)
Template = list[str | int]


@functools.lru_cache(256)
def compiled(pattern: str, failure: str) -> Any:
    """The pattern, ready to search; `failure` begins the error where it is none."""
    regex = require("regex", extra="text", purpose="a text transform with a regular expression")
    try:
        return regex.compile(translate_icu_pattern(pattern), regex.V1)
    except (PatternError, regex.error, ValueError, RecursionError) as error:
        raise DataError(f"{failure}: {pattern!r} ({error})") from error


def cut(text: str, delimiter: Any, kept: Any) -> list[str]:
    """The parts of a text between what `delimiter` matches, and of that what `kept` matches as a whole.

    >>> cut("a, b", compiled("[ ,]", ""), compiled(",", ""))
    ['a', ',', 'b']
    """
    if kept is None and not delimiter.groups:
        return [part for part in delimiter.split(text) if part] or [""]
    return [text[start:limit] for start, limit in _found(text, delimiter, kept)] or [""]


def cut_spans(text: str, delimiter: Any, kept: Any) -> Spans:
    """The same, with the places in bytes."""
    return placed(text, _found(text, delimiter, kept))


def _found(text: str, delimiter: Any, kept: Any) -> list[tuple[int, int]]:
    found = []
    past = 0
    for match in delimiter.finditer(text):
        start, limit = match.span()
        if start > past:
            found.append((past, start))
        if limit > start and kept is not None and kept.fullmatch(text[start:limit]):
            found.append((start, limit))
        past = limit
    if past < len(text):
        found.append((past, len(text)))
    return found


def template_of(replace: str, pattern: Any) -> Template:
    """What stands for a match: text, and numbers of groups. A backslash makes what follows it plain."""
    made: Template = []
    at = 0
    for part in _TEMPLATE.finditer(replace):
        made.append(replace[at : part.start()])
        at = part.end()
        if part["number"]:
            digits = part["number"]
            most = next((n for n in range(len(digits), 0, -1) if int(digits[:n]) <= pattern.groups), 0)
            if not most:
                raise PatternError(f"${digits} names no group")
            made += [int(digits[:most]), digits[most:]]
        elif part["name"] is not None:
            if part["name"] not in pattern.groupindex:
                raise PatternError(f"${{{part['name']}}} names no group")
            made.append(pattern.groupindex[part["name"]])
        elif part["u"] or part["U"]:
            made.append(chr(int(part["u"] or part["U"], 16)))
        elif part[0].startswith("\\"):
            made.append(part["literal"])
        else:
            raise PatternError("a $ that names no group")
    made.append(replace[at:])
    return [one for one in made if one != ""]


def replaced(text: str, pattern: Any, replace: str, every: bool) -> str:
    """The text with `replace` in the place of the first match, or of every one.

    >>> replaced("one two", compiled("(\\\\w)(\\\\w)", ""), "$2$1", True)
    'noe wto'
    """
    if "$" not in replace and "\\" not in replace:
        return str(pattern.sub(lambda match: replace, text, 0 if every else 1))
    if not pattern.search(text):
        return text  # MindSpore reads what to put there when it has found where
    try:
        template = template_of(replace, pattern)
    except PatternError as error:
        raise DataError(f"RegexReplace: RegexReplace failed: {replace!r} ({error}).") from error

    def made(match: Any) -> str:
        return "".join([one if isinstance(one, str) else match[one] or "" for one in template])

    return str(pattern.sub(made, text, 0 if every else 1))
