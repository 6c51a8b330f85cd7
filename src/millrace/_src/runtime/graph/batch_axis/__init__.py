"""Static analysis of a stored program: whether each row of the results depends on the same row of the inputs only."""

from .analysis import Mixing, find_mixing
from .training_mode import find_training

__all__ = ["Mixing", "find_mixing", "find_training"]
