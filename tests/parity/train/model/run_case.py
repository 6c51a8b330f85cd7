"""What a training shows: the scenes that MindSpore's Python and ours both play.

python -m tests.parity.train.model.run_case mindspore OUT
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import sys

import numpy as np

MOMENTS = ("begin", "end", "epoch_begin", "epoch_end", "step_begin", "step_end")
HOOKS = [f"on_{what}_{moment}" for what in ("train", "eval") for moment in MOMENTS]
# Parameters whose values do not depend on how things are called inside.
SEEN = (
    "batch_num",
    "cur_epoch_num",
    "cur_step_num",
    "dataset_sink_mode",
    "device_number",
    "epoch_num",
    "eval_dataset_element",
    "eval_network",
    "eval_results",
    "latest_ckpt_file",
    "loss_fn",
    "metrics",
    "mode",
    "net_outputs",
    "network",
    "optimizer",
    "parallel_mode",
    "train_dataset",
    "train_dataset_element",
    "train_network",
    "valid_dataset",
    "loss_scale_mananger",
)
SCENES = {}


def scene(function):
    SCENES[function.__name__] = function
    return function


class Stage:
    """A library, and the small things that scenes are made of."""

    def __init__(self, name):
        self.ms = importlib.import_module(name)
        self.nn, self.train = importlib.import_module(f"{name}.nn"), importlib.import_module(f"{name}.train")
        self.ds, self.amp = importlib.import_module(f"{name}.dataset"), importlib.import_module(f"{name}.amp")
        self.ops = importlib.import_module(f"{name}.ops")

    def data(self, rows=6, batch=2):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) / 10
        return self.ds.NumpySlicesDataset({"x": x, "y": np.ones((rows, 1), np.float32)}, shuffle=False).batch(
            batch
        )

    def net(self):
        return self.nn.Dense(3, 1, weight_init="ones", bias_init="zeros")

    def model(self, **options):
        net = self.net()
        optimizer = self.nn.Momentum(net.trainable_params(), 0.01, 0.9)
        return self.train.Model(net, self.nn.MSELoss(), optimizer, **{"metrics": {"mae"}, **options})

    def plain(self, value):
        if isinstance(value, (int, float, str, bool, type(None))):
            return value
        if isinstance(value, self.ms.Tensor):
            return f"Tensor{tuple(value.shape)}"
        if isinstance(value, dict):
            return sorted(value)
        if isinstance(value, (list, tuple)):
            return [self.plain(each) for each in value]
        return "dataset" if hasattr(value, "get_dataset_size") else type(value).__name__

    def watcher(self, seen, act=None):
        """A callback that writes down each moment and what changed since the last one."""
        last = {}

        def note(name):
            def hook(callback, run_context):
                params = run_context.original_args()
                now = {key: self.plain(params[key]) for key in SEEN if key in params}
                changed = {key: value for key, value in now.items() if last.get(key, "?") != value}
                gone = sorted(set(last) - set(now))
                last.clear()
                last.update(now)
                seen.append([name, changed, gone])
                if act is not None:
                    act(name, run_context)

            return hook

        return type("Watch", (self.train.Callback,), {name: note(name) for name in HOOKS})()


def caught(function):
    try:
        function()
    except Exception as error:
        return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
    return None


def printed(function):
    """What is printed, with times left out."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function()
    text = re.sub(r"\d+\.\d+ ms", "T ms", out.getvalue())
    # the last digits of a loss differ with the order of sums
    number = re.compile(r"\d+\.\d+(e-\d+)?|\d+e-\d+")
    return [number.sub(lambda found: f"{float(found[0]):.4g}", line) for line in text.splitlines()]


