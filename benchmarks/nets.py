"""Nets for whole training steps, written once for Millrace and MindSpore (`ms` is either), and again in PyTorch.

Layers and their parameters stand in the same order in both, so that `numbers` gives both the same weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["NETS", "Net", "numbers", "residual", "residual_torch"]

Array = Any
# channels in, channels within, and stride of a block
Place = tuple[int, int, int]


class Net(NamedTuple):
    """A net in both ways, and a batch for it: inputs, labels."""

    ours: Callable[[Any], Any]
    torch: Callable[[], Any]
    batch: Callable[[], tuple[Array, Array]]


def numbers(seed: int, shape: tuple[int, ...]) -> Array:
    """Weights of one layer: small, and the same for everybody."""
    fan = int(np.prod(shape[1:])) or 1
    drawn = np.random.default_rng(seed).standard_normal(shape)
    return (drawn * min(0.5, 1.4 / np.sqrt(fan)) if len(shape) > 1 else drawn * 0.01).astype(np.float32)


def _labelled(shape: tuple[int, ...], classes: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(7)
    pictures = rng.standard_normal(shape).astype(np.float32)
    return pictures, rng.integers(0, classes, shape[0]).astype(np.int32)


# --- 24 layers of 64 -------------------------------------------------------------------------------------------


def _mlp(ms: Any) -> Any:
    nn = ms.nn
    layers = [nn.Dense(64, 64, activation="relu") for _ in range(23)]
    return nn.SequentialCell([*layers, nn.Dense(64, 10)])


def _mlp_torch() -> Any:
    from torch import nn

    layers = [layer for _ in range(23) for layer in (nn.Linear(64, 64), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(64, 10))


# --- LeNet-5 ---------------------------------------------------------------------------------------------------


def _lenet(ms: Any) -> Any:
    nn = ms.nn
    return nn.SequentialCell(
        [
            nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Flatten(),
            nn.Dense(400, 120, activation="relu"),
            nn.Dense(120, 84, activation="relu"),
            nn.Dense(84, 10),
        ]
    )


def _lenet_torch() -> Any:
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


# --- residual nets --------------------------------------------------------------------------------------------


def residual(
    ms: Any,
    first: Callable[..., list[Any]],
    places: list[Place],
    classes: int,
    deep: bool = False,
    **kind: Any,
) -> Any:
    """A residual net: `first(nn, conv)` gives its first layers; `deep` blocks have three convolutions."""
    nn, ops = ms.nn, ms.ops

    def conv(a: int, b: int, size: int, stride: int = 1) -> list[Any]:
        made = nn.Conv2d(a, b, size, stride, pad_mode="pad", padding=size // 2, **kind)
        return [made, nn.BatchNorm2d(b, **kind)]

    class Block(nn.Cell):
        def __init__(self, a: int, b: int, stride: int) -> None:
            super().__init__()
            self.way = nn.SequentialCell(_way(conv, nn.ReLU, a, b, stride, deep))
            wide = _wide(b, deep)
            self.beside = nn.SequentialCell(conv(a, wide, 1, stride)) if stride > 1 or a != wide else None

        def construct(self, x: Any) -> Any:
            other = x if self.beside is None else self.beside(x)
            return ops.relu(self.way(x) + other)

    class Head(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            types = {"dtype": kind["dtype"]} if "dtype" in kind else {}
            self.fc = nn.Dense(_wide(places[-1][1], deep), classes, **types)
            self.axes = (1, 2) if kind.get("data_format") == "NHWC" else (2, 3)

        def construct(self, x: Any) -> Any:
            return self.fc(x.mean(self.axes))

    return nn.SequentialCell([*first(nn, conv), *(Block(*place) for place in places), Head()])


def residual_torch(
    first: Callable[..., list[Any]], places: list[Place], classes: int, deep: bool = False
) -> Any:
    """The same in PyTorch."""
    from torch import nn, relu

    def conv(a: int, b: int, size: int, stride: int = 1) -> list[Any]:
        return [nn.Conv2d(a, b, size, stride, size // 2, bias=False), nn.BatchNorm2d(b)]

    class Block(nn.Module):
        def __init__(self, a: int, b: int, stride: int) -> None:
            super().__init__()
            self.way = nn.Sequential(*_way(conv, nn.ReLU, a, b, stride, deep))
            wide = _wide(b, deep)
            self.beside = nn.Sequential(*conv(a, wide, 1, stride)) if stride > 1 or a != wide else None

        def forward(self, x: Any) -> Any:
            other = x if self.beside is None else self.beside(x)
            return relu(self.way(x) + other)

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(_wide(places[-1][1], deep), classes)

        def forward(self, x: Any) -> Any:
            return self.fc(x.mean((2, 3)))

    return nn.Sequential(*first(nn, conv), *(Block(*place) for place in places), Head())


def _way(conv: Any, relu: Any, a: int, b: int, stride: int, deep: bool) -> list[Any]:
    if deep:
        return [*conv(a, b, 1), relu(), *conv(b, b, 3, stride), relu(), *conv(b, _wide(b, deep), 1)]
    return [*conv(a, b, 3, stride), relu(), *conv(b, b, 3)]


def _wide(b: int, deep: bool) -> int:
    """Channels that a block gives."""
    return 4 * b if deep else b


def _small_stem(nn: Any, conv: Any) -> list[Any]:
    return [*conv(3, 64, 3), nn.ReLU()]


# --- ResNet-18 for pictures of 32 x 32 -------------------------------------------------------------------------

# (channels in, channels within, stride) of its eight blocks
BLOCKS = [
    (64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1),
]  # fmt: skip


def _resnet18(ms: Any) -> Any:
    return residual(ms, _small_stem, BLOCKS, 10)


def _resnet18_torch() -> Any:
    return residual_torch(_small_stem, BLOCKS, 10)


# --- a BERT of two layers of 128 -------------------------------------------------------------------------------

WORDS, LENGTH, WIDTH, HEADS = 2000, 64, 128, 2


def _bert(ms: Any) -> Any:
    nn, ops = ms.nn, ms.ops

    class Attention(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = (nn.Dense(WIDTH, WIDTH) for _ in range(3))
            self.out = nn.Dense(WIDTH, WIDTH)

        def split(self, x: Any) -> Any:
            return x.reshape(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

        def construct(self, x: Any) -> Any:
            query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
            weights = ops.softmax(ops.matmul(query, key.transpose(0, 1, 3, 2)) * (WIDTH // HEADS) ** -0.5, -1)
            mixed = ops.matmul(weights, value).transpose(0, 2, 1, 3).reshape(-1, LENGTH, WIDTH)
            return self.out(mixed)

    class Layer(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.attention, self.first = Attention(), nn.LayerNorm((WIDTH,), epsilon=1e-5)
            self.wide, self.narrow = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)
            self.second = nn.LayerNorm((WIDTH,), epsilon=1e-5)

        def construct(self, x: Any) -> Any:
            x = self.first(x + self.attention(x))
            return self.second(x + self.narrow(ops.gelu(self.wide(x), approximate="tanh")))

    class Bert(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, WIDTH)
            self.layers = nn.SequentialCell([Layer(), Layer()])
            self.head = nn.Dense(WIDTH, 2)

        def construct(self, ids: Any) -> Any:
            return self.head(self.layers(self.words(ids)).mean(1))

    return Bert()


def _bert_torch() -> Any:
    from torch import matmul, nn, softmax

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
            self.out = nn.Linear(WIDTH, WIDTH)

        def split(self, x: Any) -> Any:
            return x.reshape(-1, LENGTH, HEADS, WIDTH // HEADS).permute(0, 2, 1, 3)

        def forward(self, x: Any) -> Any:
            query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
            weights = softmax(matmul(query, key.permute(0, 1, 3, 2)) * (WIDTH // HEADS) ** -0.5, -1)
            mixed = matmul(weights, value).permute(0, 2, 1, 3).reshape(-1, LENGTH, WIDTH)
            return self.out(mixed)

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention, self.first = Attention(), nn.LayerNorm(WIDTH)
            self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.second = nn.LayerNorm(WIDTH)

        def forward(self, x: Any) -> Any:
            x = self.first(x + self.attention(x))
            return self.second(x + self.narrow(nn.functional.gelu(self.wide(x), approximate="tanh")))

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, WIDTH)
            self.layers = nn.Sequential(Layer(), Layer())
            self.head = nn.Linear(WIDTH, 2)

        def forward(self, ids: Any) -> Any:
            return self.head(self.layers(self.words(ids)).mean(1))

    return Bert()


def _sentences() -> tuple[Array, Array]:
    rng = np.random.default_rng(7)
    ids = rng.integers(0, WORDS, (8, LENGTH)).astype(np.int32)
    return ids, rng.integers(0, 2, 8).astype(np.int32)


# --- an LSTM over 32 steps -------------------------------------------------------------------------------------

STEPS, FEATURES, HIDDEN = 32, 64, 128


def _lstm(ms: Any) -> Any:
    nn = ms.nn

    class Reader(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(FEATURES, HIDDEN, batch_first=True), nn.Dense(HIDDEN, 10)

        def construct(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    return Reader()


def _lstm_torch() -> Any:
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(FEATURES, HIDDEN, batch_first=True), nn.Linear(HIDDEN, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    return Reader()


NETS = {
    "mlp": Net(_mlp, _mlp_torch, lambda: _labelled((16, 64), 10)),
    "lenet": Net(_lenet, _lenet_torch, lambda: _labelled((32, 1, 32, 32), 10)),
    "resnet18": Net(_resnet18, _resnet18_torch, lambda: _labelled((32, 3, 32, 32), 10)),
    "bert": Net(_bert, _bert_torch, _sentences),
    "lstm": Net(_lstm, _lstm_torch, lambda: _labelled((16, STEPS, FEATURES), 10)),
}
