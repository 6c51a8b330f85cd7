"""Recurrent layers and cells: RNN, LSTM, GRU."""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.ops.array.creation import zeros
from millrace._src.runtime.ops.nn.recurrent import (
    gru_cell,
    gru_layers,
    lstm_cell,
    lstm_layers,
    rnn_cell,
    rnn_layers,
)
from millrace._src.runtime.tensor.initializer import Uniform, initializer
from millrace._src.runtime.tensor.parameter import Parameter

from .argument_types import check_bool, check_positive_int
from .cell import Cell

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"]


def _parameter(shape: tuple[int, ...], hidden_size: int, dtype: DType, name: str) -> Parameter:
    return Parameter(initializer(Uniform(1 / math.sqrt(hidden_size)), shape, dtype), name=name)


def _check_nonlinearity(value: Any, owner: str) -> str:
    if value not in ("tanh", "relu"):
        raise ArgumentValueError(
            f"For '{owner}', the 'nonlinearity' must be in ['tanh', 'relu'], but got {value}."
        )
    return str(value)


class _RNNBase(Cell):
    """Base class of the recurrent layers: weights for each layer and direction."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float | int = 0.0,
        bidirectional: bool = False,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = check_positive_int(input_size, "input_size", owner)
        self.hidden_size = check_positive_int(hidden_size, "hidden_size", owner)
        self.num_layers = check_positive_int(num_layers, "num_layers", owner)
        self.has_bias = check_bool(has_bias, "has_bias", owner)
        self.batch_first = check_bool(batch_first, "batch_first", owner)
        self.bidirectional = check_bool(bidirectional, "bidirectional", owner)
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
            raise ArgumentTypeError(
                f"For '{owner}', the type of 'dropout' must be 'float', but got '{type(dropout).__name__}'."
            )
        if not 0 <= dropout < 1:
            raise ArgumentValueError(
                f"For '{owner}', the 'dropout' must be a number in range [0, 1) representing the probability of an "
                f"element being zeroed, but got {dropout}."
            )
        self.dropout = float(dropout)
        rows = self.gates * hidden_size
        directions = ("", "_reverse") if bidirectional else ("",)
        self._names: list[str] = []
        prefixes = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[: 4 if has_bias else 2]
        for layer in range(num_layers):
            for direction in directions:
                self._names += [f"{prefix}_l{layer}{direction}" for prefix in prefixes]
        # MindSpore's order: by type of weight
        for name in sorted(
            self._names, key=lambda name: next(i for i, k in enumerate(prefixes) if name.startswith(k))
        ):
            wide = input_size if "_l0" in name else hidden_size * len(directions)
            shape = {"weight_ih": (rows, wide), "weight_hh": (rows, hidden_size)}.get(name[:9], (rows,))
            self.insert_param_to_cell(name, _parameter(shape, hidden_size, dtype, name))

    def _weights(self) -> list[Any]:
        """The weights in PyTorch's order: layer by layer."""
        return [self._params[name] for name in self._names]

    def _zeros(self, x: Any) -> Any:
        rows = self.num_layers * (2 if self.bidirectional else 1)
        return zeros((rows, x.shape[0 if self.batch_first else 1], self.hidden_size), x.dtype)

    def _options(self, seq_length: Any) -> dict[str, Any]:
        return {
            "seq_length": seq_length,
            "has_bias": self.has_bias,
            "num_layers": self.num_layers,
            "dropout": self.dropout,
            "train": self.training,
            "bidirectional": self.bidirectional,
            "batch_first": self.batch_first,
        }


@public("nn")
class LSTM(_RNNBase):
    """Long short-term memory layers: the outputs, and the last hidden and cell states.

    >>> from millrace import Tensor
    >>> output, (h, c) = LSTM(3, 4)(Tensor([[[1.0, 2.0, 3.0]]]))
    >>> output.shape, h.shape
    ((1, 1, 4), (1, 1, 4))
    """

    gates = 4

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> Any:
        h, c = (self._zeros(x), self._zeros(x)) if hx is None else hx
        output, h, c = lstm_layers(x, h, c, self._weights(), **self._options(seq_length))
        return output, (h, c)


@public("nn")
class GRU(_RNNBase):
    """Gated recurrent unit layers: the outputs, and the last state."""

    gates = 3

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> Any:
        h = self._zeros(x) if hx is None else hx
        return gru_layers(x, h, self._weights(), **self._options(seq_length))


@public("nn")
class RNN(_RNNBase):
    """Elman recurrent layers: the outputs, and the last state."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # as in MindSpore, the fourth argument is the nonlinearity
        positional = list(args)
        nonlinearity = positional.pop(3) if len(positional) > 3 else kwargs.pop("nonlinearity", "tanh")
        _check_nonlinearity(nonlinearity, "RNN")
        super().__init__(*positional, **kwargs)
        self.nonlinearity = nonlinearity

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> Any:
        h = self._zeros(x) if hx is None else hx
        return rnn_layers(x, h, self._weights(), nonlinearity=self.nonlinearity, **self._options(seq_length))


class _RNNCellBase(Cell):
    """Base class of the recurrent cells."""

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = mstype.float32
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = check_positive_int(input_size, "input_size", owner)
        self.hidden_size = check_positive_int(hidden_size, "hidden_size", owner)
        self.has_bias = check_bool(has_bias, "has_bias", owner)
        rows = self.gates * hidden_size
        self.weight_ih = _parameter((rows, input_size), hidden_size, dtype, "weight_ih")
        self.weight_hh = _parameter((rows, hidden_size), hidden_size, dtype, "weight_hh")
        self.bias_ih = self.bias_hh = None
        if has_bias:
            self.bias_ih = _parameter((rows,), hidden_size, dtype, "bias_ih")
            self.bias_hh = _parameter((rows,), hidden_size, dtype, "bias_hh")

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


@public("nn")
class LSTMCell(_RNNCellBase):
    """One step of an LSTM: ``hx`` is (hidden, cell), and so is the result."""

    gates = 4

    def construct(self, x: Any, hx: Any) -> Any:
        return lstm_cell(x, hx[0], hx[1], *self._weights())


@public("nn")
class GRUCell(_RNNCellBase):
    """One step of a GRU."""

    gates = 3

    def construct(self, x: Any, hx: Any) -> Any:
        return gru_cell(x, hx, *self._weights())


@public("nn")
class RNNCell(_RNNCellBase):
    """One step of an Elman recurrent layer."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self.nonlinearity = _check_nonlinearity(nonlinearity, "RNNCell")

    def construct(self, x: Any, hx: Any) -> Any:
        return rnn_cell(x, hx, *self._weights(), self.nonlinearity)
