"""What each script here does at its end: print its results as one line of JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[4]))

from tests.parity.encode import encode


def rows(dataset: Any, epochs: int = 1) -> list[Any]:
    """Return every row of every epoch, as arrays."""
    iterator = dataset.create_dict_iterator(num_epochs=epochs, output_numpy=True)
    return [list(iterator) for _ in range(epochs)] if epochs > 1 else list(iterator)


def attempt(work: Callable[[], Any]) -> Any:
    """Return what the work gives, or the built-in class of its error."""
    try:
        return work()
    except Exception as error:
        return next(
            f"raises {kind.__name__}" for kind in type(error).__mro__ if kind.__module__ == "builtins"
        )


def report(main: Callable[[Path], dict[str, Any]]) -> None:
    """Run a script in an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        found = main(Path(name))
        print("\n" + json.dumps({key: encode(value) for key, value in found.items()}), flush=True)
