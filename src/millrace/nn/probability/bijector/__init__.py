"""Bijectors: transforms of random numbers, there and back, with the log of their stretch."""

from __future__ import annotations

from millrace._src.runtime.distributions.bijector import Bijector
from millrace._src.runtime.distributions.scalar_bijectors import (
    Exp,
    GumbelCDF,
    Invert,
    PowerTransform,
    ScalarAffine,
    Softplus,
)

__all__ = ["Bijector", "Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus"]
