"""``set_seed``: one seed for the data pipeline and, where it is loaded, for the runtime."""

from __future__ import annotations

from collections.abc import Callable

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public

__all__ = ["current", "get_seed", "on_seed_change", "set_seed"]

_seed: list[int] = []
_listeners: list[Callable[[int], None]] = []


@public("millrace")
def set_seed(seed: int) -> None:
    """Seed everything random: the pipeline's order and transforms, initialisers, and random operations.

    >>> set_seed(1)
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ArgumentTypeError(f"The argument 'seed' must be type of int. It got {seed!r}.")
    if seed < 0:
        raise ArgumentValueError("The argument 'seed' must be non-negative.")
    from millrace._src.core import config  # a tenth of the time that `import millrace` takes

    config.set_seed(seed)
    _seed[:] = [seed]
    for listener in _listeners:
        listener(seed)


@public("millrace")
def get_seed() -> int | None:
    """The seed given to :func:`set_seed`, or None."""
    return _seed[0] if _seed else None


current = get_seed


def on_seed_change(listener: Callable[[int], None]) -> None:
    """Register a function to call with each new seed; it is called at once if a seed is set."""
    _listeners.append(listener)
    if _seed:
        listener(_seed[0])
