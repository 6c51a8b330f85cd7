"""What makes ``Tensor`` compute: storage on PyTorch, operators, indexing, parameters, initialisers, the context.

MindSpore's ``tensor`` is a function, and this room has its name: so the room can be called.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from millrace.core.tensor import Tensor


class _Tensor(types.ModuleType):
    def __call__(
        self,
        input_data: Any = None,
        dtype: Any = None,
        shape: Any = None,
        init: Any = None,
        const_arg: bool = False,
    ) -> Tensor:
        return Tensor(input_data, dtype, shape, init, const_arg)


sys.modules[__name__].__class__ = _Tensor