@scene
def events(stage):
    """What a callback sees at each moment."""
    found = {}
    plays = {
        "train": lambda model, cb: model.train(2, stage.data(), callbacks=[cb]),
        "train sunk": lambda model, cb: model.train(2, stage.data(), callbacks=cb, dataset_sink_mode=True),
        "train sunk by 2": lambda model, cb: model.train(
            2, stage.data(), callbacks=cb, dataset_sink_mode=True, sink_size=2
        ),
        "fit": lambda model, cb: model.fit(2, stage.data(), stage.data(4), callbacks=[cb]),
        "fit without": lambda model, cb: model.fit(1, stage.data(), callbacks=[cb]),
        "fit every 2": lambda model, cb: model.fit(
            3, stage.data(2), stage.data(2), valid_frequency=2, callbacks=cb
        ),
        "fit at 1, 3": lambda model, cb: model.fit(
            3, stage.data(2), stage.data(2), valid_frequency=[1, 3, 9], callbacks=cb
        ),
        "eval": lambda model, cb: model.eval(stage.data(4), callbacks=[cb]),
        "eval sunk": lambda model, cb: model.eval(stage.data(4), callbacks=[cb], dataset_sink_mode=True),
        "from epoch 1": lambda model, cb: model.train(3, stage.data(), callbacks=[cb], initial_epoch=1),
    }
    for name, play in plays.items():
        seen = []
        play(stage.model(), stage.watcher(seen))
        found[name] = seen
    return found


@scene
def stops(stage):
    """Which moments follow a request to stop."""
    found = {}
    for at in HOOKS:
        for name in ("train", "fit", "eval"):
            seen = []

            def act(hook, run_context, at=at):
                if hook == at:
                    run_context.request_stop()

            callback, model = stage.watcher(seen, act), stage.model()
            if name == "train":
                model.train(2, stage.data(4), callbacks=callback)
            elif name == "fit":
                model.fit(2, stage.data(4), stage.data(4), callbacks=callback)
            else:
                model.eval(stage.data(4), callbacks=callback)
            found[f"{name} {at}"] = [each[0] for each in seen]
    return found


@scene
def orders(stage):
    """Two callbacks, old names, metrics, and whether the net trains."""
    seen = []

    def told(owner, moment):
        return lambda self, run_context: seen.append(f"{owner} {moment}")

    old = type("Old", (stage.train.Callback,), {each: told("old", each) for each in MOMENTS})
    new = type("New", (old,), {"on_train_step_end": told("new", "on_train_step_end")})
    entered = type(
        "Entered",
        (stage.train.Callback,),
        {
            "__enter__": lambda self: seen.append("enter") or self,
            "__exit__": lambda self, *error: seen.append("exit"),
            "end": told("entered", "end"),
        },
    )

    class Counting(stage.train.Metric):
        def clear(self):
            seen.append("clear")

        def update(self, *inputs):
            seen.append(f"update {[tuple(each.shape) for each in inputs]}")

        def eval(self):
            seen.append("eval")
            return 1.0

    model = stage.model(metrics={"counting": Counting()})
    model.train(1, stage.data(2), callbacks=[old(), new(), entered()])
    model.eval(stage.data(2), callbacks=[old(), new()])
    model.fit(1, stage.data(2), stage.data(2))
    flags = []

    class Flags(stage.train.Callback):
        def on_train_step_end(self, run_context):
            params = run_context.original_args()
            flags.append(["train", params.network.training, params.train_network.training])

        def on_eval_step_end(self, run_context):
            params = run_context.original_args()
            flags.append(["eval", params.network.training, params.eval_network.training])

    model = stage.model()
    model.fit(2, stage.data(2), stage.data(2), callbacks=Flags())
    flags.append(["after fit", model._network.training])
    model.eval(stage.data(2))
    flags.append(["after eval", model._network.training])
    model.train(1, stage.data(2))
    flags.append(["after train", model._network.training])
    model.predict(stage.ms.Tensor(np.ones((1, 3), np.float32)))
    flags.append(["after predict", model._network.training])
    return {"order": seen, "flags": flags}


@scene
def prints(stage):
    train = stage.train
    return {
        "loss": printed(lambda: stage.model().train(2, stage.data(), callbacks=[train.LossMonitor()])),
        "loss 2": printed(lambda: stage.model().train(2, stage.data(), callbacks=[train.LossMonitor(2)])),
        "loss 0": printed(lambda: stage.model().train(1, stage.data(), callbacks=[train.LossMonitor(0)])),
        "loss twice": printed(lambda: _twice(stage)),
        "fit": printed(
            lambda: stage.model().fit(
                2, stage.data(), stage.data(), callbacks=[train.LossMonitor(0), train.TimeMonitor()]
            )
        ),
        "time": printed(
            lambda: stage.model().train(
                1, stage.data(), callbacks=train.TimeMonitor(data_size=9, data_time=True)
            )
        ),
        "eval": printed(lambda: stage.model().eval(stage.data(), callbacks=train.TimeMonitor())),
    }


