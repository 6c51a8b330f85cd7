"""Distributions and transforms of them: ``from millrace.nn.probability import distribution, bijector``."""

from __future__ import annotations

from . import bijector, distribution

__all__ = ["bijector", "distribution"]
