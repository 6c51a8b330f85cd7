"""Stages: pull-based chunk iterators with resumable state, one file per operator.

Each file registers its stages in the stage registry.
"""

from millrace._src.core.lazy import import_all

# imported now, so that the first batch does not wait for it
import_all(__name__, __path__)