def _twice(stage):
    model, monitor = stage.model(), stage.train.LossMonitor()
    model.train(1, stage.data(2), callbacks=monitor)
    model.train(2, stage.data(2), callbacks=monitor)


@scene
def watches(stage):
    """Callbacks that watch a metric, over made-up values."""
    train = stage.train
    rising = [0.1, 0.5, 0.4, 0.4, 0.3, 0.9]
    flat = [0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]
    stop, reduce = train.EarlyStopping, train.ReduceLROnPlateau
    cases = [
        ("acc", rising, lambda: stop("acc", patience=2, verbose=True)),
        ("acc", rising, lambda: stop("acc", patience=0, verbose=True)),
        ("acc", rising, lambda: stop("acc", patience=1, verbose=True, restore_best_weights=True)),
        ("acc", rising[:2], lambda: stop("acc", patience=1, verbose=True, restore_best_weights=True)),
        ("acc", flat, lambda: stop("acc", patience=2, verbose=True, restore_best_weights=True, baseline=0.9)),
        ("acc", [0.1, 0.5, 0.55, 0.7], lambda: stop("acc", patience=1, verbose=True, baseline=0.6)),
        ("acc", [0.1, 0.5, 0.55, 0.7], lambda: stop("acc", patience=2, verbose=True, baseline=0.6)),
        ("acc", [0.1, 0.1, 0.1, 0.1], lambda: stop("acc", patience=2, verbose=True, baseline=0.05)),
        ("err", [0.1, 0.5, 0.55, 0.7], lambda: stop("eval_loss", patience=1, verbose=True)),
        ("loss", [0.1, 0.5, 0.55, 0.7], lambda: stop("loss", patience=1, verbose=True)),
        ("err", [0.1, 0.5, 0.55, 0.7], lambda: stop("nothing", patience=1, verbose=True)),
        ("err", [0.1, 0.5, 0.55, 0.5, 0.5], lambda: stop("err", patience=1, verbose=True, mode="max")),
        (
            "err",
            [0.9, 0.85, 0.8, 0.5, 0.5],
            lambda: stop("err", patience=1, verbose=True, mode="min", min_delta=0.1),
        ),
        (
            "err",
            [0.9, 0.85, 0.8, 0.5, 0.5],
            lambda: stop("err", patience=1, verbose=True, mode="min", min_delta=-0.1),
        ),
        ("err", [0.9, 0.85, 0.8, 0.5, 0.5], lambda: stop("err", patience=1, verbose=True)),
        ("my_loss", [0.9, 0.85, 0.8, 0.85, 0.5], lambda: stop("my_loss", patience=1, verbose=True)),
        ("acc", rising, lambda: reduce("acc", patience=1, verbose=True, factor=0.5)),
        ("acc", rising, lambda: reduce("acc", patience=0, verbose=True, factor=0.5)),
        ("acc", flat, lambda: reduce("acc", patience=1, verbose=True, factor=0.5, cooldown=2)),
        ("acc", flat, lambda: reduce("acc", patience=2, verbose=True, factor=0.1, cooldown=1)),
        ("acc", flat, lambda: reduce("acc", patience=1, verbose=True, factor=0.5, min_lr=0.006)),
        ("acc", flat[:3], lambda: reduce("nothing", patience=1, verbose=True, factor=0.5)),
        ("loss", flat[:3], lambda: reduce("loss", patience=1, verbose=True, factor=0.5)),
        ("acc", [0.5, 0.50005, 0.6], lambda: reduce("acc", patience=1, verbose=True, factor=0.5)),
        (
            "err",
            [0.5, 0.4, 0.45, 0.3],
            lambda: reduce("err", patience=1, verbose=True, factor=0.5, mode="min"),
        ),
    ]
    found = []
    for name, values, make in cases:
        net = stage.net()
        optimizer = stage.nn.Momentum(net.trainable_params(), 0.01, 0.9)
        model = stage.train.Model(net, stage.nn.MSELoss(), optimizer, metrics={name: _given(stage, values)})
        epochs = []

        class Epochs(stage.train.Callback):
            def on_train_epoch_end(self, run_context, epochs=epochs):
                epochs.append(run_context.original_args().cur_epoch_num)

        lines = printed(
            lambda: model.fit(len(values), stage.data(), stage.data(2), callbacks=[make(), Epochs()])  # noqa: B023
        )
        rate = float(f"{float(optimizer.learning_rate.asnumpy()):.6g}")
        weight = [round(float(each), 4) for each in net.weight.asnumpy().ravel()]
        found.append([lines, epochs, rate, weight])
    return found


