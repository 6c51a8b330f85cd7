"""Recurrent layers with separate weights, as nn.LSTM holds them, with or without sequence lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["gru_cell", "gru_layers", "lstm_cell", "lstm_layers", "mode_of", "rnn_cell", "rnn_layers"]

_CELLS: dict[str, Callable[..., Any]] = {
    "LSTM": lambda x, states, *w: torch.lstm_cell(x, states, *w),
    "GRU": lambda x, states, *w: (torch.gru_cell(x, states[0], *w),),
    "tanh": lambda x, states, *w: (torch.rnn_tanh_cell(x, states[0], *w),),
    "relu": lambda x, states, *w: (torch.rnn_relu_cell(x, states[0], *w),),
}


def _check_arguments(
    name: str, x: Tensor, weights: list[Tensor], states: list[Tensor], batch_first: bool, rows: int
) -> None:
    if x.ndim != 3:
        raise ArgumentValueError(f"For '{name}', the input must have 3 axes, but got {list(x.shape)}.")
    if x.shape[2] != weights[0].shape[1]:
        raise ArgumentValueError(
            f"For '{name}', the last axis of the input must be input_size {weights[0].shape[1]}, but got "
            f"{list(x.shape)}."
        )
    wanted = (rows, x.shape[0 if batch_first else 1], weights[1].shape[1])
    for state in states:
        if tuple(state.shape) != wanted:
            raise ArgumentValueError(
                f"For '{name}', 'hx' must have the shape {wanted}, but got {tuple(state.shape)}."
            )


def mode_of(x: Tensor, dropout: float, train: bool) -> tuple[float, bool]:
    """Dropout and training mode; cuDNN computes gradients only in training mode, so evaluation sets dropout to 0."""
    return (dropout, True) if train else (0.0, x.is_cuda and torch.is_grad_enabled())


@op(accepts=None, dtype=UNCHECKED)
def lstm_layers(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    weights: list[Tensor],
    seq_length: Tensor | None = None,
    has_bias: bool = True,
    num_layers: int = 1,
    dropout: float = 0.0,
    train: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs of LSTM layers, and the last states."""
    _check_arguments("LSTM", x, weights, [h, c], batch_first, num_layers * (2 if bidirectional else 1))
    if seq_length is None:
        return torch.lstm(
            x, (h, c), weights, has_bias, num_layers, *mode_of(x, dropout, train), bidirectional, batch_first
        )
    outputs = _with_lengths(
        "LSTM",
        x,
        [h, c],
        weights,
        seq_length,
        has_bias,
        num_layers,
        dropout,
        train,
        bidirectional,
        batch_first,
    )
    return outputs[0], outputs[1], outputs[2]


@op(accepts=None, dtype=UNCHECKED)
def gru_layers(
    x: Tensor,
    h: Tensor,
    weights: list[Tensor],
    seq_length: Tensor | None = None,
    has_bias: bool = True,
    num_layers: int = 1,
    dropout: float = 0.0,
    train: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
) -> tuple[Tensor, Tensor]:
    """Outputs of GRU layers, and the last state."""
    _check_arguments("GRU", x, weights, [h], batch_first, num_layers * (2 if bidirectional else 1))
    if seq_length is None:
        mode = mode_of(x, dropout, train)
        return torch.gru(x, h, weights, has_bias, num_layers, *mode, bidirectional, batch_first)
    outputs = _with_lengths(
        "GRU", x, [h], weights, seq_length, has_bias, num_layers, dropout, train, bidirectional, batch_first
    )
    return outputs[0], outputs[1]


@op(accepts=None, dtype=UNCHECKED)
def rnn_layers(
    x: Tensor,
    h: Tensor,
    weights: list[Tensor],
    seq_length: Tensor | None = None,
    has_bias: bool = True,
    num_layers: int = 1,
    dropout: float = 0.0,
    train: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
    nonlinearity: str = "tanh",
) -> tuple[Tensor, Tensor]:
    """Outputs of simple recurrent layers, and the last state."""
    _check_arguments("RNN", x, weights, [h], batch_first, num_layers * (2 if bidirectional else 1))
    if seq_length is None:
        run = torch.rnn_tanh if nonlinearity == "tanh" else torch.rnn_relu
        mode = mode_of(x, dropout, train)
        return run(x, h, weights, has_bias, num_layers, *mode, bidirectional, batch_first)
    outputs = _with_lengths(
        nonlinearity,
        x,
        [h],
        weights,
        seq_length,
        has_bias,
        num_layers,
        dropout,
        train,
        bidirectional,
        batch_first,
    )
    return outputs[0], outputs[1]


def _with_lengths(
    cell_type: str,
    x: Tensor,
    states: list[Tensor],
    weights: list[Tensor],
    seq_length: Tensor,
    has_bias: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Tensor]:
    """Run the layers step by step: beyond the end of a sequence its state stays and its outputs are 0. Nothing depends
    on the values of the lengths, so a captured graph holds for other lengths.
    """
    x = x.transpose(0, 1) if batch_first else x
    time = torch.arange(x.shape[0], device=x.device)[:, None]
    alive = time < seq_length[None, :]
    backwards = torch.where(alive, seq_length[None, :] - 1 - time, time)
    each, ways = (4 if has_bias else 2), (2 if bidirectional else 1)
    last: list[list[Tensor]] = [[] for _ in states]
    for layer in range(num_layers):
        outputs = []
        for way in range(ways):
            row = layer * ways + way
            mine = weights[row * each : (row + 1) * each]
            layer_input = _reorder(x, backwards) if way else x
            layer_output, ends = _run_steps(
                _CELLS[cell_type], layer_input, [state[row] for state in states], mine, alive
            )
            outputs.append(_reorder(layer_output, backwards) if way else layer_output)
            for kept, end in zip(last, ends, strict=True):
                kept.append(end)
        x = torch.cat(outputs, -1)
        if dropout and train and layer < num_layers - 1:
            x = torch.dropout(x, dropout, True)
    return [x.transpose(0, 1) if batch_first else x, *(torch.stack(kept) for kept in last)]


def _reorder(x: Tensor, order: Tensor) -> Tensor:
    return x.gather(0, order[:, :, None].expand(*order.shape, x.shape[2]))


def _run_steps(
    cell: Callable[..., Any], x: Tensor, states: list[Tensor], weights: list[Tensor], alive: Tensor
) -> tuple[Tensor, list[Tensor]]:
    outputs = []
    for part, lives in zip(x.unbind(0), alive.unbind(0), strict=True):
        fresh = cell(part, states, *weights)
        states = [torch.where(lives[:, None], new, old) for new, old in zip(fresh, states, strict=True)]
        outputs.append(states[0] * lives[:, None])
    return torch.stack(outputs), states


@op(accepts=FLOATS, dtype=SAME)
def lstm_cell(
    x: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM."""
    states = torch.lstm_cell(x, [h, c], w_ih, w_hh, b_ih, b_hh)
    return states[0], states[1]


@op(accepts=FLOATS, dtype=SAME)
def gru_cell(
    x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Tensor:
    """One step of a GRU."""
    return torch.gru_cell(x, h, w_ih, w_hh, b_ih, b_hh)


@op(accepts=FLOATS, dtype=SAME)
def rnn_cell(
    x: Tensor,
    h: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    nonlinearity: str = "tanh",
) -> Tensor:
    """One step of a simple recurrent layer."""
    step = torch.rnn_tanh_cell if nonlinearity == "tanh" else torch.rnn_relu_cell
    return step(x, h, w_ih, w_hh, b_ih, b_hh)
