"""Mixed precision: the scenes that MindSpore's Python and ours both play.

python -m tests.parity.train.model.run_mixed_precision mindspore OUT
"""

from __future__ import annotations

import json
import sys

import numpy as np

from tests.parity.train.model.run_case import Stage, caught

SCENES = {}


def scene(function):
    SCENES[function.__name__] = function
    return function


def nets(stage):
    nn, ops = stage.nn, stage.ops

    class Norm(nn.BatchNorm2d):
        pass

    class Inner(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, 3)
            self.relu = nn.ReLU()
            self.prelu = nn.PReLU(3)

        def construct(self, x):
            x = self.dense(x)
            x = self.relu(x)
            return self.prelu(x)

    class Pictures(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3)
            self.bn = nn.BatchNorm2d(2)
            self.relu = nn.ReLU()
            self.pool = nn.MaxPool2d(2, 2)
            self.flat = nn.Flatten()
            self.fc = nn.Dense(8, 3)
            self.ln = nn.LayerNorm((3,))
            self.seq = nn.SequentialCell(nn.Dense(3, 3), nn.BatchNorm1d(3), nn.Tanh())
            self.inner = Inner()
            self.sigmoid = nn.Sigmoid()
            self.softmax = nn.Softmax()
            self.product = ops.MatMul()

        def construct(self, x):
            x = self.conv(x)
            x = self.bn(x)
            x = self.relu(x)
            x = self.pool(x)
            x = self.flat(x)
            x = self.fc(x)
            x = self.ln(x)
            x = self.seq(x)
            x = self.inner(x)
            x = self.sigmoid(x)
            x = self.softmax(x)
            y = self.product(x, x)
            z = ops.exp(y)
            return x, y, z

    class Sequences(nn.Cell):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(5, 3)
            self.gelu = nn.GELU()
            self.norm = nn.GroupNorm(1, 2)
            self.drop = nn.Dropout(p=0.5)
            self.fc = nn.Dense(3, 3, has_bias=False)

        def construct(self, x):
            x = self.embedding(x)
            x = self.gelu(x)
            x = self.fc(x)
            x = self.drop(x)
            y = x.sum()
            return x, y

    pictures = np.random.RandomState(0).randn(3, 1, 4, 4).astype(np.float32)
    return {
        "pictures": (Pictures, pictures),
        "sequences": (Sequences, np.array([[0, 1], [2, 3]], np.int32)),
    }


@scene
def types(stage):
    """The type that each cell gives, at each level; hooks are put onto the net that is returned."""
    found = {}
    for name, (kind, given) in nets(stage).items():
        for level in ("O0", "O1", "O2", "O3", "auto"):
            if level == "O1":
                continue  # MindSpore rewrites the source of a net, and fails on one that stands in a function
            seen = {}
            net = kind()
            listed = [path for path, _ in net.cells_and_names() if path]
            made = stage.amp.auto_mixed_precision(net, level)
            # a cell about the whole net stands before the names
            before = "_backbone." if level in ("O2", "O3") else ""
            cells = dict(made.cells_and_names())
            for path in listed:
                cells[before + path].register_forward_hook(_note(stage, seen, path))
            results = made(stage.ms.Tensor(given))
            found[f"{name} {level}"] = [
                {path: seen[path] for path in listed if path in seen},
                [str(each.dtype) for each in results],
                sorted({str(each.dtype) for each in net.get_parameters()}),
            ]
    return found


def _note(stage, seen, path):
    def hook(cell, inputs, outputs):
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        seen[path] = str(first.dtype)

    return hook


@scene
def types_listed(stage):
    """The type that layers of the library give where all of the net is one of them, at level O1."""
    nn = stage.nn
    found = {}
    x = stage.ms.Tensor(np.random.RandomState(0).randn(2, 3, 4).astype(np.float32))
    picture = stage.ms.Tensor(np.random.RandomState(0).randn(2, 1, 4, 4).astype(np.float32))
    for name, layer, given in (
        ("dense", nn.Dense(4, 2), x),
        ("conv", nn.Conv2d(1, 2, 3), picture),
        ("relu", nn.ReLU(), x),
        ("tanh", nn.Tanh(), x),
        ("softmax", nn.Softmax(), x),
        ("norm", nn.BatchNorm2d(1), picture),
    ):
        found[name] = str(stage.amp.auto_mixed_precision(nn.SequentialCell(layer), "O1")(given).dtype)
    return found


@scene
def lists(stage):
    return {
        "white": [each.__name__ for each in stage.amp.get_white_list()],
        "black": [each.__name__ for each in stage.amp.get_black_list()],
    }


