"""Run code that says ``import mindspore`` on Millrace, unchanged.

Either from the command line::

    python -m millrace.as_mindspore script.py [arguments]

or with one line above the others::

    import millrace.as_mindspore
    import mindspore.dataset as ds

From then on ``mindspore`` and its sub-modules are thin faces over Millrace's modules: the classes are the same
objects, nothing is loaded twice. What Millrace does not have is an ImportError or AttributeError that says so.
"""

from __future__ import annotations

from millrace._src.compat.as_mindspore.import_hook import MindSporeAlreadyImportedError as MindSporeLoaded
from millrace._src.compat.as_mindspore.import_hook import UnsupportedModuleError as NotInMillrace
from millrace._src.compat.as_mindspore.import_hook import install, installed

__all__ = ["MindSporeLoaded", "NotInMillrace", "install", "installed"]

install()
