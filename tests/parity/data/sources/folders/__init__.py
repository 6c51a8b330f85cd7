"""Small data sets in the layout of the real ones. No import of Millrace or MindSpore: both read what this writes.

FOLDERS: case -> (class, writer). The writer fills a folder and returns the arguments of the class. Each module here
holds one family; importing it adds its cases.
"""

from __future__ import annotations

from . import examples, lines, objects, records, sentences, single_files  # noqa: F401
from .base import FOLDERS

__all__ = ["FOLDERS"]
