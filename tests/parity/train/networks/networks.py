"""Five small nets in MindSpore's style, six optimizers, and batches to train with. They import no library of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BATCHES, ROWS, KINDS = 5, 8, 4


def mlp(ms: Any) -> Any:
    nn = ms.nn
    return nn.SequentialCell(nn.Dense(12, 24), nn.Tanh(), nn.Dense(24, 16), nn.ReLU(), nn.Dense(16, KINDS))


def lenet(ms: Any) -> Any:
    nn = ms.nn
    return nn.SequentialCell(
        nn.Conv2d(1, 4, 3, pad_mode="valid"),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(4, 6, 3, pad_mode="same", has_bias=True),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dense(96, 16, activation="relu"),
        nn.Dense(16, KINDS),
    )


def resnet(ms: Any) -> Any:
    nn, ops = ms.nn, ms.ops

    class Block(nn.Cell):
        def __init__(self, before: int, after: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(before, after, 3), nn.BatchNorm2d(after)
            self.conv2, self.bn2 = nn.Conv2d(after, after, 3), nn.BatchNorm2d(after)
            self.down = nn.SequentialCell(nn.Conv2d(before, after, 1), nn.BatchNorm2d(after))
            self.relu = nn.ReLU()

        def construct(self, x: Any) -> Any:
            y = self.relu(self.bn1(self.conv1(x)))
            return self.relu(self.bn2(self.conv2(y)) + self.down(x))

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.bn = nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6)
            self.blocks = nn.SequentialCell(Block(6, 6), Block(6, 8))
            self.mean, self.fc = ops.ReduceMean(), nn.Dense(8, KINDS)

        def construct(self, x: Any) -> Any:
            return self.fc(self.mean(self.blocks(self.bn(self.stem(x))), (2, 3)))

    return Net()


def lstm(ms: Any) -> Any:
    nn = ms.nn

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(20, 8), nn.LSTM(8, 12, batch_first=True)
            self.fc = nn.Dense(12, KINDS)

        def construct(self, words: Any) -> Any:
            states, _ = self.lstm(self.embedding(words))
            return self.fc(states[:, -1])

    return Net()


def bert(ms: Any) -> Any:
    nn, ops = ms.nn, ms.ops

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(20, 16)
            self.position = ms.Parameter(ms.Tensor(np.zeros((6, 16), np.float32)), name="position")
            self.query, self.key, self.value = nn.Dense(16, 16), nn.Dense(16, 16), nn.Dense(16, 16)
            self.out, self.norm1, self.norm2 = nn.Dense(16, 16), nn.LayerNorm((16,)), nn.LayerNorm((16,))
            self.up, self.down, self.gelu = nn.Dense(16, 32), nn.Dense(32, 16), nn.GELU()
            self.softmax, self.matmul = nn.Softmax(-1), ops.BatchMatMul()
            self.matmul_t, self.fc = ops.BatchMatMul(transpose_b=True), nn.Dense(16, KINDS)

        def heads(self, x: Any) -> Any:
            return x.reshape(ROWS, 6, 2, 8).transpose(0, 2, 1, 3)

        def construct(self, words: Any) -> Any:
            x = self.embedding(words) + self.position
            query, key, value = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
            found = self.matmul(self.softmax(self.matmul_t(query, key) / 8**0.5), value)
            x = self.norm1(x + self.out(found.transpose(0, 2, 1, 3).reshape(ROWS, 6, 16)))
            x = self.norm2(x + self.down(self.gelu(self.up(x))))
            return self.fc(x[:, 0])

    return Net()


NETS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "mlp": (mlp, (12,)),
    "lenet": (lenet, (1, 10, 10)),
    "resnet": (resnet, (3, 8, 8)),
    "lstm": (lstm, (6,)),
    "bert": (bert, (6,)),
}


def batches(name: str) -> list[tuple[Any, Any]]:
    """Data and labels, the same everywhere."""
    draw, shape = np.random.RandomState(sorted(NETS).index(name)), NETS[name][1]
    words = name in ("lstm", "bert")
    found = []
    for _ in range(BATCHES):
        data = draw.randint(0, 20, (ROWS, *shape)) if words else draw.uniform(-1, 1, (ROWS, *shape))
        labels = draw.randint(0, KINDS, ROWS)
        found.append((data.astype(np.int32 if words else np.float32), labels.astype(np.int32)))
    return found


def _split(params: list[Any]) -> list[dict[str, Any]]:
    """Weights decay; what is called bias, gamma or beta does not."""
    plain = [p for p in params if p.name.rpartition(".")[2] in ("bias", "gamma", "beta")]
    others = [p for p in params if all(p is not each for each in plain)]
    return [
        {"params": others, "weight_decay": 0.05},
        {"params": plain, "lr": 0.005},
        {"order_params": params},
    ]


OPTIMIZERS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "SGD": lambda ms, p: ms.nn.SGD(p, 0.05),
    "Momentum": lambda ms, p: ms.nn.Momentum(p, ms.nn.CosineDecayLR(0.001, 0.02, 50), 0.9, weight_decay=1e-3),
    "Adam": lambda ms, p: ms.nn.Adam(p, [0.01] * 25 + [0.002] * 25),
    "AdamWeightDecay": lambda ms, p: ms.nn.AdamWeightDecay(_split(p), ms.nn.WarmUpLR(0.01, 10)),
    "RMSProp": lambda ms, p: ms.nn.RMSProp(p, 0.002, momentum=0.5),
    "Adagrad": lambda ms, p: ms.nn.Adagrad(p, learning_rate=0.02, weight_decay=1e-3),
}
