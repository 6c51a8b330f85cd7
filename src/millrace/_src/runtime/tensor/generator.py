"""``Generator``: a source of random numbers that users hold; and the one that operations draw from."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, OperationError
from millrace._src.core.values.tensor import Tensor

from .backend.context import get_device
from .storage import unwrap, wrap

__all__ = [
    "Generator",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


class Generator:
    """A source of random numbers with a state that can be kept and put back.

    >>> draws = Generator()
    >>> draws.manual_seed(3).initial_seed()
    3
    >>> state = draws.get_state()
    >>> draws.set_state(state)
    """

    def __init__(self) -> None:
        self._generator: torch.Generator | None = torch.Generator(device=get_device())

    @property
    def _torch(self) -> torch.Generator:
        """PyTorch's generator: this one's own, or that of the device in use."""
        if self._generator is not None:
            return self._generator
        if get_device() == "cpu":
            return torch.default_generator
        torch.cuda.init()
        generator: torch.Generator = torch.cuda.default_generators[torch.device(get_device()).index]
        return generator

    def seed(self) -> int:
        """Begin anew with a seed that nobody knows; it is returned."""
        return self._torch.seed()

    def manual_seed(self, seed: int) -> Generator:
        """Begin anew with this seed."""
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise ArgumentTypeError("Seed must be an integer.")
        self._torch.manual_seed(seed)
        return self

    def initial_seed(self) -> int:
        """The seed it began with."""
        return self._torch.initial_seed()

    def get_state(self) -> Tensor:
        """The state as bytes. They are PyTorch's: MindSpore's state is another."""
        return wrap(self._torch.get_state())

    def set_state(self, state: Tensor) -> None:
        """Go on from a state that :meth:`get_state` gave."""
        if not isinstance(state, Tensor):
            raise ArgumentTypeError(
                f"For 'Generator', the state must be a Tensor of get_state(), but got {state!r}."
            )
        try:
            self._torch.set_state(unwrap(state).cpu())
        except (RuntimeError, TypeError) as error:
            raise OperationError(
                f"For 'Generator', this is no state of a generator on {get_device()}: a tensor of "
                f"{state.dtype}, shape {list(state.shape)}. Give what get_state() returned."
            ) from error

    def __getstate__(self) -> dict[str, Any]:
        return {"own": self._generator is not None, "state": self._torch.get_state().numpy()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self._generator = torch.Generator(device=get_device()) if kept["own"] else None
        self._torch.set_state(torch.from_numpy(kept["state"]))


default_generator = Generator()
default_generator._generator = None


def manual_seed(seed: int) -> Generator:
    """Begin the generator that operations draw from anew with this seed.

    >>> manual_seed(4).initial_seed(), initial_seed()
    (4, 4)
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Begin the generator that operations draw from anew with a seed that nobody knows; it is returned.

    >>> seed() == initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the generator of operations began with.

    >>> isinstance(initial_seed(), int)
    True
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the generator that operations draw from.

    >>> set_rng_state(get_rng_state())
    """
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Let operations draw from here on as after :func:`get_rng_state`.

    >>> set_rng_state(get_rng_state())
    """
    default_generator.set_state(state)