def _given(stage, values):
    """A metric that gives these values, one after the other."""

    class Given(stage.train.Metric):
        def __init__(self):
            super().__init__()
            self.number = -1

        def clear(self):
            pass

        def update(self, *inputs):
            pass

        def eval(self):
            self.number += 1
            return values[min(self.number, len(values) - 1)]

    return Given()


@scene
def small(stage):
    """History, the rate by a function, functions as callbacks."""
    history = stage.train.History()
    stage.model().fit(2, stage.data(), stage.data(), callbacks=[history])
    again = stage.train.History()
    model = stage.model()
    model.train(2, stage.data(), callbacks=[again])
    model.train(1, stage.data(), callbacks=[again])
    rates, calls = [], []

    def halved(rate, step):
        rates.append([round(rate, 8), step])
        return rate * 0.5

    stage.model().train(1, stage.data(), callbacks=[stage.train.LearningRateScheduler(halved)])
    both = stage.train.LambdaCallback(
        on_train_step_end=lambda run_context: calls.append("step"),
        on_eval_end=lambda run_context: calls.append("eval"),
    )
    stage.model().fit(1, stage.data(4), stage.data(2), callbacks=both)

    def short(made):
        return {key: [round(float(each), 3) for each in values] for key, values in made.history.items()}

    return {
        "fit": [history.epoch, short(history)],
        "train": [again.epoch, short(again)],
        "rates": rates,
        "calls": calls,
    }


