"""The path under which older scripts find ``init``, ``get_rank`` and their like."""

from __future__ import annotations

from millrace._src.runtime.distributed.process_groups import *  # noqa: F403
from millrace._src.runtime.distributed.process_groups import __all__ as __all__
