"""What a target is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace._src.core.errors import MillraceError

__all__ = ["Target", "file_target", "json_bytes", "json_target"]


@dataclass(frozen=True)
class Target:
    """A parser: valid inputs, the function that parses bytes, and the errors that refuse an input."""

    name: str
    seeds: Callable[[Path], list[bytes]]
    parse: Callable[[bytes, Path], Any]
    errors: tuple[type[BaseException], ...] = (MillraceError,)
    json: bool = False

    @staticmethod
    def json_of(seed: bytes) -> Any:
        return json.loads(seed)


def json_bytes(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def json_target(name: str, seeds: Callable[[Path], list[Any]], parse: Callable[[bytes, Path], Any]) -> Target:
    """A parser of JSON; seeds are values."""
    return Target(name, lambda folder: [json_bytes(seed) for seed in seeds(folder)], parse, json=True)


def file_target(
    name: str,
    seeds: Callable[[Path], list[bytes]],
    read: Callable[[str], Any],
    errors: tuple[type[BaseException], ...] = (MillraceError,),
    ending: str = "",
) -> Target:
    """A reader of a file with the input in it."""

    def parse(data: bytes, folder: Path) -> None:
        path = folder / f"input{ending}"
        path.write_bytes(data)
        read(str(path))

    return Target(name, seeds, parse, errors)
