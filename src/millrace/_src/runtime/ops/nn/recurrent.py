"""Recurrent layers and cells: LSTM, GRU, RNN; DynamicRNN and DynamicGRUV2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "BasicLSTMCell",
    "DynamicGRUV2",
    "DynamicRNN",
    "LSTM",
    "basic_lstm_cell",
    "dynamic_gru",
    "dynamic_lstm",
    "gru_cell",
    "gru_layers",
    "lstm",
    "lstm_cell",
    "lstm_layers",
    "mode_of",
    "rnn_cell",
    "rnn_layers",
]


def _split_weights(w: Tensor, sizes: list[tuple[int, int]], has_bias: bool) -> list[Tensor]:
    """Matrices and biases of each layer and direction, split from one flat tensor: all matrices first, then one bias
    of four gates each, or two that are added.
    """
    flat = w.reshape(-1)
    wanted = sum(rows * columns for rows, columns in sizes)
    gates = [rows for rows, _ in sizes[::2]]
    biases = (flat.numel() - wanted) // sum(gates) if has_bias else 0
    if flat.numel() != wanted + biases * sum(gates) or (has_bias and biases not in (1, 2)):
        raise ArgumentValueError(
            f"For 'LSTM', the weights must have {wanted} elements"
            f"{f' and {sum(gates)} for biases' if has_bias else ''}, but got {flat.numel()}."
        )
    parts = flat.split([rows * columns for rows, columns in sizes] + gates * biases)
    weights: list[Tensor] = []
    for index in range(0, len(sizes), 2):
        weights += [parts[index + shift].reshape(sizes[index + shift]) for shift in (0, 1)]
        if has_bias:
            bias = parts[len(sizes) + index // 2]
            if biases == 2:
                bias = bias + parts[len(sizes) + len(gates) + index // 2]
            weights += [bias, torch.zeros_like(bias)]
    return weights


@op(accepts=FLOATS, dtype=UNCHECKED)
def lstm(
    input: Tensor,
    h: Tensor,
    c: Tensor,
    w: Tensor,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    has_bias: bool,
    bidirectional: bool,
    dropout: float,
    proj_size: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """LSTM over (time, batch, input_size): the outputs, the last states, and two results that only MindSpore's
    backward reads.
    """
    name = "LSTM"
    if proj_size:
        raise ArgumentValueError(f"For '{name}', 'proj_size' must be 0, but got {proj_size}: use nn.LSTM.")
    if input.ndim != 3 or input.shape[2] != input_size:
        raise ArgumentValueError(
            f"For '{name}', the input must be (time, batch, {input_size}), but got {list(input.shape)}."
        )
    ways = 2 if bidirectional else 1
    states = (num_layers * ways, input.shape[1], hidden_size)
    if tuple(h.shape) != states or tuple(c.shape) != states:
        raise ArgumentValueError(
            f"For '{name}', 'h' and 'c' must have the shape {states}, but got {list(h.shape)} and {list(c.shape)}."
        )
    sizes = []
    for layer in range(num_layers):
        wide = input_size if layer == 0 else hidden_size * ways
        sizes += [(4 * hidden_size, wide), (4 * hidden_size, hidden_size)] * ways
    outputs = torch.lstm(
        input,
        (h, c),
        _split_weights(w, sizes, has_bias),
        has_bias,
        num_layers,
        *mode_of(input, dropout, dropout > 0),
        bidirectional,
        False,
    )
    rest = input.new_zeros((1, 1))
    return outputs[0], outputs[1], outputs[2], rest, rest


def _check_unsupported(name: str, **arguments: tuple[Any, Any]) -> None:
    for label, (value, known) in arguments.items():
        if value != known:
            raise ArgumentValueError(f"For '{name}', '{label}' must be {known!r}, but got {value!r}.")


@op(accepts=FLOATS, dtype=UNCHECKED)
def dynamic_lstm(
    x: Tensor,
    w: Tensor,
    b: Tensor,
    seq_length: Any,
    init_h: Tensor,
    init_c: Tensor,
    cell_type: str = "LSTM",
    direction: str = "UNIDIRECTIONAL",
    cell_depth: int = 1,
    use_peephole: bool = False,
    keep_prob: float = 1.0,
    cell_clip: float = -1.0,
    num_proj: int = 0,
    time_major: bool = True,
    activation: str = "tanh",
    forget_bias: float = 0.0,
    is_training: bool = True,
) -> tuple[Tensor, ...]:
    """LSTM over (time, batch, input) with the weight (input + hidden, 4 * hidden), gates in the order i, j, f, o:
    outputs, hidden and cell states, the gates i, j, f, o, and tanh of the cell states, all per time step.
    """
    _check_unsupported(
        "DynamicRNN",
        cell_type=(cell_type, "LSTM"),
        direction=(direction, "UNIDIRECTIONAL"),
        cell_depth=(cell_depth, 1),
        use_peephole=(use_peephole, False),
        num_proj=(num_proj, 0),
        time_major=(time_major, True),
        activation=(activation, "tanh"),
        seq_length=(seq_length, None),
    )
    h, c = init_h.reshape(init_h.shape[-2:]), init_c.reshape(init_c.shape[-2:])
    if x.ndim != 3 or w.shape[0] != x.shape[2] + h.shape[1] or w.shape[1] != 4 * h.shape[1]:
        raise ArgumentValueError(
            f"For 'DynamicRNN', the weight must be (input + hidden, 4 * hidden), but the shapes are {list(x.shape)}, "
            f"{list(w.shape)} and {list(init_h.shape)}."
        )
    recurrent = w[x.shape[2] :]
    from_input = x @ w[: x.shape[2]] + b
    steps = []
    for part in from_input.unbind(0):
        i, j, f, o = (part + h @ recurrent).chunk(4, 1)
        i, j, f, o = torch.sigmoid(i), torch.tanh(j), torch.sigmoid(f + forget_bias), torch.sigmoid(o)
        c = c * f + i * j
        if cell_clip > 0:
            c = c.clamp(-cell_clip, cell_clip)
        squeezed = torch.tanh(c)
        h = o * squeezed
        steps.append((h, h, c, i, j, f, o, squeezed))
    return tuple(torch.stack(values) for values in zip(*steps, strict=True))


@op(accepts=FLOATS, dtype=UNCHECKED)
def dynamic_gru(
    x: Tensor,
    weight_input: Tensor,
    weight_hidden: Tensor,
    bias_input: Tensor | None,
    bias_hidden: Tensor | None,
    seq_length: Any,
    init_h: Tensor,
    direction: str = "UNIDIRECTIONAL",
    cell_depth: int = 1,
    keep_prob: float = 1.0,
    cell_clip: float = -1.0,
    num_proj: int = 0,
    time_major: bool = True,
    activation: str = "tanh",
    gate_order: str = "rzh",
    reset_after: bool = True,
    is_training: bool = True,
) -> tuple[Tensor, ...]:
    """GRU over (time, batch, input) with weights (input, 3 * hidden) and (hidden, 3 * hidden): outputs, hidden states,
    the update and reset gates, the new values, and the hidden part of those, all per time step.
    """
    _check_unsupported(
        "DynamicGRUV2",
        direction=(direction, "UNIDIRECTIONAL"),
        cell_depth=(cell_depth, 1),
        num_proj=(num_proj, 0),
        time_major=(time_major, True),
        activation=(activation, "tanh"),
        reset_after=(reset_after, True),
        seq_length=(seq_length, None),
    )
    if gate_order not in ("rzh", "zrh"):
        raise ArgumentValueError(
            f"For 'DynamicGRUV2', 'gate_order' must be 'rzh' or 'zrh', but got {gate_order!r}."
        )
    h = init_h.reshape(init_h.shape[-2:])
    if x.ndim != 3 or weight_input.shape != (x.shape[2], 3 * h.shape[1]):
        raise ArgumentValueError(
            f"For 'DynamicGRUV2', 'weight_input' must be (input, 3 * hidden), but the shapes are {list(x.shape)}, "
            f"{list(weight_input.shape)} and {list(init_h.shape)}."
        )
    from_input = x @ weight_input
    if bias_input is not None:
        from_input = from_input + bias_input
    steps = []
    for part in from_input.unbind(0):
        inner = h @ weight_hidden
        if bias_hidden is not None:
            inner = inner + bias_hidden
        first, second, new = part.chunk(3, 1)
        first_h, second_h, new_h = inner.chunk(3, 1)
        one, two = torch.sigmoid(first + first_h), torch.sigmoid(second + second_h)
        reset, update = (one, two) if gate_order == "rzh" else (two, one)
        fresh = torch.tanh(new + reset * new_h)
        h = fresh + update * (h - fresh)
        steps.append((h, h, update, reset, fresh, new_h))
    return tuple(torch.stack(values) for values in zip(*steps, strict=True))


LSTM = primitive("LSTM", lstm)
DynamicRNN = primitive(
    "DynamicRNN",
    dynamic_lstm,
    init=[
        n
        for n in dynamic_lstm.op.signature.parameters
        if n not in ("x", "w", "b", "seq_length", "init_h", "init_c")
    ],
)
DynamicGRUV2 = primitive(
    "DynamicGRUV2",
    dynamic_gru,
    init=[
        n
        for n in dynamic_gru.op.signature.parameters
        if n not in ("seq_length", *dynamic_gru.op.tensor_parameters)
    ],
)


@op(accepts=FLOATS, dtype=UNCHECKED)
def basic_lstm_cell(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w: Tensor,
    b: Tensor,
    keep_prob: float = 1.0,
    forget_bias: float = 1.0,
    state_is_tuple: bool = True,
    activation: str = "tanh",
) -> tuple[Tensor, ...]:
    """One step of an LSTM: the cell, the output, the gates (in, new, forget, out), tanh of the cell. The weights are
    (input + hidden, 4 hidden).
    """
    hidden = h.shape[-1]
    if w.shape != (x.shape[-1] + hidden, 4 * hidden) or b.shape != (4 * hidden,):
        raise ArgumentValueError(
            f"For 'BasicLSTMCell', the weights must have the shape {(x.shape[-1] + hidden, 4 * hidden)} and the bias "
            f"{(4 * hidden,)}, but got {list(w.shape)} and {list(b.shape)}."
        )
    if activation != "tanh" or state_is_tuple is not True:
        raise ArgumentValueError("For 'BasicLSTMCell', 'activation' must be tanh and 'state_is_tuple' True.")
    gates = torch.matmul(torch.cat([x, h], -1), w) + b
    i, j, f, o = gates.chunk(4, -1)
    i, j, f, o = torch.sigmoid(i), torch.tanh(j), torch.sigmoid(f + forget_bias), torch.sigmoid(o)
    cell = c * f + i * j
    bent = torch.tanh(cell)
    return cell, bent * o, i, j, f, o, bent


BasicLSTMCell = primitive("BasicLSTMCell", basic_lstm_cell)


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
