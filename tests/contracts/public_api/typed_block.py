"""What type checkers are told of names that are loaded late: a block of imports made from the table of each package."""

from __future__ import annotations

import importlib
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

__all__ = ["PACKAGES", "block", "write"]

# Package -> what its names include besides its own table.
PACKAGES = {"millrace": "    from millrace.train import *  # noqa: F403\n", "millrace.train": ""}
_BEGIN = "if TYPE_CHECKING:  # for type checkers, written by tests/contracts/public_api/typed_block.py\n"
_BLOCK = re.compile(r"# isort: off\n# fmt: off\nif TYPE_CHECKING:.*?# fmt: on\n# isort: on\n", re.DOTALL)


def block(places: Mapping[str, tuple[str, ...]], more: str = "") -> str:
    """The imports of a table. A module that has the name itself is found without being told."""
    lines = []
    for place in sorted(places):
        names = sorted(name for name in places[place] if not place.endswith(f".{name}"))
        if not names:
            continue
        words = [f"{name}_AS_{name}" for name in names]  # never broken in the middle
        line = f"    from {place} import {', '.join(words)}"
        if len(line) <= 100:
            lines.append(line)
        else:
            filled = textwrap.fill(
                ", ".join(words) + ",", 100, initial_indent=" " * 8, subsequent_indent=" " * 8
            )
            lines += [f"    from {place} import (", filled, "    )"]
    text = "\n".join(lines).replace("_AS_", " as ") + "\n"
    return f"# isort: off\n# fmt: off\n{_BEGIN}{text}{more}# fmt: on\n# isort: on\n"


def write() -> None:
    """Put the blocks of all packages in their places."""
    for name, more in PACKAGES.items():
        package = importlib.import_module(name)
        path = Path(str(package.__file__))
        old = path.read_text()
        new = _BLOCK.sub(lambda _, package=package, more=more: block(package._PLACES, more), old)
        if new != old:
            path.write_text(new)
