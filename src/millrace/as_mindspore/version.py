"""The version that scripts see."""

from .names import VERSION as __version__

__all__ = ["__version__"]
