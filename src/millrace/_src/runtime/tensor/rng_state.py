"""Random number generators of the runtime: one for initializers, PyTorch's for operations. A seed resets
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from millrace._src.core.random.seeds import current, on_seed_change

__all__ = [
    "use_initializer_generator",
    "initializer_generator",
    "op_generator",
    "set_rng_states",
    "get_rng_states",
]

_initializer_generators: list[torch.Generator] = []
# The generators of operations with an explicit seed: each continues from call to call.
_op_generators: dict[tuple[int, int, torch.device], torch.Generator] = {}


def initializer_generator() -> torch.Generator:
    """The generator of initializers."""
    if not _initializer_generators:
        generator = torch.Generator()
        seed = current()
        generator.manual_seed(torch.seed() % 2**63 if seed is None else seed)
        _initializer_generators.append(generator)
    return _initializer_generators[0]


@contextmanager
def use_initializer_generator(generator: torch.Generator) -> Iterator[None]:
    """Use another generator for initializers inside the block."""
    previous = initializer_generator()
    _initializer_generators[0] = generator
    try:
        yield
    finally:
        _initializer_generators[:] = [previous]


def op_generator(
    seed: int | None, seed2: int = 0, device: torch.device | None = None
) -> torch.Generator | None:
    """The generator of an operation with an explicit seed, or None for PyTorch's default generator.

    Calls with the same seed continue one sequence of random numbers; `set_seed` restarts it.
    """
    if not seed and not seed2:
        return None
    key = (seed or 0, seed2, device or torch.get_default_device())
    if key not in _op_generators:
        generator = torch.Generator(key[2])
        generator.manual_seed(hash((current() or 0, seed or 0, seed2)) % 2**63)
        _op_generators[key] = generator
    return _op_generators[key]


def get_rng_states() -> dict[str, torch.Tensor]:
    """The states of all generators by name: devices, initializers, operations with an explicit seed.

    >>> states = get_rng_states()
    >>> numbers = torch.rand(2).tolist()
    >>> set_rng_states(states)
    >>> torch.rand(2).tolist() == numbers
    True
    """
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_initialized():
        states |= {f"cuda:{n}": torch.cuda.get_rng_state(n) for n in range(torch.cuda.device_count())}
    if _initializer_generators:
        states["initial"] = _initializer_generators[0].get_state()
    states |= {
        f"own/{seed}/{seed2}/{device}": g.get_state() for (seed, seed2, device), g in _op_generators.items()
    }
    return states


def set_rng_states(get_rng_states: dict[str, torch.Tensor]) -> None:
    """Restore the states of :func:`get_rng_states`. States of devices that are not available are skipped."""
    for name, state in get_rng_states.items():
        prefix, *rest = name.split("/")
        if name == "cpu":
            torch.set_rng_state(state)
        elif name == "initial":
            initializer_generator().set_state(state)
        elif prefix == "own":
            device = torch.device(rest[2])
            if device.type == "cpu" or device.index is None or device.index < torch.cuda.device_count():
                generator = op_generator(int(rest[0]), int(rest[1]), device)
                assert generator is not None
                generator.set_state(state)
        elif torch.cuda.is_available() and int(name.partition(":")[2]) < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, name)


def _on_seed(seed: int) -> None:
    _initializer_generators.clear()
    _op_generators.clear()
    torch.manual_seed(seed)


on_seed_change(_on_seed)
