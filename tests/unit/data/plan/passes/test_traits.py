"""Passes ask nodes for traits: an op they have never heard of is moved, fused and run like any other."""

import dataclasses

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import PlanError
from millrace._src.core.settings import Settings
from millrace._src.data.engine.segment.step_registry import register_step
from millrace._src.data.engine.stages.base import UnaryStage
from millrace._src.data.engine.stages.stage_registry import register_stage
from millrace._src.data.plan.bind import bind, optimize
from millrace._src.data.plan.node import Node, user_fields, walk
from millrace._src.data.plan.nodes import order_ops as ops
from millrace._src.data.plan.nodes.physical import Segment
from millrace._src.data.transforms.base import Transform
from tests.contracts.transforms.test_transforms import public


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Plus(Node):
    """A row-wise op: adds to every column."""

    by: int

    row_wise = True
    preserves_rows = True
    preserves_order = True

    def input_columns_for(self, needed, columns):
        return needed


class PlusStep:
    def __init__(self, by):
        self.by = by

    def __call__(self, chunk, failures):
        return chunk.with_columns({name: column + self.by for name, column in chunk.columns.items()})

    def close(self): ...


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Peek(Node):
    """A barrier that lets everything through."""

    preserves_rows = True
    preserves_order = True


class PeekStage(UnaryStage):
    def pull(self):
        return self.upstream.pull()

    def state(self):
        return self.upstream.state()

    def restore(self, state):
        self.upstream.restore(state)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Unknown(Node):
    """Nobody runs it."""


@pytest.fixture(autouse=True, scope="module")
def entered():
    register_step(Plus)(lambda op, seed, settings, aligned: PlusStep(op.by))
    register_stage(Peek)(lambda context: PeekStage(context.upstream, context.stats))


def over(data, node, **fields):
    made = data.take(10**6)
    made._node = node(inputs=(data._node,), call_site="test:1", **fields)
    return made


def source(rows=20):
    return ds.NumpySlicesDataset({"x": np.arange(rows), "y": np.arange(rows)}, shuffle=False)


def rows_of(data):
    return [row["x"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def plan_of(data):
    return optimize(bind(data._node, Settings(), seed=1)).root


def test_a_row_wise_op_joins_the_segment_and_lets_order_pass():
    data = over(source(), Plus, by=100).skip(3).batch(4, drop_remainder=True)
    (segment,) = [node for node in walk(plan_of(data)) if isinstance(node, Segment)]
    assert [type(op).__name__ for op in segment.ops] == ["Read", "Plus", "Batch"]
    assert segment.ops[0].order_steps[0] == ops.SliceStep(skip=3)
    assert rows_of(data) == [list(range(i, i + 4)) for i in range(103, 119, 4)]


def test_it_says_which_columns_it_reads():
    data = over(source(), Plus, by=1).project("x")
    (segment,) = [node for node in walk(plan_of(data)) if isinstance(node, Segment)]
    assert segment.ops[0].columns == ("x",)
    assert rows_of(data) == list(range(1, 21))


@pytest.mark.parametrize("executor", ["inline", "threads", "processes"])
def test_it_runs_on_every_executor(no_leaks, executor):
    data = over(source(), Plus, by=5).batch(6)
    before = ds.config.get_executor()
    ds.config.set_executor(executor)
    try:
        assert rows_of(data) == [list(range(5 + i, min(25, 11 + i))) for i in range(0, 20, 6)]
    finally:
        ds.config.set_executor(before)


def test_a_stage_is_found_in_the_table(no_leaks):
    assert rows_of(over(source(), Peek).batch(10)) == [list(range(10)), list(range(10, 20))]


def test_a_node_without_a_stage_is_named(no_leaks):
    with pytest.raises(PlanError, match="no stage for Unknown"):
        rows_of(over(source(), Unknown))


def test_what_passes_add_is_kept_apart_from_what_the_user_gave():
    data = source().map(lambda x: x, "x", num_parallel_workers=2).batch(4)
    for node in walk(bind(data._node, Settings(), seed=1).root):
        given = user_fields(node)
        assert not {"op", "where", "keys", "gather", "passes", "steps", "inputs"} & set(given)
    assert user_fields(data._node)["batch_size"] == 4


@pytest.mark.parametrize("kind", public().values(), ids=lambda kind: kind.__name__)
def test_our_transforms_are_ours_and_what_a_user_derives_is_not(kind):
    assert not kind.user_code
    assert type("Mine", (kind,), {}).user_code


def test_a_transform_written_by_a_user_is_the_users():
    class Mine(Transform):
        def row(self, x):
            return x

    assert Mine.user_code
    assert source().map(Mine(), "x")._node.user_code
