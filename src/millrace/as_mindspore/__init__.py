"""Run code with ``import mindspore`` on Millrace, unchanged.

Either from the command line::

    python -m millrace.as_mindspore script.py [arguments]

or with one line before the other imports::

    import millrace.as_mindspore
    import mindspore.dataset as ds

From then on, ``mindspore`` and its submodules re-export Millrace's modules: the classes are the same objects, and
nothing is loaded twice. A name that Millrace does not have raises ImportError or AttributeError with the reason.
"""

from __future__ import annotations

from millrace._src.compat.as_mindspore.import_hook import (
    MindSporeAlreadyImportedError,
    UnsupportedModuleError,
    install,
    installed,
)

__all__ = [
    "MindSporeAlreadyImportedError",
    "MindSporeLoaded",
    "NotInMillrace",
    "UnsupportedModuleError",
    "install",
    "installed",
]

# earlier names
MindSporeLoaded = MindSporeAlreadyImportedError
NotInMillrace = UnsupportedModuleError

install()
