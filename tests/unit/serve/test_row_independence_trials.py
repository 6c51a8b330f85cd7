"""Trials with replaced rows: what they find, which inputs they use, how long they take."""

import itertools

import numpy as np
import pytest

from millrace._src.serve import row_independence_trials as row_trials
from millrace._src.serve.batching_decision import decide_batching
from millrace._src.serve.row_independence_trials import run_trials
from millrace._src.serve.runners.runner import OnnxRunner
from millrace._src.serve.tensor_codec import TensorSpec


class Model:
    """A model of NumPy functions."""

    platform = "numpy"

    def __init__(self, function, *inputs, outputs=1):
        self.function = function
        self.inputs = inputs or (TensorSpec("x", "FP32", (-1, 3)),)
        self.outputs = tuple(TensorSpec(f"y{number}", "FP32", (-1, 3)) for number in range(outputs))
        self.sizes = []

    def run(self, arrays):
        self.sizes.append(len(arrays[0]))
        with np.errstate(all="ignore"):
            results = self.function(*arrays)
        return list(results) if isinstance(results, tuple) else [results]


def only_in_batches_of(size, function):
    """A model that mixes rows in batches of one size, as a kernel with blocks might."""
    return lambda x: function(x) if len(x) == size else x * 2


def last_of_32(x):
    """Row 3 gets something of row 29, in the largest batch only."""
    y = x * 2
    if len(x) == 32:
        y[3] += x[29] * 1e-3
    return y


MIXING = {
    "mean": lambda x: x - x.mean(0),
    "max": lambda x: np.where(x == x.max(0), 1, 0) * x,
    "sort": lambda x: np.sort(x, 0),
    "flip": lambda x: x[::-1].copy(),
    "cumsum": lambda x: np.cumsum(x, 0),
    "minimum of finite values": lambda x: x + np.nanmin(np.where(np.isfinite(x), x, 0)),
    "next row": lambda x: x + np.roll(x, 1, 0),
    "in batches of 5": only_in_batches_of(5, lambda x: x + x[3]),
    "in batches of 2": only_in_batches_of(2, lambda x: x + x[::-1]),
    "one pair in the largest batch": last_of_32,
    "counts NaN": lambda x: x + np.isnan(x).sum(),
    "counts large values": lambda x: x + (np.abs(x) > 1e30).sum(),
}


@pytest.mark.parametrize("name", MIXING)
@pytest.mark.parametrize("compare_single", [False, True])
def test_rows_that_depend_on_others_are_detected(name, compare_single, monkeypatch):
    monkeypatch.setattr(row_trials, "SECONDS", 1e9)
    trials = run_trials(Model(MIXING[name]), 32, compare_single)
    assert trials.problem is not None
    assert 0 <= trials.ran <= trials.planned


def test_independent_rows_pass_every_trial(monkeypatch):
    monkeypatch.setattr(row_trials, "SECONDS", 1e9)
    model = Model(lambda x: x * 2)
    trials = run_trials(model, 32, True)
    assert trials.problem is None
    assert trials.ran == trials.planned == 6 * (2 + 4 + 6 + 10)
    assert set(model.sizes) == {1, 2, 3, 5, 32}


def test_every_pair_of_rows_has_a_trial_that_replaces_one_of_them():
    for size in (2, 3, 5, 8, 31, 32, 33):
        masks = list(row_trials._subsets(size))
        for kept, replaced in itertools.permutations(range(size), 2):
            assert any(mask[replaced] and not mask[kept] for mask in masks)


def test_a_slow_model_gets_the_required_trials_only(monkeypatch):
    monkeypatch.setattr(row_trials, "SECONDS", 0.0)
    model = Model(lambda x: x * 2)
    trials = run_trials(model, 32, False)
    assert trials.problem is None
    assert trials.ran == 2 + 4 + 6 + 2  # each subset of the small sizes, two of the largest
    assert sum(model.sizes) < 160  # what loading costs at least, in rows
    assert str(trials).startswith("14 of 132 trials")
    # all of what replaces rows is used, and every size
    required, _ = row_trials._plan_trials(32)
    assert {trial.fill for trial in required} == set(row_trials.FILLS)
    assert {trial.size for trial in required} == {2, 3, 5, 32}


@pytest.mark.parametrize("most", [2, 3, 4, 7])
def test_no_trial_is_larger_than_the_largest_batch(most):
    model = Model(lambda x: x * 2)
    assert run_trials(model, most, False).problem is None
    assert max(model.sizes) == most


