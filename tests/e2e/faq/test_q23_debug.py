"""Q23: how do I debug a user-defined dataset when an error occurs?"""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import millrace.dataset as ds
from millrace.dataset import debug


class MyDataset:
    def __init__(self):
        self.items = [np.full(2, i) for i in range(4)]
        self.threads = set()

    def __getitem__(self, index):
        self.threads.add(threading.get_ident())
        return (self.items[index],)

    def __len__(self):
        return len(self.items)


@pytest.fixture
def debug_mode():
    ds.config.set_debug_mode(True, debug_hook_list=[Watch()])
    yield
    ds.config.set_debug_mode(False)


class Watch(debug.DebugHook):
    """Keeps what it is shown."""

    seen: list = []

    def compute(self, *args):
        self.seen.append(
            (self.prev_op_name, self.is_first_op, [np.asarray(value).tolist() for value in args[0]])
        )
        return args


def test_code_of_the_page(capsys) -> None:
    """The dataset by itself, without GeneratorDataset."""
    Dataset = MyDataset()
    for item in Dataset:
        print("item:", item)
    assert capsys.readouterr().out.count("item:") == 4


def test_everything_runs_in_the_calling_thread_row_by_row(debug_mode) -> None:
    source, calls = MyDataset(), []

    def first(x):
        calls.append(("first", int(x[0]), threading.get_ident()))
        return x + 1

    def second(x):
        calls.append(("second", int(x[0]), threading.get_ident()))
        return x * 2

    data = ds.GeneratorDataset(source, ["x"], shuffle=False, num_parallel_workers=4)
    data = data.map(first, "x", num_parallel_workers=8, python_multiprocessing=True).map(second, "x").batch(2)
    got = [batch[0].tolist() for batch in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert got == [[[2, 2], [4, 4]], [[6, 6], [8, 8]]]
    here = threading.get_ident()
    assert source.threads == {here}
    assert {thread for _, _, thread in calls} == {here}
    assert sorted((name, x) for name, x, _ in calls) == [("first", i) for i in range(4)] + [
        ("second", i + 1) for i in range(4)
    ]


def test_breakpoints_and_prints_work(debug_mode, monkeypatch, capsys) -> None:
    stops = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(sys._getframe(1).f_locals["x"].tolist()))

    def function(x):
        breakpoint()
        print("x is", x.tolist())
        return x

    list(ds.GeneratorDataset(MyDataset(), ["x"], shuffle=False).map(function, "x"))
    assert stops == [[i, i] for i in range(4)]
    assert "x is [3, 3]" in capsys.readouterr().out


def test_hooks_see_every_operations_output(debug_mode) -> None:
    Watch.seen.clear()

    def plus(x):
        return x + 1

    def minus(x):
        return x - 5

    data = ds.GeneratorDataset(MyDataset(), ["x"], shuffle=False).map([plus, minus], "x").map(plus, "x")
    assert [row[0].tolist() for row in data] == [[i - 3] * 2 for i in range(4)]
    outputs = [values for _, first, values in Watch.seen if not first]
    for i in range(4):
        for wanted in (i + 1, i - 4, i - 3):
            assert [[wanted] * 2] in outputs
    names = {str(name) for name, _, _ in Watch.seen}
    assert any("plus" in name for name in names)
    assert any("minus" in name for name in names)


def test_ready_hooks_print(capsys) -> None:
    ds.config.set_debug_mode(True, debug_hook_list=[debug.PrintMetaDataHook(), debug.PrintDataHook()])
    try:
        list(ds.GeneratorDataset(MyDataset(), ["x"], shuffle=False).map(lambda x: x * 10, "x"))
    finally:
        ds.config.set_debug_mode(False)
    out = capsys.readouterr().out
    assert "The dtype is [int64]. The shape is [(2,)]." in out
    assert "The data is [[30 30]]." in out


def test_rows_are_the_same_as_without() -> None:
    ds.config.set_seed(5)

    def rows():
        data = ds.GeneratorDataset(MyDataset(), ["x"], shuffle=True).map(lambda x: x + 1, "x").batch(3)
        return [batch[0].tolist() for batch in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]

    plain = rows()
    ds.config.set_debug_mode(True, debug_hook_list=[Watch()])
    try:
        assert rows() == plain
    finally:
        ds.config.set_debug_mode(False)


@pytest.mark.parametrize("debugging", [False, True])
def test_an_error_names_op_row_and_column_and_shows_the_users_line(debugging) -> None:
    ds.config.set_debug_mode(debugging, debug_hook_list=[Watch()])

    def fails(x):
        return 1 // (int(x[0]) - 2)  # the user's own line

    try:
        with pytest.raises(RuntimeError) as caught:
            list(ds.GeneratorDataset(MyDataset(), ["x"], shuffle=False).map(fails, "x"))
    finally:
        ds.config.set_debug_mode(False)
    text = str(caught.value)
    for part in (
        "fails",
        "row: 2",
        "column: x",
        "ZeroDivisionError",
        "# the user's own line",
        "test_q23_debug.py",
    ):
        assert part in text
