"""Split and replace by regular expressions in ICU's syntax."""

from __future__ import annotations

import functools
import re
from typing import Any

from millrace._src.core.errors import DataError
from millrace._src.core.optional import require

from .icu_regex import PatternError, translate_icu_pattern
from .unicode_tokenizers import Spans, slice_spans

__all__ = ["Template", "compile_pattern", "split_text", "split_spans", "replace_matches"]

_TEMPLATE = re.compile(
    r"\\u(?P<u>[0-9a-fA-F]{4})|\\U(?P<U>[0-9a-fA-F]{8})|\\(?P<literal>.?)|\$\{(?P<name>\w*)\}|\$(?P<number>\d+)|\$",
    re.DOTALL,
)
Template = list[str | int]


@functools.lru_cache(256)
def compile_pattern(pattern: str, failure: str) -> Any:
    """Compile a pattern; `failure` begins the error for an invalid one."""
    regex = require("regex", extra="text", purpose="a text transform with a regular expression")
    try:
        return regex.compile(translate_icu_pattern(pattern), regex.V1)
    except (PatternError, regex.error, ValueError, RecursionError) as error:
        raise DataError(f"{failure}: {pattern!r} ({error})") from error


def split_text(text: str, delimiter: Any, keep_pattern: Any) -> list[str]:
    """Split a text at matches of `delimiter`; matches that `keep_pattern` matches as a whole are kept.

    >>> split_text("a, b", compile_pattern("[ ,]", ""), compile_pattern(",", ""))
    ['a', ',', 'b']
    """
    if keep_pattern is None and not delimiter.groups:
        return [part for part in delimiter.split(text) if part] or [""]
    return [text[start:limit] for start, limit in _find_spans(text, delimiter, keep_pattern)] or [""]


def split_spans(text: str, delimiter: Any, keep_pattern: Any) -> Spans:
    """Split a text as `split_text` does, with byte offsets."""
    return slice_spans(text, _find_spans(text, delimiter, keep_pattern))


def _find_spans(text: str, delimiter: Any, keep_pattern: Any) -> list[tuple[int, int]]:
    spans = []
    previous_end = 0
    for match in delimiter.finditer(text):
        start, limit = match.span()
        if start > previous_end:
            spans.append((previous_end, start))
        if limit > start and keep_pattern is not None and keep_pattern.fullmatch(text[start:limit]):
            spans.append((start, limit))
        previous_end = limit
    if previous_end < len(text):
        spans.append((previous_end, len(text)))
    return spans


def parse_template(replace: str, pattern: Any) -> Template:
    """Parse a replacement into text and group numbers. A backslash makes the next character literal."""
    template: Template = []
    position = 0
    for part in _TEMPLATE.finditer(replace):
        template.append(replace[position : part.start()])
        position = part.end()
        if part["number"]:
            digits = part["number"]
            num_digits = next((n for n in range(len(digits), 0, -1) if int(digits[:n]) <= pattern.groups), 0)
            if not num_digits:
                raise PatternError(f"${digits} names no group")
            template += [int(digits[:num_digits]), digits[num_digits:]]
        elif part["name"] is not None:
            if part["name"] not in pattern.groupindex:
                raise PatternError(f"${{{part['name']}}} names no group")
            template.append(pattern.groupindex[part["name"]])
        elif part["u"] or part["U"]:
            template.append(chr(int(part["u"] or part["U"], 16)))
        elif part[0].startswith("\\"):
            template.append(part["literal"])
        else:
            raise PatternError("a $ that names no group")
    template.append(replace[position:])
    return [part for part in template if part != ""]


def replace_matches(text: str, pattern: Any, replace: str, every: bool) -> str:
    """Replace the first match by `replace`, or every match.

    >>> replace_matches("one two", compile_pattern("(\\\\w)(\\\\w)", ""), "$2$1", True)
    'noe wto'
    """
    if "$" not in replace and "\\" not in replace:
        return str(pattern.sub(lambda match: replace, text, 0 if every else 1))
    if not pattern.search(text):
        return text  # MindSpore parses the replacement only when there is a match
    try:
        template = parse_template(replace, pattern)
    except PatternError as error:
        raise DataError(f"RegexReplace: RegexReplace failed: {replace!r} ({error}).") from error

    def expand(match: Any) -> str:
        return "".join([part if isinstance(part, str) else match[part] or "" for part in template])

    return str(pattern.sub(expand, text, 0 if every else 1))
