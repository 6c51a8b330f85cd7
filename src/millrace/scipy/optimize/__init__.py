"""Where functions are least, with SciPy's names and arguments."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.core.lazy import lazy
from millrace._src.runtime.ops.scipy.linear_assignment import (
    linear_sum_assignment,
)

__all__ = [
    "line_search",
    "linear_sum_assignment",
    "minimize",
]

# These stand above this room.
__getattr__ = lazy(
    __name__,
    {
        "line_search": "millrace._src.runtime.optim.line_search",
        "minimize": "millrace._src.runtime.optim.minimize",
    },
)
