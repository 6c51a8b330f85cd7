"""The table of small data sets, and how one gets into it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["FOLDERS", "Writer", "case", "put"]

Writer = Callable[[Path], dict[str, Any]]

FOLDERS: dict[str, tuple[str, Writer]] = {}


def case(kind: str, variant: str = "") -> Callable[[Writer], Writer]:
    def add(write: Writer) -> Writer:
        FOLDERS[f"{kind}: {variant}" if variant else kind] = (kind, write)
        return write

    return add


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
