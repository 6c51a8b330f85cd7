"""Static analysis of a serialized program: whether each row of the results depends only on the same row of
the inputs.
"""

from .analysis import Mixing, find_mixing
from .training_mode import find_training

__all__ = ["Mixing", "find_mixing", "find_training"]
