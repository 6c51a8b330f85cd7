"""OpenMP spin time: how long PyTorch's threads busy-wait for work before they sleep."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

__all__ = ["SPINS", "limit_openmp_spin"]

# Polls of the flag before a waiting thread sleeps: some ten microseconds, longer than the time between two operations.
# The library's default is 300 times that, during which a waiting thread occupies a core that another program, or the
# thread it waits for, may need: on shared cores a step took 90 to 3,000 ms instead of 30 ms. Threads that sleep at once
# must be woken: a step took 8 ms instead of 2 ms on idle cores.
SPINS = 1000


def limit_openmp_spin(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set the spin count of GNU OpenMP, which reads it when PyTorch is loaded, unless the user has set a policy.

    >>> environment = {"OMP_WAIT_POLICY": "PASSIVE"}
    >>> limit_openmp_spin(environment)
    >>> environment
    {'OMP_WAIT_POLICY': 'PASSIVE'}
    """
    if "OMP_WAIT_POLICY" not in environment:
        environment.setdefault("GOMP_SPINCOUNT", str(SPINS))
