"""The generators of the training wing: one for initialisers, PyTorch's own for operations. A seed starts them anew."""

from __future__ import annotations

import torch

from millrace.core.seeds import current, on_seed

__all__ = ["generator"]

_initial: list[torch.Generator] = []


def generator() -> torch.Generator:
    """The generator that initialisers draw from."""
    if not _initial:
        made = torch.Generator()
        seed = current()
        made.manual_seed(torch.seed() % 2**63 if seed is None else seed)
        _initial.append(made)
    return _initial[0]


def _seeded(seed: int) -> None:
    _initial.clear()
    torch.manual_seed(seed)


on_seed(_seeded)