@scene
def scales(stage):
    """Scales that follow the gradients, step by step."""
    amp, Tensor = stage.amp, stage.ms.Tensor
    found = {}
    for start, factor, window in ((8.0, 2, 2), (1.0, 2, 1), (64, 4, 3)):
        scaler = amp.DynamicLossScaler(start, factor, window)
        manager = amp.DynamicLossScaleManager(start, factor, window)
        cell = manager.get_update_cell()
        scale = stage.ms.Parameter(Tensor(np.array(start, np.float32)), name="scale")
        rows = []
        for finite in (True, True, True, True, False, False, True, True, True, True, False):
            scaler.adjust(Tensor(finite))
            manager.update_loss_scale(not finite)
            rows.append(
                [float(scaler.scale_value.asnumpy()), int(scaler.counter.asnumpy()), manager.get_loss_scale()]
            )
        found[f"{start} {factor} {window}"] = rows
        found[f"cell {start}"] = [type(cell).__name__, scale.name]
    static = amp.StaticLossScaler(8.0)
    half = Tensor(np.array([2.0], np.float16))
    found["static"] = [
        float(static.scale(Tensor(np.float32(2.0))).asnumpy()),
        [str(each.dtype) for each in static.unscale((half, Tensor(np.float32(16.0))))],
        static.adjust(Tensor(True)),
    ]
    found["finite"] = [
        bool(amp.all_finite([Tensor(np.array(each, np.float32)) for each in values]).asnumpy())
        for values in ([[1.0], [2.0, 3.0]], [[np.inf]], [[1.0], [np.nan]], [[-np.inf, 1.0]])
    ]
    return found


@scene
def refusals(stage):
    amp, nn, ms = stage.amp, stage.nn, stage.ms
    net = nn.Dense(3, 1)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    calls = {
        "O4": lambda: amp.auto_mixed_precision(net, "O4"),
        "level 3": lambda: amp.auto_mixed_precision(net, 3),
        "network 3": lambda: amp.auto_mixed_precision(3, "O2"),
        "float32": lambda: amp.auto_mixed_precision(net, "O2", ms.float32),
        "no list": lambda: amp.custom_mixed_precision(net),
        "two lists": lambda: amp.custom_mixed_precision(net, white_list=[nn.Dense], black_list=[nn.Dense]),
        "list of 3": lambda: amp.custom_mixed_precision(net, white_list=[3]),
        "list Dense": lambda: amp.custom_mixed_precision(net, white_list=nn.Dense),
        "custom 3": lambda: amp.custom_mixed_precision(3, white_list=[nn.Dense]),
        "custom float32": lambda: amp.custom_mixed_precision(net, white_list=[nn.Dense], dtype=ms.float32),
        **{
            f"DynamicLossScaler{given}": lambda given=given: amp.DynamicLossScaler(*given)
            for given in (
                (0.5, 2, 2),
                (8, 2, 2),
                ("a", 2, 2),
                (8.0, 2, 0),
                (8.0, 2.0, 2),
                (8.0, -1, 1),
                (1.0, 2, 1),
            )
        },
        **{
            f"StaticLossScaler({given!r})": lambda given=given: amp.StaticLossScaler(given)
            for given in (0, -1.0, "a", 0.5)
        },
        **{
            f"DynamicLossScaleManager{given}": lambda given=given: amp.DynamicLossScaleManager(*given)
            for given in ((0.5, 2, 2), (8, 1, 2), (8, 2, 0), ("a", 2, 2), (8, 2, 2.0), (8.0, 2, 2))
        },
        **{
            f"FixedLossScaleManager({given!r})": lambda given=given: amp.FixedLossScaleManager(given)
            for given in (0, 0.5, "a")
        },
        "all_finite ()": lambda: amp.all_finite(()),
        "build foo": lambda: amp.build_train_network(net, optimizer, foo=1),
        "build O9": lambda: amp.build_train_network(net, optimizer, level="O9"),
        "build boost O9": lambda: amp.build_train_network(net, optimizer, boost_level="O9"),
        "build 3": lambda: amp.build_train_network(3, optimizer),
        "build optimizer 3": lambda: amp.build_train_network(net, 3),
        "build O3": lambda: amp.build_train_network(net, optimizer, nn.MSELoss(), level="O3"),
    }
    return {name: caught(call) for name, call in calls.items()}


@scene
def steps(stage):
    """Losses and weights of a few steps at the levels that MindSpore trains on a CPU."""
    found = {}
    rng = np.random.RandomState(1)
    x, y = rng.randn(4, 3).astype(np.float32), rng.randn(4, 1).astype(np.float32)
    for level in ("O0", "O3", "auto"):
        net = stage.nn.Dense(3, 1, weight_init="ones", bias_init="zeros")
        optimizer = stage.nn.Momentum(net.trainable_params(), 0.1, 0.9)
        step = stage.amp.build_train_network(net, optimizer, stage.nn.MSELoss(), level=level)
        losses = [step(stage.ms.Tensor(x), stage.ms.Tensor(y)) for _ in range(4)]
        found[level] = [
            [round(float(each.asnumpy()), 3) for each in losses],
            [round(float(each), 3) for each in net.weight.asnumpy().ravel()],
            str(losses[0].dtype),
        ]
    return found


def main():
    name, out = sys.argv[1:]
    stage = Stage(name)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({each: play(stage) for each, play in SCENES.items()}, file)


if __name__ == "__main__":
    main()
