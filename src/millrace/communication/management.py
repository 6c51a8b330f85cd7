"""The path under which older scripts find ``init``, ``get_rank`` and their like."""

from __future__ import annotations

from millrace.parallel.communication import *  # noqa: F403
from millrace.parallel.communication import __all__ as __all__
