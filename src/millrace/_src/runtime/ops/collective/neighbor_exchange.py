"""Halo exchange of images that are split over processes (`NeighborExchangeV2`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.tensor.storage import wrap

from . import functional as collective
from .primitives import CollectivePrimitive

__all__ = ["NeighborExchangeV2"]

# The eight neighbors, clockwise from the top: the rows and columns of the image that they share.
_ROWS = ("top", "top", "", "bottom", "bottom", "bottom", "", "top")

_COLUMNS = ("", "right", "right", "right", "", "left", "left", "left")

_SIDES = ("top", "bottom", "left", "right")


@public("ops")
class NeighborExchangeV2(CollectivePrimitive):
    """Halo exchange: an image (N, C, H, W) with the borders of its neighbors, up to eight, clockwise from the top, -1
    for none. `send_lens` and `recv_lens` are rows at the top and bottom, and columns at the left and right. A
    requested border without a neighbor is zeros. Gradients of borders are sent back to their senders.
    """

    def __init__(
        self,
        send_rank_ids: Sequence[int],
        send_lens: Sequence[int],
        recv_rank_ids: Sequence[int],
        recv_lens: Sequence[int],
        data_format: str,
        group: str = WORLD_GROUP,
    ) -> None:
        super().__init__(group)
        for name, ranks in (("send_rank_ids", send_rank_ids), ("recv_rank_ids", recv_rank_ids)):
            if len(ranks) != 8:
                raise ArgumentValueError(
                    f"For 'NeighborExchangeV2', '{name}' must have 8 ranks, but got {ranks}."
                )
        for name, lengths in (("send_lens", send_lens), ("recv_lens", recv_lens)):
            if len(lengths) != 4 or min(lengths) < 0:
                raise ArgumentValueError(
                    f"For 'NeighborExchangeV2', '{name}' must have 4 lengths from 0 on, but got {lengths}."
                )
        if data_format != "NCHW":
            raise ArgumentValueError(
                f"For 'NeighborExchangeV2', 'data_format' must be 'NCHW', but got {data_format!r}."
            )
        self.send_rank_ids, self.recv_rank_ids = list(send_rank_ids), list(recv_rank_ids)
        self.send_lens, self.recv_lens = list(send_lens), list(recv_lens)
        self.format = data_format

    def __call__(self, input_x: Any) -> Tensor:
        x = self._tensor(input_x)
        if x.ndim != 4:
            raise ArgumentValueError(
                f"For 'NeighborExchangeV2', the input must have 4 axes, but its shape is {list(x.shape)}."
            )
        sent = dict(zip(_SIDES, self.send_lens, strict=True))
        wanted = dict(zip(_SIDES, self.recv_lens, strict=True))
        out = [at for at in range(8) if self.send_rank_ids[at] >= 0]
        into = [at for at in range(8) if self.recv_rank_ids[at] >= 0]
        parts = [_extract_border(x, _ROWS[at], _COLUMNS[at], sent) for at in out]
        shapes = {at: _border_shape(x, _ROWS[at], _COLUMNS[at], wanted) for at in range(8)}
        like = [(shapes[at], x.dtype, x.device) for at in into]
        center, *received = collective.send_receive_with_dependency(
            x,
            parts,
            [self.send_rank_ids[at] for at in out],
            like,
            [self.recv_rank_ids[at] for at in into],
            self.group,
        )
        here = dict(zip(into, received, strict=True))
        block = {at: here[at] if at in here else x.new_zeros(shapes[at]) for at in range(8)}
        rows = [(block[7], block[0], block[1]), (block[6], center, block[2]), (block[5], block[4], block[3])]
        return wrap(torch.cat([torch.cat(row, 3) for row in rows], 2))


def _border_slice(side: str, length: int) -> slice:
    if side in ("top", "left"):
        return slice(0, length)
    return slice(-length, None) if length else slice(0, 0)


def _extract_border(x: torch.Tensor, row: str, column: str, lengths: dict[str, int]) -> torch.Tensor:
    rows = _border_slice(row, lengths[row]) if row else slice(None)
    columns = _border_slice(column, lengths[column]) if column else slice(None)
    return x[:, :, rows, columns]


def _border_shape(x: torch.Tensor, row: str, column: str, lengths: dict[str, int]) -> tuple[int, ...]:
    return (
        x.shape[0],
        x.shape[1],
        lengths[row] if row else x.shape[2],
        lengths[column] if column else x.shape[3],
    )
