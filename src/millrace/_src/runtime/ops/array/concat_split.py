"""Concatenate, stack and split: concat, stack, split, chunk, tensor_split, unstack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Concat",
    "Pack",
    "ParallelConcat",
    "Split",
    "SplitV",
    "Stack",
    "Unpack",
    "Unstack",
    "chunk",
    "chunk_mint",
    "column_stack",
    "concat",
    "concat_mint",
    "parallel_concat",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "split_v",
    "split_primitive",
    "split_method",
    "split_mint",
    "stack",
    "stack_primitive",
    "stack_mint",
    "tensor_split",
    "unbind",
    "unstack",
    "unstack_num",
    "vsplit",
    "vstack",
]


def check_same_dtype_list(tensors: Any, name: str) -> list[Tensor]:
    """Check that the inputs are tensors of one dtype, and return them as a list."""
    if not isinstance(tensors, (list, tuple)):
        raise ArgumentTypeError(
            f"For '{name}', the input must be list or tuple of Tensors, but got {type(tensors)}."
        )
    if not tensors:
        raise ArgumentValueError(f"For '{name}', the elements size must be greater than 0, but got 0.")
    first = tensors[0]
    for each in tensors:
        if not isinstance(each, Tensor):
            raise ArgumentTypeError(f"For '{name}', the input element must be tensor, but got {type(each)}.")
        if each.dtype is not first.dtype:
            dtypes = ", ".join(str(part.dtype).removeprefix("torch.") for part in tensors)
            raise ArgumentTypeError(
                f"For '{name}', the input[tensors] elements should have same type, but got: {dtypes}. "
                "Convert them with x.astype(...)."
            )
    return list(tensors)


@op("ops", "ops:cat", dtype=UNCHECKED)
def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors along an existing axis."""
    return torch.cat(check_same_dtype_list(tensors, "concat"), axis)


