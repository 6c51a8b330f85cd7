"""Offloaded transforms of a batch on the device: from the pipeline's columns to the columns of its schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import DeviceQueueError
from millrace._src.core.values.offload import (
    ENCODED,
    READY,
    SIZED,
    STAGE_FINISHED,
    OffloadedColumn,
    OffloadPlan,
    OffloadStep,
    unpack_shape_and_dtype,
)
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.storage import wrap

from .decode_balancer import DecodeBalancer
from .kernels import KERNELS, Images, crop_and_resize_batch, decode_jpeg_batch

__all__ = ["BatchTransforms"]

# Images decoded at a time, which bounds their memory on the device.
GROUP = 64

Move = Callable[[torch.Tensor], torch.Tensor]


class BatchTransforms:
    """Apply offloaded transforms to a batch; `move` transfers a tensor to the device."""

    def __init__(self, work: OffloadPlan) -> None:
        self.work = work
        self.columns = [(column, _reorder_steps(column)) for column in work.work]
        # balances the share of decoding on the host
        shares = [column.share for column in work.work if column.share is not None]
        self.split = DecodeBalancer(shares) if shares else None

    def __call__(self, values: Sequence[Any], move: Move) -> list[Any]:
        """The values in the order of the schema; columns without offloaded steps are still on the host."""
        by_name = dict(zip(self.work.input_columns, values, strict=True))
        for column, steps in self.columns:
            by_name[column.name] = wrap(_transform_column(column, steps, by_name, move))
        return [by_name[name] for name in self.work.columns]


def _reorder_steps(column: OffloadedColumn) -> tuple[OffloadStep, ...]:
    """Swap Normalize and HWC2CHW: the results are the same, and the transpose handles bytes instead of floats."""
    steps, random_columns = list(column.steps), list(column.random_columns)
    for i in range(len(steps) - 1):
        first, second = steps[i], steps[i + 1]
        if (first.kernel, second.kernel) == ("normalize", "planes") and first.args["is_hwc"]:
            channels_first = OffloadStep(
                first.op, "normalize", first.accepts, {**first.args, "is_hwc": False}
            )
            steps[i], steps[i + 1] = second, channels_first
    assert not any(
        random_columns[i] for i, step in enumerate(column.steps) if step.kernel in ("normalize", "planes")
    )
    return tuple(steps)


def _transform_column(
    column: OffloadedColumn, steps: tuple[OffloadStep, ...], by_name: dict[str, Any], move: Move
) -> torch.Tensor:
    forms = by_name[column.form].asnumpy()
    tensor: Tensor = by_name[column.name]
    samples = _collect_samples(column, by_name, len(forms))
    if (forms == STAGE_FINISHED).any():
        if not (forms == STAGE_FINISHED).all():
            raise DeviceQueueError(
                f"column {column.name!r}: only some rows of the batch can be processed on the device; "
                "config.set_auto_offload(False) and map(offload=False) process all of them on the host"
            )
        return move(
            _unpack_host_values(tensor, by_name[column.shapes].asnumpy()) if column.sized else tensor._torch
        )
    if not column.sized:
        return _apply_steps(move(tensor._torch), steps, samples)
    shapes = [unpack_shape_and_dtype(row)[0] for row in by_name[column.shapes].asnumpy()]
    first = _to_one_size(tensor._torch, shapes, forms, steps[: column.sized], samples[: column.sized], move)
    return _apply_steps(first, steps[column.sized :], samples[column.sized :])


def _collect_samples(column: OffloadedColumn, by_name: dict[str, Any], count: int) -> list[list[Any] | None]:
    """Random samples of each row per step; None for steps without samples."""
    samples: list[list[Any] | None] = []
    for names in column.random_columns:
        parts = [by_name[name].asnumpy().tolist() for name in names]
        samples.append(list(zip(*parts, strict=True)) if parts else None)
    return samples


def _apply_steps(
    x: torch.Tensor, steps: Sequence[OffloadStep], samples: Sequence[list[Any] | None]
) -> torch.Tensor:
    at = 0
    while at < len(steps):
        step = steps[at]
        if step.kernel in SIZED:
            end = at + 1
            x = crop_and_resize_batch(
                Images.of_batch(x), steps[at:end], _fill_missing_samples(samples[at:end], len(x))
            )
            at = end
            continue
        x = KERNELS[step.kernel](x, step.args, _row_arguments(step, samples[at], x))
        at += 1
    return x


def _row_arguments(step: OffloadStep, samples: list[Any] | None, x: torch.Tensor) -> Any:
    if step.row_params is None:
        return samples
    size = x.shape[1:3]
    return [step.row_params(*size)] if samples is None else [step.row_params(*size, *row) for row in samples]


def _fill_missing_samples(samples: Sequence[list[Any] | None], count: int) -> list[list[Any]]:
    return [[()] * count if each is None else each for each in samples]


def _to_one_size(
    rows: torch.Tensor,
    shapes: list[tuple[int, ...]],
    forms: np.ndarray[Any, Any],
    steps: Sequence[OffloadStep],
    samples: Sequence[list[Any] | None],
    move: Move,
) -> torch.Tensor:
    """Combine rows (encoded, of different sizes, or already resized by the host) to one batch."""
    numbers = _fill_missing_samples(samples, len(forms))
    # all rows are transferred at once; the decoder reads encoded rows from the host
    there = rows if (forms == ENCODED).all() else move(rows)
    device = move(rows[:0]).device
    parts: list[torch.Tensor] = []
    order: list[int] = []
    for form in np.unique(forms).tolist():
        which = np.flatnonzero(forms == form).tolist()
        most = len(which) if form == READY else GROUP
        for start in range(0, len(which), most):
            group = which[start : start + most]
            group_samples = [[each[row] for row in group] for each in numbers]
            group_shapes = [shapes[row] for row in group]
            order += group
            if form == ENCODED:
                # (bytes, height, width) of each row
                encoded = [rows[row, : shape[0]] for row, shape in zip(group, group_shapes, strict=True)]
                images = decode_jpeg_batch(encoded, [(shape[1], shape[2]) for shape in group_shapes], device)
                parts.append(crop_and_resize_batch(images, steps[1:], group_samples[1:]))
                continue
            mine = _select_rows(there, group, move)
            if form == READY:
                parts.append(_unpack_same_size(mine, group_shapes))
            else:
                parts.append(crop_and_resize_batch(Images.of_rows(mine, group_shapes), steps, group_samples))
    sizes = sorted({tuple(part.shape[1:]) for part in parts})
    if len(sizes) > 1:
        raise DeviceQueueError(f"images of different sizes cannot be one batch: {sizes[0]} and {sizes[1]}")
    whole = parts[0] if len(parts) == 1 else torch.cat(parts)
    return _select_rows(whole, np.argsort(order).tolist(), move)


def _select_rows(rows: torch.Tensor, which: list[int], move: Move) -> torch.Tensor:
    """Select rows in an order; without a copy if they are contiguous."""
    if which == list(range(which[0], which[0] + len(which))):
        return rows[which[0] : which[0] + len(which)]
    return rows[move(torch.tensor(which))]


def _unpack_same_size(rows: torch.Tensor, shapes: list[tuple[int, ...]]) -> torch.Tensor:
    """View equally sized images at the start of rows of bytes."""
    shape = shapes[0]
    if any(row_shape != shape for row_shape in shapes):
        sizes = sorted(set(shapes))[:2]
        raise DeviceQueueError(f"images of different sizes cannot be one batch: {sizes[0]} and {sizes[1]}")
    return rows[:, : int(np.prod(shape))].reshape(-1, *shape)


def _unpack_host_values(tensor: Tensor, formats: np.ndarray[Any, Any]) -> torch.Tensor:
    """Unpack rows that the host has processed completely."""
    values = []
    for row, what in zip(tensor.asnumpy(), formats, strict=True):
        shape, dtype = unpack_shape_and_dtype(what)
        values.append(row[: int(np.prod(shape)) * dtype.itemsize].view(dtype).reshape(shape))
    return torch.from_numpy(np.stack(values))
