"""The version that scripts see."""

from .as_mindspore.module_map import VERSION as __version__

__all__ = ["__version__"]
