"""``Generator``: a random number generator, and the default generator of operations."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, OperationError
from millrace._src.core.public import export_names, public
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


@public("millrace")
class Generator:
    """A random number generator whose state can be saved and restored.

    >>> generator = Generator()
    >>> generator.manual_seed(3).initial_seed()
    3
    >>> state = generator.get_state()
    >>> generator.set_state(state)
    """

    def __init__(self) -> None:
        self._generator: torch.Generator | None = torch.Generator(device=get_device())

    @property
    def _torch(self) -> torch.Generator:
        """PyTorch's generator: that of this object, or the default one of the device in use."""
        if self._generator is not None:
            return self._generator
        if get_device() == "cpu":
            return torch.default_generator
        torch.cuda.init()
        generator: torch.Generator = torch.cuda.default_generators[torch.device(get_device()).index]
        return generator

    def seed(self) -> int:
        """Seed with a non-deterministic number and return it."""
        return self._torch.seed()

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed."""
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise ArgumentTypeError("Seed must be an integer.")
        self._torch.manual_seed(seed)
        return self

    def initial_seed(self) -> int:
        """The seed that was set last."""
        return self._torch.initial_seed()

    def get_state(self) -> Tensor:
        """The state as bytes, in PyTorch's format, which differs from MindSpore's."""
        return wrap(self._torch.get_state())

    def set_state(self, state: Tensor) -> None:
        """Restore a state of :meth:`get_state`."""
        if not isinstance(state, Tensor):
            raise ArgumentTypeError(
                f"For 'Generator', the state must be a Tensor of get_state(), but got {state!r}."
            )
        try:
            self._torch.set_state(unwrap(state).cpu())
        except (RuntimeError, TypeError) as error:
            raise OperationError(
                f"For 'Generator', expected the state of a generator on {get_device()}, got a tensor of "
                f"{state.dtype}, shape {list(state.shape)}. Pass the result of get_state()."
            ) from error

    def __getstate__(self) -> dict[str, Any]:
        return {"own": self._generator is not None, "state": self._torch.get_state().numpy()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self._generator = torch.Generator(device=get_device()) if kept["own"] else None
        self._torch.set_state(torch.from_numpy(kept["state"]))


default_generator = Generator()
default_generator._generator = None


@public("millrace")
def manual_seed(seed: int) -> Generator:
    """Set the seed of the default generator of operations.

    >>> manual_seed(4).initial_seed(), initial_seed()
    (4, 4)
    """
    return default_generator.manual_seed(seed)


@public("millrace")
def seed() -> int:
    """Seed the default generator of operations with a non-deterministic number and return it.

    >>> seed() == initial_seed()
    True
    """
    return default_generator.seed()


@public("millrace")
def initial_seed() -> int:
    """The last seed of the default generator of operations.

    >>> isinstance(initial_seed(), int)
    True
    """
    return default_generator.initial_seed()


@public("millrace")
def get_rng_state() -> Tensor:
    """The state of the default generator of operations.

    >>> set_rng_state(get_rng_state())
    """
    return default_generator.get_state()


@public("millrace")
def set_rng_state(state: Tensor) -> None:
    """Restore a state of :func:`get_rng_state`.

    >>> set_rng_state(get_rng_state())
    """
    default_generator.set_state(state)


export_names(__name__, "millrace", "default_generator")
