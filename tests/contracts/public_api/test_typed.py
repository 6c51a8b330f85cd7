"""What type checkers are told of the names that are loaded late is what the tables say."""

from __future__ import annotations

import importlib
import importlib.resources
from pathlib import Path

import pytest

from tests.contracts.public_api.typed_block import PACKAGES, block


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_told_of_every_name_that_is_loaded_late(package: str) -> None:
    """Else: python -m tests.contracts.public_api.update_names."""
    module = importlib.import_module(package)
    assert block(module._PLACES, PACKAGES[package]) in Path(str(module.__file__)).read_text()


def test_the_package_says_that_it_has_types() -> None:
    assert importlib.resources.files("millrace").joinpath("py.typed").is_file()
