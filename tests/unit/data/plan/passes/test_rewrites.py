"""Passes as rewrites: tree in, tree out; and the rows are the same with and without each of them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.settings import Settings
from millrace._src.data.plan import bind
from millrace._src.data.plan.node import Node, rewrite, walk
from millrace._src.data.plan.nodes.order_ops import Map, PermuteStep, Read, SliceStep
from millrace._src.data.plan.nodes.physical import Segment
from millrace._src.data.plan.passes import PASSES
from tests.contracts.pipelines.pipelines import PIPELINES, double, squares, streamed
from tests.contracts.pipelines.test_same_rows import assert_same, same

NAMES = [name for name, _ in PASSES]


def shape(node: Node) -> str:
    """A tree in one line, sources first: ``[Read Map] > Rebatch > [Batch]``."""
    here = type(node).__name__
    if isinstance(node, Segment):
        here = "[" + " ".join(type(op).__name__ for op in node.ops) + "]"
    below = " + ".join(shape(child) for child in node.inputs)
    return f"{below} > {here}" if below else here


def trees(data: Any, upto: str, now: Settings | None = None) -> tuple[Node, Node]:
    """The tree before and after one pass."""
    plan = bind.optimize(bind.bind(data._node, now or settings.current(), seed=1))
    history = dict(plan.history)
    names = ["as written", *NAMES]
    return history[names[names.index(upto) - 1]], history[upto]


def read_of(tree: Node) -> Read:
    found = [op for node in walk(tree) for op in (node, *getattr(node, "ops", ())) if isinstance(op, Read)]
    assert len(found) == 1
    return found[0]


def maps_of(tree: Node) -> list[Map]:
    return [op for node in walk(tree) for op in (node, *getattr(node, "ops", ())) if isinstance(op, Map)]


# --- what each pass makes of a tree ----------------------------------------------------------------------

DROPPED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "repeat once": (lambda: squares().repeat(1).skip(0), "Read > Repeat > Skip", "Read"),
    "repeat twice": (lambda: squares().repeat(2), "Read > Repeat", "Read > Repeat"),
    "the same columns": (lambda: squares().project(["x", "y"]), "Read > Project", "Read"),
    "other columns": (lambda: squares().project(["y", "x"]), "Read > Project", "Read > Project"),
}


@pytest.mark.parametrize("name", DROPPED)
def test_drop_noops(name: str) -> None:
    make, before, after = DROPPED[name]
    assert tuple(map(shape, trees(make(), "drop no-ops"))) == (before, after)


def test_push_order_makes_steps_of_the_source() -> None:
    data = squares(shuffle=False).map(double, "x").shuffle(4).skip(2).take(5)
    before, after = trees(data, "push order down")
    assert (shape(before), shape(after)) == ("Read > Map > Shuffle > Skip > Take", "Read > Map")
    permute, skip, take = read_of(after).order_steps
    assert isinstance(permute, PermuteStep)
    assert permute.op == next(node.op_id for node in walk(before) if type(node).__name__ == "Shuffle")
    assert (skip, take) == (SliceStep(skip=2), SliceStep(take=5))


@pytest.mark.parametrize(
    ("make", "stays"),
    [
        (lambda: streamed().shuffle(4), "Read > Shuffle"),
        (lambda: squares().filter(lambda x: True, "x").take(3), "Read > Filter > Take"),
        (lambda: squares().batch(2).shuffle(4), "Read > Batch > Shuffle"),
        (lambda: squares().repeat(2).shuffle(4), "Read > Repeat > Shuffle"),
    ],
    ids=["stream", "filter", "batch", "repeat"],
)
def test_push_order_stays_where_rows_may_differ(make: Callable[[], Any], stays: str) -> None:
    before, after = trees(make(), "push order down")
    assert (shape(before), shape(after)) == (stays, stays)


def test_push_order_leaves_counting_alone_where_rows_may_vanish() -> None:
    now = settings.current().replace(error_samples_mode="skip")
    _, after = trees(squares().map(double, "x").shuffle(4).take(5), "push order down", now)
    assert shape(after) == "Read > Map > Take"


def test_prune_columns() -> None:
    data = squares().map(double, "x", "z").rename("z", "w").project(["w"])
    before, after = trees(data, "prune columns")
    assert shape(before) == shape(after)
    assert (read_of(before).columns, read_of(after).columns) == (None, ("x",))
    # a filter that names no column sees them all
    _, after = trees(squares().filter(lambda *row: True).project(["y"]), "prune columns")
    assert read_of(after).columns is None


FUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "one piece": (lambda: squares().map(double, "x").project(["x"]).batch(4), "[Read Map Project Batch]"),
    "a filter parts the batch": (
        lambda: squares().filter(lambda x: True, "y").batch(4),
        "[Read Filter] > Rebatch > [Batch]",
    ),
    "a stream": (lambda: streamed().map(double, "x").batch(4), "Read > [Map] > Rebatch > [Batch]"),
    "a barrier": (
        lambda: squares().map(double, "x").repeat(2).map(double, "x"),
        "[Read Map] > Repeat > [Map]",
    ),
}


@pytest.mark.parametrize("name", FUSED)
def test_fuse_rows(name: str) -> None:
    make, wanted = FUSED[name]
    before, after = trees(make(), "fuse rows")
    assert "[" not in shape(before)
    assert shape(after) == wanted


def test_place_decides_for_every_row_wise_op_and_moves_none() -> None:
    before, after = trees(squares().map(double, "x", num_parallel_workers=3).batch(4).repeat(2), "place")
    assert shape(before) == shape(after)
    placed = {type(node).__name__: node.placement for node in walk(after)}
    assert all(node.placement is None for node in walk(before))
    assert placed.pop("Repeat") is None
    assert {place.workers for place in placed.values() if place is not None} == {3}


def test_gather_rows_tells_the_last_map_of_its_batch() -> None:
    _, after = trees(squares().map(double, "x").map(double, "x").batch(4), "gather rows")
    assert [op.batch_rows for op in maps_of(after)][-1] == 4
    for other in (squares().map(double, "x"), streamed().map(double, "x").batch(4)):
        _, after = trees(other, "gather rows")
        assert [op.batch_rows for op in maps_of(after)] == [0]


def test_passes_keep_the_numbers_of_ops() -> None:
    """An op's random numbers hang on its number: no pass may give it another."""
    for make in PIPELINES.values():
        plan = bind.optimize(bind.bind(make()._node, settings.current(), seed=1))
        wanted = {(type(node).__name__, node.op_id) for node in walk(plan.logical)}
        for _, tree in plan.history[1:]:
            ops = [op for node in walk(tree) for op in (node, *getattr(node, "ops", ()))]
            kept = {(type(op).__name__, op.op_id) for op in ops if not isinstance(op, Segment)}
            physical = {"Rebatch", "RebatchByTokens"}
            assert {pair for pair in kept if pair[0] not in physical} <= wanted


