"""The generators of the training wing: one for initialisers, PyTorch's own for operations. A seed starts them anew."""

from __future__ import annotations

import torch

from millrace.core.seeds import current, on_seed

__all__ = ["generator", "seeded"]

_initial: list[torch.Generator] = []
# The generators of operations that were given a seed of their own: each goes on from call to call.
_own: dict[tuple[int, int, torch.device], torch.Generator] = {}


def generator() -> torch.Generator:
    """The generator that initialisers draw from."""
    if not _initial:
        made = torch.Generator()
        seed = current()
        made.manual_seed(torch.seed() % 2**63 if seed is None else seed)
        _initial.append(made)
    return _initial[0]


def seeded(seed: int | None, seed2: int = 0, device: torch.device | None = None) -> torch.Generator | None:
    """The generator of an operation with a seed of its own, or none: then PyTorch's own draws.

    Calls with the same seed go on with the same numbers; `set_seed` starts them anew.
    """
    if not seed and not seed2:
        return None
    key = (seed or 0, seed2, device or torch.get_default_device())
    if key not in _own:
        made = torch.Generator(key[2])
        made.manual_seed(hash((current() or 0, seed or 0, seed2)) % 2**63)
        _own[key] = made
    return _own[key]


def _seeded(seed: int) -> None:
    _initial.clear()
    _own.clear()
    torch.manual_seed(seed)


on_seed(_seeded)