def test_results_that_change_from_run_to_run_are_detected():
    numbers = itertools.count()
    trials = run_trials(Model(lambda x: x + next(numbers)), 8, False)
    assert trials.problem == "the same inputs give different results"


def test_results_that_depend_on_the_number_or_the_position_of_rows_are_detected():
    for function in (lambda x: x / len(x), lambda x: x + np.arange(len(x), dtype=np.float32)[:, None]):
        assert "than alone" in run_trials(Model(function), 8, True).problem
    index = Model(lambda x: np.arange(len(x)))
    assert "than alone" in run_trials(index, 8, True).problem


def test_last_bits_may_depend_on_the_number_of_rows():
    def rounded(x):
        return x * np.float32(1 + 1e-6 * len(x))

    assert run_trials(Model(rounded), 8, True).problem is None


def test_token_numbers_stay_in_the_range_that_the_model_accepts():
    table, types = np.ones((30, 3), np.float32), np.ones((2, 3), np.float32)
    seen = {"ids": set(), "types": set()}

    def embed(ids, kinds):
        result = table[ids].sum(1) + types[kinds].sum(1)
        seen["ids"] |= set(ids.ravel().tolist())
        seen["types"] |= set(kinds.ravel().tolist())
        return result

    model = Model(embed, TensorSpec("ids", "INT32", (-1, 4)), TensorSpec("types", "INT64", (-1, 4)))
    assert run_trials(model, 8, True).problem is None
    assert seen["types"] == {0, 1}
    assert seen["ids"] == set(range(20))  # the widest range of those tried that fits


def test_a_model_that_fails_on_extreme_values_only_is_accepted_and_one_that_always_fails_is_not():
    def strict(x):
        if not np.isfinite(x).all():
            raise ValueError("not finite")
        return x * 2

    assert run_trials(Model(strict), 8, False).problem is None

    def broken(x):
        raise ValueError("never")

    assert run_trials(Model(broken), 8, False).problem == "it fails on test inputs: never"


def test_inputs_of_every_type_and_open_lengths():
    def together(flags, texts, numbers):
        lengths = np.array([[len(text) for text in row] for row in texts], np.float32)
        return flags.sum(1).astype(np.float32) + lengths.sum(1) + numbers.sum(1)

    model = Model(
        together,
        TensorSpec("flags", "BOOL", (-1, 2)),
        TensorSpec("texts", "BYTES", (-1, -1)),
        TensorSpec("numbers", "UINT8", (-1, -1)),
    )
    assert run_trials(model, 8, True).problem is None


def test_an_output_that_has_not_one_row_for_each_is_named():
    two = Model(lambda x: (x, np.concatenate((x, x))), outputs=2)
    assert run_trials(two, 8, False).problem == "output 'y1' has the shape [4, 3] for 2 rows"


# --- ONNX files --------------------------------------------------------------------------------------------------


def onnx_file(tmp_path, *nodes):
    from onnx import TensorProto, helper, save

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy")
    graph = helper.make_graph([helper.make_node(*node[:3], **node[3]) for node in nodes], "g", [x], [y])
    path = str(tmp_path / "model.onnx")
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize(
    ("nodes", "on"),
    [
        ([("Relu", ["x"], ["y"], {})], True),
        ([("Softmax", ["x"], ["y"], {"axis": 1})], True),
        ([("Softmax", ["x"], ["y"], {"axis": 0})], False),
        ([("ReduceMean", ["x"], ["m"], {"axes": [0]}), ("Sub", ["x", "m"], ["y"], {})], False),
        ([("ReduceMax", ["x"], ["m"], {}), ("Div", ["x", "m"], ["y"], {})], False),
        ([("RandomNormalLike", ["x"], ["r"], {}), ("Add", ["x", "r"], ["y"], {})], False),
    ],
    ids=["relu", "softmax", "softmax over rows", "mean", "max", "random"],
)
def test_onnx_files_are_decided_by_trials(tmp_path, nodes, on):
    pytest.importorskip("onnx")
    runner = OnnxRunner(onnx_file(tmp_path, *nodes), 1)
    batching = decide_batching("m", runner, True, "auto", 32)
    assert batching.on is on
    assert str(batching).startswith(
        "on: not proven" if on else "off: its rows may depend on each other. Trial"
    )
