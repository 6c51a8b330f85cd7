"""Create samplers from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError

from .base import SAMPLER_TYPES, BuiltinSampler

__all__ = ["sampler_from_dict"]

_MAX_CHAIN = 64


def sampler_from_dict(values: Mapping[str, Any]) -> BuiltinSampler:
    """Create a sampler from the result of :meth:`BuiltinSampler.to_dict`; unknown keys are ignored.

    >>> import millrace._src.data.samplers
    >>> sampler_from_dict({"sampler_name": "SequentialSampler", "start_index": 1, "num_samples": 2})
    SequentialSampler(start_index=1, num_samples=2)
    """
    top: BuiltinSampler | None = None
    last: BuiltinSampler | None = None
    rest: Any = values
    for _ in range(_MAX_CHAIN):
        if not isinstance(rest, Mapping):
            raise ArgumentTypeError(f"a sampler is described by a dict, but got {type(rest).__name__}")
        name = rest.get("sampler_name")
        sampler_type = SAMPLER_TYPES.get(name) if isinstance(name, str) else None
        if sampler_type is None:
            raise ArgumentValueError(f"no sampler can be made from JSON under the name {name!r}")
        try:
            sampler = sampler_type._from_dict(rest)
        except (ArgumentTypeError, ArgumentValueError):
            raise
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            raise ArgumentTypeError(f"{name}: {error}") from error
        if last is None:
            top = sampler
        else:
            last.add_child(sampler)
        last = sampler
        children = rest.get("child_sampler")
        if not children:
            assert top is not None
            return top
        rest = children[0] if isinstance(children, (list, tuple)) else children
    raise ArgumentValueError(f"more than {_MAX_CHAIN} samplers in one chain")
