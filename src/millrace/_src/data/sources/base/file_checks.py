"""Argument checks shared by file sources: file lists and language pairs."""

from __future__ import annotations

from typing import Any

from millrace._src.core.args import check_type
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["IsFiles", "IsPair"]


class IsFiles:
    """Check for a file name or pattern, or a non-empty list of them."""

    def check(self, name: str, value: Any) -> None:
        check_type(value, (str, list), name.replace("_", " "))
        if not value:
            raise ArgumentValueError(f"Input {name} can not be empty, but got '{value}'.")


class IsPair:
    """Check for a list or tuple of two languages that the dataset has."""

    def __init__(self, *pairs: str) -> None:
        self.pairs = [pair.split("-") for pair in pairs]

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, (list, tuple)):
            raise ArgumentTypeError(f"{name} should be a type list or tuple of length 2.")
        if list(value) not in self.pairs:
            valid = self.pairs if isinstance(value, list) else tuple(map(tuple, self.pairs))
            raise ArgumentValueError(f"Input {name} is not within the valid set of {valid}.")