@op("mint:concat", "mint:cat", dtype=UNCHECKED)
def concat_mint(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Concatenate tensors along an existing axis."""
    return torch.cat(check_same_dtype_list(tensors, "concat"), dim)


@op(dtype=UNCHECKED)
def parallel_concat(values: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along the first axis."""
    return torch.cat(check_same_dtype_list(values, "ParallelConcat"))


def _stack(tensors: Any, axis: int) -> Tensor:
    if isinstance(tensors, Tensor):
        tensors = (tensors,)
    return torch.stack(check_same_dtype_list(tensors, "stack"), axis)


@op("ops", dtype=UNCHECKED)
def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Stack tensors along a new axis."""
    return _stack(tensors, axis)


@op("mint:stack", dtype=UNCHECKED)
def stack_mint(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Stack tensors along a new axis."""
    return _stack(tensors, dim)


@op(dtype=UNCHECKED)
def stack_primitive(*input_x: Tensor | Sequence[Tensor], axis: int = 0) -> Tensor:
    """Stack tensors, given as a tuple or as separate arguments, along a new axis."""
    return _stack(input_x[0] if len(input_x) == 1 else input_x, axis)


@op("ops", "mint", dtype=UNCHECKED)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along the second axis, vectors along the first."""
    return torch.hstack(check_same_dtype_list(tensors, "hstack"))


@op("ops", "ops:row_stack", dtype=UNCHECKED)
def vstack(inputs: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along the first axis; vectors are rows."""
    return torch.vstack(check_same_dtype_list(inputs, "vstack"))


@op("ops", "mint", dtype=UNCHECKED)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along the third axis."""
    return torch.dstack(check_same_dtype_list(tensors, "dstack"))


@op("ops", dtype=UNCHECKED)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors along the second axis; vectors are columns."""
    return torch.column_stack(check_same_dtype_list(tensors, "column_stack"))


def _split(tensor: Tensor, how: Any, axis: int, name: str) -> tuple[Tensor, ...]:
    """Split into parts of one size, or of several sizes that sum to the length."""
    length = tensor.shape[axis] if tensor.ndim and -tensor.ndim <= axis < tensor.ndim else 0
    if isinstance(how, int) and not isinstance(how, bool):
        if how <= 0:
            raise ArgumentValueError(
                f"For split, the value of 'split_size_or_sections' must be more than zero, but got {how}."
            )
        return torch.split(tensor, how, axis)
    if not isinstance(how, (list, tuple)):
        raise ArgumentTypeError(
            f"For '{name}', 'split_size_or_sections' must be an int, or a list or tuple of ints, but got {how!r}."
        )
    parts = [to_int(each, "split_size_or_sections") for each in how]
    if any(part < 0 for part in parts):
        raise ArgumentValueError(f"For '{name}', no part may have a negative length, but got {parts}.")
    total = sum(parts)
    if total != length and -tensor.ndim <= axis < tensor.ndim:
        raise ArgumentValueError(
            f"The sum of 'split_size_or_sections' should be equal to {length}, but got {total}."
        )
    return torch.split(tensor, parts, axis)


@op("ops", dtype=UNCHECKED)
def split(tensor: Tensor, split_size_or_sections: Any, axis: int = 0) -> Any:
    """Split along an axis into parts of one size (the last may be smaller) or of a list of sizes."""
    return _split(tensor, split_size_or_sections, axis, "split")


@op("mint:split", dtype=UNCHECKED)
def split_mint(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Split along an axis into parts of one size (the last may be smaller) or of a list of sizes."""
    return _split(tensor, split_size_or_sections, dim, "split")


@op("Tensor:split", dtype=UNCHECKED, also={"dim": "axis", "split_size_or_sections": "split_size"})
def split_method(tensor: Tensor, split_size: Any, axis: int = 0) -> Any:
    """Split along an axis into parts of one size (the last may be smaller) or of a list of sizes."""
    return _split(tensor, split_size, axis, "split")


@op(dtype=UNCHECKED)
def split_primitive(input_x: Tensor, axis: int = 0, output_num: int = 1) -> Any:
    """Split along an axis into `output_num` equal parts."""
    if isinstance(output_num, int) and -input_x.ndim <= axis < input_x.ndim:
        length = input_x.shape[axis]
        if output_num <= 0 or length % output_num:
            raise ArgumentValueError(
                f"For 'Split', x_shape[{axis}] must be divisible by output_num = {output_num}, but got {length}"
            )
    return torch.tensor_split(input_x, output_num, axis)


@op(dtype=UNCHECKED)
def split_v(input_x: Tensor, size_splits: Any, split_dim: int, num_split: int) -> Any:
    """Split along an axis into parts of the given sizes; one size may be -1 and is inferred."""
    parts = list(size_splits)
    if len(parts) != num_split:
        raise ArgumentValueError(
            f"For 'SplitV', 'num_split' is {num_split}, but 'size_splits' has {len(parts)} parts."
        )
    if -1 in parts and -input_x.ndim <= split_dim < input_x.ndim:
        parts[parts.index(-1)] = input_x.shape[split_dim] - sum(parts) - 1
    return _split(input_x, parts, split_dim, "SplitV")


def _chunk(input: Tensor, chunks: int, axis: int) -> tuple[Tensor, ...]:
    if to_int(chunks, "chunks") <= 0:
        raise ArgumentValueError(f"For ops.chunk parameter 'chunks' must be greater than 0, but got {chunks}")
    return torch.chunk(input, chunks, axis)


@op("ops", "Tensor", dtype=UNCHECKED, also={"dim": "axis"})
def chunk(input: Tensor, chunks: int, axis: int = 0) -> Any:
    """Split along an axis into at most `chunks` parts of equal size; the last may be smaller."""
    return _chunk(input, chunks, axis)


@op("mint:chunk", "ops:chunk_ext", dtype=UNCHECKED)
def chunk_mint(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """Split along an axis into at most `chunks` parts of equal size; the last may be smaller."""
    return _chunk(input, chunks, dim)


def _split_at(input: Tensor, where: Any, axis: int, name: str, least: int = 1) -> tuple[Tensor, ...]:
    """Split into a number of nearly equal parts, or before each of the given indices."""
    if input.ndim < least:
        raise ArgumentValueError(
            f"{name} expect `x` is a Tensor with at least {least} dimension, but got {input.ndim}"
        )
    if isinstance(where, int) and not isinstance(where, bool):
        if where <= 0:
            raise ArgumentValueError(
                f"For '{name}', the number of sections must be more than zero, but got {where}."
            )
        return torch.tensor_split(input, where, axis)
    if not isinstance(where, (list, tuple)):
        raise ArgumentTypeError(
            f"For '{name}', 'indices_or_sections' must be an int, or a list or tuple of ints, but got {where!r}."
        )
    return torch.tensor_split(input, tuple(to_int(each, "indices_or_sections") for each in where), axis)


@op("ops", "Tensor", dtype=UNCHECKED)
def tensor_split(input: Tensor, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split along an axis into a number of nearly equal parts, or before each of the given indices."""
    return _split_at(input, indices_or_sections, axis, "tensor_split")


@op("ops", "Tensor", dtype=UNCHECKED)
def vsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Split along the first axis, as `tensor_split` does."""
    return _split_at(input, indices_or_sections, 0, "vsplit")


@op("ops", "Tensor", dtype=UNCHECKED)
def hsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Split along the second axis, as `tensor_split` does."""
    return _split_at(input, indices_or_sections, 1, "hsplit", least=2)


@op("ops", "Tensor", dtype=UNCHECKED)
def dsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """Split along the third axis, as `tensor_split` does."""
    return _split_at(input, indices_or_sections, 2, "dsplit", least=3)


@op("ops", "mint", "Tensor", dtype=UNCHECKED)
def unbind(input: Tensor, dim: int = 0) -> Any:
    """Tuple of the slices along an axis, without that axis."""
    return torch.unbind(input, dim)


@op("ops", dtype=UNCHECKED)
def unstack(input_x: Tensor, axis: int = 0) -> Any:
    """Tuple of the slices along an axis, without that axis."""
    return torch.unbind(input_x, axis)


@op(dtype=UNCHECKED)
def unstack_num(input_x: Tensor, axis: int = 0, num: int | None = None) -> Any:
    """Tuple of the slices along an axis, without that axis. `num` is ignored: the length is known."""
    return torch.unbind(input_x, axis)


Concat = primitive("Concat", concat, init=("axis",))
ParallelConcat = primitive("ParallelConcat", parallel_concat, init=())
Split = primitive("Split", split_primitive, init=("axis", "output_num"))
SplitV = primitive("SplitV", split_v, init=("size_splits", "split_dim", "num_split"))
Stack = primitive("Stack", stack_primitive, init=("axis",))
Pack = primitive("Pack", stack, init=("axis",))
Unstack = primitive("Unstack", unstack_num, init=("axis", "num"))
Unpack = primitive("Unpack", unstack, init=("axis",))