def test_passes_are_pure() -> None:
    """The same tree in, the same tree out, and the input is as it was."""
    for make in PIPELINES.values():
        plan = bind.bind(make()._node, settings.current(), seed=1)
        tree = plan.root
        for _, apply in PASSES:
            was = shape(tree)
            first, second = apply(tree, plan.settings), apply(tree, plan.settings)
            assert shape(first) == shape(second)
            assert shape(tree) == was
            tree = first


# --- the same rows with and without ----------------------------------------------------------------------


def rows(make: Callable[[], Any]) -> list[list[Any]]:
    ds.config.set_seed(8)
    settings.update(executor="inline")
    iterator = make().create_dict_iterator(num_epochs=2, output_numpy=True)
    return [list(iterator) for _ in range(2)]


# Nothing runs before rows are placed and fused: those passes have tests of their own below.
OPTIONAL = [name for name in NAMES if name not in ("place", "fuse rows")]
# With the pass, a shuffle of a random-access source is one permutation; without, it works in windows.
WINDOWED = {"shuffle batch", "rename and project", "split"}


@pytest.mark.parametrize("name", OPTIONAL)
def test_the_same_rows_without_a_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {kind: rows(make) for kind, make in PIPELINES.items()}
    monkeypatch.setattr(bind, "PASSES", tuple(pair for pair in PASSES if pair[0] != name))
    for kind, make in PIPELINES.items():
        if name == "push order down" and kind in WINDOWED:
            continue
        assert_same(rows(make), wanted[kind])


def test_a_shuffle_that_is_not_pushed_gives_the_same_rows_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    def data() -> Any:
        return ds.NumpySlicesDataset({"x": np.arange(40)}, shuffle=False).map(double, "x").shuffle(10)

    pushed = [int(row["x"]) for row in rows(data)[0]]
    monkeypatch.setattr(bind, "PASSES", tuple(pair for pair in PASSES if pair[0] != "push order down"))
    windows = [int(row["x"]) for row in rows(data)[0]]
    assert Counter(pushed) == Counter(windows) == Counter(range(0, 80, 2))
    assert [sorted(windows[at : at + 10]) for at in range(0, 40, 10)] == np.arange(0, 80, 2).reshape(
        4, 10
    ).tolist()


def _apart(root: Node, _: Settings) -> Node:
    """Every op alone: a place of its own, so that nothing is fused."""

    def rule(node: Node) -> Node:
        return node if node.placement is None else node.replace(placement=dataclasses.replace(node.placement))

    return rewrite(root, rule)


def test_the_same_rows_unfused(monkeypatch: pytest.MonkeyPatch) -> None:
    def data() -> Any:
        return squares().map(double, "x").map([double, double], "x").filter(lambda y: int(y) % 3 == 0, "y")

    wanted = rows(data)
    at = NAMES.index("fuse rows")
    monkeypatch.setattr(bind, "PASSES", (*PASSES[:at], ("apart", _apart), *PASSES[at:]))
    plan = bind.optimize(bind.bind(data()._node, settings.current(), seed=1))
    assert shape(plan.root) == "[Read] > [Map] > [Map] > [Filter]"
    assert_same(rows(data), wanted)


@pytest.mark.parametrize("kind", ["random map", "filter", "per batch map", "stream shuffle", "zip"])
def test_the_same_rows_wherever_they_are_placed(kind: str) -> None:
    wanted = rows(PIPELINES[kind])
    ds.config.set_seed(8)
    for changes in ({"executor": None}, {"executor": "threads", "num_parallel_workers": 3, "chunk_rows": 5}):
        settings.update(**changes)
        iterator = PIPELINES[kind]().create_dict_iterator(num_epochs=2, output_numpy=True)
        got = [list(iterator) for _ in range(2)]
        assert all(same(a, b) for e, f in zip(got, wanted, strict=True) for a, b in zip(e, f, strict=True))
