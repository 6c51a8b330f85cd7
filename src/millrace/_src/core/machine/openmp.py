"""How long PyTorch's threads wait awake for the next piece of work before they sleep."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

__all__ = ["SPINS", "limit_openmp_spin"]

# Looks at the flag before a waiting thread sleeps: some ten microseconds, longer than it takes to come from one
# operation to the next. The library's own choice is 300 times that, during which a waiting thread holds a core that
# another program's, or the very thread it waits for, may need: on cores that others use too a step took 90 to 3,000 ms
# where it takes 30 with this. Threads that sleep at once have to be woken: 8 ms where it takes 2 on idle cores.
SPINS = 1000


def limit_openmp_spin(environment: MutableMapping[str, str] = os.environ) -> None:
    """Ask GNU's OpenMP, which looks once when PyTorch is loaded, unless the user has asked for something already.

    >>> environment = {"OMP_WAIT_POLICY": "PASSIVE"}
    >>> limit_openmp_spin(environment)
    >>> environment
    {'OMP_WAIT_POLICY': 'PASSIVE'}
    """
    if "OMP_WAIT_POLICY" not in environment:
        environment.setdefault("GOMP_SPINCOUNT", str(SPINS))
