"""For the reference pages: a source shows the arguments it takes, the shared ones (``@takes``) among them."""

from __future__ import annotations

import enum
import importlib
import inspect
from typing import Any

import griffe


def shown(default: Any) -> str:
    """A default as one writes it."""
    return str(default) if isinstance(default, enum.Enum) else repr(default)


class Signatures(griffe.Extension):
    """Called by mkdocstrings for every function it reads."""

    def on_function_instance(self, *, func: Any, **kwargs: Any) -> None:
        # read from the text, a constructor has *_ and **shared; loaded, it has its whole signature
        if not any(str(one.value).startswith("takes(") for one in func.decorators):
            return
        owner = getattr(importlib.import_module(func.module.path), func.parent.name)
        func.parameters = griffe.Parameters(
            *(
                griffe.Parameter(
                    one.name,
                    kind=griffe.ParameterKind.positional_or_keyword,
                    default=None if one.default is one.empty else shown(one.default),
                )
                for one in inspect.signature(owner.__init__).parameters.values()
            )
        )
