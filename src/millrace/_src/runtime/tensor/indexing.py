"""Tensor indexing, ``x[index]`` and ``x[index] = value``: PyTorch's, with MindSpore's extensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.values.tensor import Tensor

from .error_translation import translate_error, user_source_line
from .storage import as_torch_tensor, wrap

__all__ = ["getitem", "setitem"]

_SUPPORTED_INDEX_TYPES = "integers, slices, ellipsis, None, bool, tensors, lists and tuples"


class _BadIndex(IndexError):
    pass


def getitem(self: Tensor, index: Any) -> Tensor:
    """The selected part; a view if possible."""
    try:
        data = self._torch
    except ArgumentTypeError:  # a string tensor, which only a NumPy array holds
        return self._wrap(np.asarray(self._array[index]), self._dtype)
    try:
        if index.__class__ is int:
            return wrap(data[index])
        torch_index, flips = _normalize_index(index, data)
        part = data[torch_index]
        return wrap(part.flip(flips) if flips else part)
    except _BadIndex:
        raise
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise _translate_index_error(error, self, index) from None


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write to the selected part."""
    data = self._torch
    if isinstance(value, (str, bytes)) or value is None:
        raise ArgumentTypeError(
            f"only support numbers, Tensor, tuple, list as value, but got {value!r} with type {type(value)}"
        )
    try:
        torch_index, flips = _normalize_index(index, data)
        if isinstance(value, (bool, int, float, complex)):
            torch_value: Any = value
            if not data.is_floating_point() and not data.is_complex() and isinstance(value, float):
                torch_value = int(value)  # as in MindSpore: truncated towards zero
        else:
            torch_value = as_torch_tensor(value).to(data.dtype).to(data.device)
            if flips:
                torch_value = torch_value.expand(data[torch_index].shape).flip(flips)
        if data.requires_grad and data.is_leaf:
            with torch.no_grad():
                data[torch_index] = torch_value
        else:
            data[torch_index] = torch_value
    except _BadIndex:
        raise
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise _translate_index_error(error, self, index) from None


def _translate_index_error(error: Exception, tensor: Tensor, index: Any) -> BaseException:
    if isinstance(error, IndexError):
        if tensor.ndim == 0:
            return ArgumentTypeError("Cannot iterate over a scalar tensor.")
        where = user_source_line()
        return _BadIndex(
            f"{error}\n  got: a tensor of shape {list(tensor.shape)}, index {index!r}\n  at: {where}"
        )
    return translate_error("Tensor.__getitem__", error, (tensor, index))


def _normalize_index(index: Any, data: torch.Tensor) -> tuple[Any, list[int]]:
    """An index for PyTorch, and the axes of the result to reverse afterwards."""
    if isinstance(index, list) and any(isinstance(part, (list, tuple, slice)) for part in index):
        index = tuple(index)  # a list of lists is a tuple of lists
    if not isinstance(index, tuple):
        index = (index,)
    parts: list[Any] = []
    flips: list[int] = []
    axis = 0  # of the input
    result_axis = 0  # of the result, while all items are slices
    has_index_array = False
    for position, part in enumerate(index):
        item = _normalize_index_item(part)
        if isinstance(item, slice):
            size = data.shape[axis] if axis < data.ndim else 0
            if item.step is not None and item.step < 0:
                item = _reverse_negative_slice(item, size)
                flips.append(result_axis)
                if has_index_array:
                    raise _BadIndex("a negative step cannot be combined with a list or tensor as index")
            axis, result_axis = axis + 1, result_axis + 1
        elif item is None or item is True or item is False:
            result_axis += 1
        elif item is Ellipsis:
            rest = sum(
                1 for later in index[position + 1 :] if later is not None and not isinstance(later, bool)
            )
            gap = max(data.ndim - axis - rest, 0)
            axis, result_axis = axis + gap, result_axis + gap
        else:
            is_index_array = isinstance(item, torch.Tensor) and item.ndim > 0
            if is_index_array and flips:
                raise _BadIndex("a negative step cannot be combined with a list or tensor as index")
            has_index_array = has_index_array or is_index_array
            axis += item.ndim if isinstance(item, torch.Tensor) and item.dtype is torch.bool else 1
        parts.append(item)
    if sum(part is Ellipsis for part in parts) > 1:
        raise _BadIndex("An index can only have a single ellipsis('...')")
    return tuple(parts), flips


def _normalize_index_item(part: Any) -> Any:
    if isinstance(part, Tensor):
        part = part._torch
    if isinstance(part, torch.Tensor):
        if part.is_floating_point() or part.is_complex():
            raise _BadIndex(f"The tensor index must be int or bool type, but got {part.dtype}")
        # uint8 is a number here, not a mask
        return part if part.dtype in (torch.bool, torch.int64) else part.to(torch.int64)
    if isinstance(part, slice):
        ends = [None if end is None else int(end) for end in (part.start, part.stop, part.step)]
        return slice(*ends)
    if isinstance(part, (list, tuple, np.ndarray, range)):
        if isinstance(part, list) and not part:
            raise _BadIndex("When tensor is indexed by list, the list can't be empty.")
        return _normalize_index_item(as_torch_tensor(np.asarray(part) if isinstance(part, range) else part))
    if part is None or part is Ellipsis or isinstance(part, (bool, int)):
        return part
    if isinstance(part, (np.integer, np.bool_)):
        return part.item()
    raise _BadIndex(
        f"Only support {_SUPPORTED_INDEX_TYPES} as index, but got {part!r} with type {type(part)}"
    )


def _reverse_negative_slice(part: slice, size: int) -> slice:
    """The elements of a slice with a negative step as a slice with a positive step."""
    chosen = range(size)[part]
    if not chosen:
        return slice(0, 0)
    return slice(chosen[-1], chosen[0] + 1, -chosen.step)
