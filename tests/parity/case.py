"""One parity case, and how lists of them are made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

NOTHING: Any = object()


@dataclass(frozen=True)
class Case:
    """A few lines of code that set `result`; a single expression may leave out `result =`.

    words    the error must hold these, whatever else it says (letters compare without case). Without words an
             argument error is compared in full, and an error while rows flow by its class alone.
    better   why Millrace differs on purpose; then `want` or `raises` (with `words`) says what it must do.
    """

    name: str
    code: str
    words: tuple[str, ...] = ()
    better: str = ""
    want: Any = field(default=NOTHING, compare=False)
    raises: tuple[type[Exception], ...] = ()

    def __post_init__(self) -> None:
        stated = (self.want is not NOTHING) + bool(self.raises)
        if stated != bool(self.better):
            raise ValueError(f"{self.name}: `better` goes with exactly one of `want` and `raises`")

    @property
    def source(self) -> str:
        return self.code if "result" in self.code else f"result = {self.code}"


def each(name: str, template: str, values: str | Iterable[str], **rest: Any) -> list[Case]:
    """Make one case for each value, put where the template has {}. Text is parted by "; ", or by lines.

    >>> [case.code for case in each("skip.count", "num().skip({})", "-1; '1'")]
    ['num().skip(-1)', "num().skip('1')"]
    """
    if isinstance(values, str):
        values = _lines(values) if "\n" in values else values.split("; ")
    return [Case(f"{name}={value}", template.format(value), **rest) for value in values]


def table(prefix: str, text: str) -> list[Case]:
    """Make one case for each line: "name | code", or "name | code => words of the error, parted by commas".

    >>> [case] = table("batch", "no size | num().batch() => batch_size")
    >>> case.name, case.code, case.words
    ('batch.no size', 'num().batch()', ('batch_size',))
    """
    cases = []
    for line in _lines(text):
        name, code = line.split(" | ", 1)
        code, _, words = code.partition(" => ")
        cases.append(Case(f"{prefix}.{name}", code, tuple(words.split(", ")) if words else ()))
    return cases


def _lines(text: str) -> list[str]:
    """Return what the lines say; a backslash at the end of a line has joined it with the next already."""
    return [re.sub(r"\s+", " ", line.strip()) for line in text.splitlines() if line.strip()]
