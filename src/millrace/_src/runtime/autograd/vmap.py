"""``vmap``: vectorization of a function over an axis of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, OperationError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.error_translation import translate_error
from millrace._src.runtime.tensor.storage import unwrap_all, wrap, wrap_all

from .differentiation import inside_vmap

__all__ = ["vmap"]


@public("ops", "millrace")
def vmap(fn: Any, in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Return a function that maps `fn` over an axis of its inputs. An axis of None marks an input that is not
    mapped.

    For a CellList the first Cell gets the first slice, the second Cell the second, and so on.

    >>> vmap(lambda x, y: (x * y).sum(), in_axes=(0, None))(
    ...     Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 10.0])
    ... )
    Tensor(shape=[2], dtype=Float32, value= [ 2.10000000e+01,  4.30000000e+01])
    """
    cells = _cells_of(fn)
    if cells is None:
        if not callable(fn):
            raise OperationError(f"'VmapOperation' arg0 must be a 'Function' or 'Cell', but got {fn!r}.")
        if in_axes is None:
            raise OperationError(
                "The 'in_axes' of 'vmap' cannot be a single None while 'fn' is not a 'CellList'."
            )

    def mapped(*args: Any) -> Any:
        axes = _axes_of(in_axes, args)
        size = _common_size(axes, args)
        if cells is not None:
            return _vmap_over_cells(cells, axes, out_axes, args)
        return _vmap_function(fn, axes, out_axes, args, size)

    return mapped


def _cells_of(fn: Any) -> list[Any] | None:
    return list(fn) if type(fn).__name__ == "CellList" else None


def _axes_of(in_axes: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    if in_axes is None or (isinstance(in_axes, int) and not isinstance(in_axes, bool)):
        return tuple(_axes_tree(in_axes, arg) for arg in args)
    if not isinstance(in_axes, (tuple, list)):
        raise OperationError(
            f"The axis in vmap`s 'in_axes' can only be of type Int or None, but got {in_axes!r}."
        )
    if len(in_axes) != len(args):
        raise OperationError(
            "When vmap`s 'in_axes' is a tuple or list, and its size must be equal to the number of arguments of 'fn': "
            f"{len(args)}, but got size: {len(in_axes)}."
        )
    return tuple(_axes_tree(axis, arg) for axis, arg in zip(in_axes, args, strict=True))


def _axes_tree(axis: Any, arg: Any) -> Any:
    """The mapped axis of each tensor of an argument, in the argument's structure; None for values that are
    not tensors.
    """
    if isinstance(arg, (tuple, list)):
        several = axis if isinstance(axis, (tuple, list)) else [axis] * len(arg)
        return type(arg)(_axes_tree(a, part) for a, part in zip(several, arg, strict=True))
    if not isinstance(arg, Tensor):
        return None
    if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
        raise OperationError(
            f"The axis in vmap`s 'in_axes' can only be of type Int or None, but got {axis!r}."
        )
    return axis


def _common_size(axes: Any, args: Any) -> int | None:
    """The size of the mapped axis, which must be the same for all inputs."""
    sizes: list[int] = []

    def collect_sizes(axis: Any, arg: Any) -> None:
        if isinstance(arg, (tuple, list)):
            for a, part in zip(axis, arg, strict=True):
                collect_sizes(a, part)
        elif axis is not None:
            if not -arg.ndim <= axis < arg.ndim:
                raise OperationError(
                    f"The axis: {axis} in 'in_axes' is out of bounds for array of dimension [-{arg.ndim},{arg.ndim})."
                )
            sizes.append(arg.shape[axis])

    collect_sizes(axes, args)
    for size in sizes:
        if size != sizes[0]:
            raise OperationError(
                "The 'axis_size' of each argument in the scope of 'vmap' should be equal, but got "
                f"{sizes[0]} and {size}."
            )
    return sizes[0] if sizes else None


def _vmap_function(
    fn: Callable[..., Any], axes: tuple[Any, ...], out_axes: Any, args: Any, size: int | None
) -> Any:
    if size is None:
        raise OperationError("For 'vmap', at least one input must have a mapped axis.")
    structure: list[Any] = []

    def raw(*tensors: Any) -> Any:
        with modes.differentiating(), inside_vmap():
            result = fn(*wrap_all(tensors))
        structure[:] = [result]
        flat = _leaves(result)
        if not all(isinstance(each, Tensor) for each in flat):
            raise ArgumentTypeError("For 'vmap', 'fn' must return tensors, or tuples of them.")
        return tuple(each._torch for each in flat)

    try:
        # results have the mapped axis in front, and it is moved afterwards: `out_axes` may be None for some of them
        mapped_results = torch.func.vmap(raw, in_dims=tuple(axes), randomness="different")(*unwrap_all(args))
    except (RuntimeError, ValueError, IndexError) as error:
        if isinstance(error, OperationError):
            raise
        raise translate_error("vmap", error, list(_leaves(args))) from None
    axes_out = _output_axes(out_axes, structure[0])
    moved = iter([_move_axis(each, axis) for each, axis in zip(mapped_results, axes_out, strict=True)])
    return _unflatten(structure[0], moved)


def _output_axes(out_axes: Any, structure: Any) -> list[Any]:
    if isinstance(structure, (tuple, list)):
        several = out_axes if isinstance(out_axes, (tuple, list)) else [out_axes] * len(structure)
        if len(several) != len(structure):
            raise OperationError(
                f"When vmap`s 'out_axes' is a tuple, its size must be the number of results: {len(structure)}, "
                f"but got size: {len(several)}."
            )
        return [
            each for axis, part in zip(several, structure, strict=True) for each in _output_axes(axis, part)
        ]
    return [out_axes[0] if isinstance(out_axes, (tuple, list)) and len(out_axes) == 1 else out_axes]


def _move_axis(data: torch.Tensor, axis: int | None) -> Tensor:
    return wrap(data[0] if axis is None else data.movedim(0, axis))


def _leaves(value: Any) -> list[Any]:
    return [each for part in value for each in _leaves(part)] if isinstance(value, (tuple, list)) else [value]


def _unflatten(structure: Any, tensors: Any) -> Any:
    if isinstance(structure, (tuple, list)):
        return type(structure)(_unflatten(part, tensors) for part in structure)
    return next(tensors)


def _vmap_over_cells(cells: list[Any], axes: tuple[Any, ...], out_axes: Any, args: Any) -> Any:
    """Call the first Cell with the first slice, the second Cell with the second, and so on."""

    def row(axis: Any, arg: Any, index: int) -> Any:
        if isinstance(arg, (tuple, list)):
            return type(arg)(row(a, part, index) for a, part in zip(axis, arg, strict=True))
        return arg if axis is None else wrap(arg._torch.select(axis, index))

    results = [
        cell(*(row(axis, arg, index) for axis, arg in zip(axes, args, strict=True)))
        for index, cell in enumerate(cells)
    ]
    flat = [_leaves(each) for each in results]
    stacked = [torch.stack([part._torch for part in parts]) for parts in zip(*flat, strict=True)]
    moved = iter(
        [
            _move_axis(each, axis)
            for each, axis in zip(stacked, _output_axes(out_axes, results[0]), strict=True)
        ]
    )
    return _unflatten(results[0], moved)
