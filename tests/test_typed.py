"""What type checkers are told of the names that are loaded late is what the tables say."""

from __future__ import annotations

import ast
import importlib
import importlib.resources
from pathlib import Path

import pytest

MODULES = ("millrace", "millrace.train")


def told(module: str) -> dict[str, str]:
    """Name -> module, from the imports under TYPE_CHECKING."""
    path = importlib.import_module(module).__file__
    assert path is not None
    found = {}
    for node in ast.parse(Path(path).read_text()).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                assert isinstance(line, ast.ImportFrom)
                found |= {alias.name: str(line.module) for alias in line.names if alias.name != "*"}
    return found


@pytest.mark.parametrize("module", MODULES)
def test_types_are_told_of_every_name_that_is_loaded_late(module: str) -> None:
    places = importlib.import_module(module)._PLACES
    # a module that has the name itself is found without being told
    table = {name: place for place, names in places.items() for name in names if not place.endswith(f".{name}")}
    assert told(module) == table


def test_the_package_says_that_it_has_types() -> None:
    assert importlib.resources.files("millrace").joinpath("py.typed").is_file()
