"""``set_dump``: which cells MindSpore would write to files on its own hardware."""

from __future__ import annotations

import warnings
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.declare.primitive import Primitive

__all__ = ["set_dump"]


@public("millrace")
def set_dump(target: Any, enabled: bool = True) -> None:
    """Keep the wish to have inputs and outputs of a Cell or operation written to files; only Ascend does that.

    ``ops.TensorDump`` and ``ops.Print`` write values here, a hook (``register_forward_hook``) sees them all.

    >>> from millrace import nn
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     set_dump(nn.ReLU())
    """
    if not isinstance(target, (Cell, Primitive)):
        raise ArgumentValueError(
            f'The "target" parameter must be an instance of Cell or Primitive, but got an instance of {type(target)}.'
        )
    if not isinstance(enabled, bool):
        raise ArgumentValueError('The "enabled" parameter must be bool.')
    for each in (cell for _, cell in target.cells_and_names()) if isinstance(target, Cell) else (target,):
        each.__dict__["_dump"] = enabled
    warnings.warn(
        "set_dump acts on Ascend only; use a forward hook or ops.Print to see values here",
        UserWarning,
        stacklevel=2,
    )