@scene
def refusals(stage):
    """Which wrong calls raise, and what."""
    train, nn, data = stage.train, stage.nn, stage.data
    net = stage.net()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    loss = nn.MSELoss()
    calls = {
        "callbacks=1": lambda: stage.model().train(1, data(2), callbacks=1),
        "callbacks=[None]": lambda: stage.model().train(1, data(2), callbacks=[None]),
        "epoch=0": lambda: stage.model().train(0, data()),
        "epoch=1.0": lambda: stage.model().train(1.0, data()),
        "epoch=-1": lambda: stage.model().train(-1, data()),
        "sink=1": lambda: stage.model().train(1, data(), dataset_sink_mode=1),
        "sink_size=0": lambda: stage.model().train(1, data(), sink_size=0),
        "sink_size=-2": lambda: stage.model().train(1, data(), sink_size=-2),
        "sink_size=1.5": lambda: stage.model().train(1, data(), sink_size=1.5),
        "initial_epoch=-1": lambda: stage.model().train(1, data(), initial_epoch=-1),
        "initial_epoch=1": lambda: stage.model().train(1, data(), initial_epoch=1),
        "initial_epoch=a": lambda: stage.model().train(1, data(), initial_epoch="a"),
        "valid_frequency=a": lambda: stage.model().fit(1, data(), data(), valid_frequency="a"),
        "valid_frequency=1.5": lambda: stage.model().fit(1, data(), data(), valid_frequency=1.5),
        "valid sink=2": lambda: stage.model().fit(1, data(), data(), valid_dataset_sink_mode=2),
        "fit, no metrics": lambda: stage.model(metrics=None).fit(1, data(), data()),
        "fit, nothing valid": lambda: stage.model(metrics=None).fit(1, data(2)),
        "eval, no metrics": lambda: stage.model(metrics=None).eval(data()),
        "metrics, no loss": lambda: train.Model(net, metrics={"mae"}),
        "train, no loss": lambda: train.Model(net).train(1, data()),
        "train, no optimizer": lambda: train.Model(net, loss).train(1, data()),
        "network=3": lambda: train.Model(3),
        "optimizer=3": lambda: train.Model(net, optimizer=3),
        "metrics, dict of names": lambda: stage.model(metrics={"a": "mae"}),
        "metrics, unknown": lambda: stage.model(metrics={"foo"}),
        "metrics=3": lambda: stage.model(metrics=3),
        "eval_indexes": lambda: train.Model(
            net, loss, metrics={"mae"}, eval_indexes=[0, 1], eval_network=nn.WithEvalCell(net, loss)
        ),
        "eval_indexes, no network": lambda: train.Model(net, loss, metrics={"mae"}, eval_indexes=[0, 1]),
        "no eval_indexes": lambda: train.Model(
            net, metrics={"mae"}, eval_network=nn.WithEvalCell(net, loss)
        ).eval(data()),
        "amp, no optimizer": lambda: train.Model(net, loss, amp_level="O2"),
        "amp=O9": lambda: train.Model(net, loss, optimizer, amp_level="O9"),
        "foo=1": lambda: train.Model(net, loss, foo=1),
        "manager, no optimizer": lambda: train.Model(net, loss, loss_scale_manager=train.FixedLossScaleManager()),
        "keep=3": lambda: train.Model(net, loss, optimizer, keep_batchnorm_fp32=3),
        "predict array": lambda: train.Model(net).predict(np.ones((2, 3), np.float32)),
        "predict nothing": lambda: train.Model(net).predict(),
        "predict too wide": lambda: train.Model(net).predict(stage.ms.Tensor(np.ones((2, 4), np.float32))),
        "infer_predict_layout": lambda: train.Model(net).infer_predict_layout(),
        "infer_train_layout": lambda: train.Model(net, loss, optimizer).infer_train_layout(data()),
        "LossMonitor(-1)": lambda: train.LossMonitor(-1),
        "LossMonitor(1.5)": lambda: train.LossMonitor(1.5),
        "LossMonitor(True)": lambda: train.LossMonitor(True),
        "TimeMonitor(data_time=3)": lambda: train.TimeMonitor(data_time=3),
        **{
            f"EarlyStopping({options})": lambda options=options: train.EarlyStopping(**options)
            for options in (
                {"monitor": 3}, {"patience": -1}, {"patience": 1.5}, {"verbose": 3}, {"mode": "foo"}, {"mode": 3},
                {"restore_best_weights": 3}, {"min_delta": -1},
            )
        },
        **{
            f"ReduceLROnPlateau({options})": lambda options=options: train.ReduceLROnPlateau(**options)
            for options in (
                {"monitor": 3}, {"factor": 1}, {"factor": 1.5}, {"factor": 0.0}, {"patience": -1}, {"mode": "foo"},
                {"cooldown": -1}, {"cooldown": 1.5}, {"min_lr": 1.5},
            )
        },
        "RunContext(3)": lambda: train.RunContext(3),
        "helper, sink=3": lambda: train.DatasetHelper(data(), dataset_sink_mode=3),
        "helper, sink_size=0": lambda: train.DatasetHelper(data(), False, sink_size=0),
        "helper, sink_size=1.5": lambda: train.DatasetHelper(data(), False, sink_size=1.5),
        "connect, not sunk": lambda: train.connect_network_with_dataset(net, train.DatasetHelper(data(), False)),
        "nan": lambda: _nan(stage),
    }  # fmt: skip
    return {name: caught(call) for name, call in calls.items()}


def _nan(stage):
    class Bad(stage.nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = stage.ms.Parameter(stage.ms.Tensor(np.ones((1,), np.float32)), name="w")

        def construct(self, x, y):
            return self.w * x.sum() * float("nan")

    net = Bad()
    optimizer = stage.nn.SGD(net.trainable_params())
    stage.train.Model(net, None, optimizer).train(1, stage.data(), callbacks=[stage.train.LossMonitor()])


def main():
    name, out = sys.argv[1:]
    stage = Stage(name)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({each: play(stage) for each, play in SCENES.items()}, file)


if __name__ == "__main__":
    main()
