"""A step that is recorded once and replayed: the same bits, fresh values, nothing baked in."""

import warnings

import numpy as np
import pytest
import torch

from millrace import Parameter, Tensor, ops
from millrace._src.core.errors import OperationError
from millrace._src.runtime.graph.graph_report import graph_report, save_graphs
from millrace._src.runtime.graph.jit import jit, mutable
from millrace._src.runtime.graph.replay import MAX_CAPTURES, capture_cache_of
from millrace._src.runtime.tensor.rng_state import initializer_generator
from millrace._src.runtime.tensor.storage import wrap


def _tensor(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def test_a_second_call_runs_no_python_and_brings_fresh_values():
    calls = []

    @jit
    def step(x, y):
        calls.append(1)
        return ops.exp(x) * y + x.sum(), {"top": (x - y).max()}

    for seed in range(4):
        x, y = _tensor(3, 4, seed=seed), _tensor(3, 4, seed=seed + 10)
        made, plain = step(x, y), step.__wrapped__(x, y)
        assert made[0].asnumpy().tolist() == plain[0].asnumpy().tolist()
        assert made[1]["top"].item() == plain[1]["top"].item()
    assert len(calls) == 1 + 4  # recorded once; the other four are the plain calls


def test_other_shapes_types_and_numbers_are_recorded_anew():
    @jit
    def scale(x, factor=2):
        return x * factor

    assert scale(_tensor(2)).shape == (2,)
    assert scale(_tensor(3)).shape == (3,)
    assert scale(Tensor([1, 2])).asnumpy().tolist() == [2, 4]
    assert scale(Tensor([1, 2]), 3).asnumpy().tolist() == [3, 6]
    assert scale(Tensor([1, 2]), factor=3).asnumpy().tolist() == [3, 6]
    assert scale(Tensor([1, 2]), 3.5).asnumpy().tolist() == [3.5, 7.0]
    assert capture_cache_of(scale).recorded == 6


def test_numbers_made_mutable_need_no_second_recording():
    @jit
    def scale(x, factor):
        return x * factor

    for factor in (1.0, 2.0, 5.0):
        assert scale(Tensor([2.0]), mutable(factor)).item() == 2 * factor
    assert capture_cache_of(scale).recorded == 1


def test_one_tensor_twice_is_not_two_tensors():
    @jit
    def difference(a, b):
        return a - b

    x, y = _tensor(3, seed=1), _tensor(3, seed=2)
    assert not difference(x, x).asnumpy().any()
    assert difference(x, y).asnumpy().tolist() == (x - y).asnumpy().tolist()


def test_writes_to_a_parameter_are_seen_and_done_in_each_replay():
    total = Parameter(Tensor([0.0]), name="total")

    @jit
    def add(x):
        total.set_data(total + x)
        return total * 2

    assert [add(Tensor([1.0])).item() for _ in range(3)] == [2.0, 4.0, 6.0]
    total.set_data(Tensor([10.0]))
    assert add(Tensor([1.0])).item() == 22.0


def test_a_parameter_of_another_shape_is_recorded_anew():
    weight = Parameter(Tensor([1.0, 2.0]), name="weight")

    @jit
    def double():
        return weight * 2

    assert double().asnumpy().tolist() == [2.0, 4.0]
    weight.set_data(Tensor([1.0, 2.0, 3.0]), slice_shape=True)
    assert double().asnumpy().tolist() == [2.0, 4.0, 6.0]


def test_a_value_that_leaves_for_python_is_never_baked_in():
    @jit
    def sign(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    with pytest.warns(UserWarning, match="operation by operation.*test_jit.py"):
        assert sign(Tensor([1.0])).item() == 2.0
    assert sign(Tensor([-1.0])).item() == -2.0
    (why,) = capture_cache_of(sign).graph_breaks()
    assert "test_jit.py" in why.source_line
    assert "sign" in str(graph_report())


@pytest.mark.parametrize(
    "leave", [lambda x: float(x), lambda x: x.asnumpy(), lambda x: x.tolist(), lambda x: bool(x)]
)
def test_every_way_out_is_noticed(leave):
    @jit
    def step(x):
        leave(x)
        return x + 1

    with pytest.warns(UserWarning, match="Python reads"):
        step(Tensor(1.0))
    assert capture_cache_of(step).graph_breaks()


def test_strict_makes_leaving_an_error():
    @jit(fullgraph=True)
    def step(x):
        return x * int(x)

    with pytest.raises(OperationError, match="cannot be captured"):
        step(Tensor(1.0))


def test_random_operations_draw_anew_in_each_replay():
    @jit
    def noise(x):
        return x + wrap(torch.rand(4, generator=initializer_generator()))

    made = [noise(Tensor(np.zeros(4, np.float32))).asnumpy().tolist() for _ in range(4)]
    assert len({tuple(row) for row in made}) == 4


def test_too_many_kinds_run_plainly_and_say_so():
    @jit
    def shift(x, by):
        return x + by

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for by in range(MAX_CAPTURES + 3):
            assert shift(Tensor([1]), by).item() == 1 + by
    assert capture_cache_of(shift).eager_calls == 3


def test_an_error_in_a_replay_names_the_users_line():
    @jit
    def pick(x, index):
        return x[index]

    x = _tensor(4)
    pick(x, Tensor([0, 1]))
    with pytest.raises(Exception, match="index") as error:
        pick(x, Tensor([0, 9]))
    assert "test_jit.py" in "".join([str(error.value), *getattr(error.value, "__notes__", [])])


def test_graphs_are_written_as_readable_text(tmp_path):
    @jit
    def readable(x):
        return ops.tanh(x) * 2

    readable(_tensor(2))
    texts = [path.read_text() for path in save_graphs(str(tmp_path))]
    assert any("aten.tanh" in text and "test_jit.py" in text for text in texts)


def test_shapes_that_are_tensors_are_not_baked_in():
    """A shape among the inputs, or computed of them, ends the recording; one that stands outside is frozen."""

    @jit
    def given(x, shape):
        return ops.reshape(x, shape)

    @jit
    def computed(x, shape):
        return ops.reshape(x, shape + 0)

    constant = Tensor([3, 4])

    @jit
    def outside(x):
        return ops.reshape(x, constant)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function in (given, computed):
            for shape in ([3, 4], [3, 4], [4, 3]):
                assert function(_tensor(12), Tensor(shape)).shape == tuple(shape)
            assert capture_cache_of(function).eager_calls
    for seed in range(2):
        assert outside(_tensor(12, seed=seed)).shape == (3, 4)
    assert (capture_cache_of(outside).recorded, capture_cache_of(outside).replayed) == (1, 1)
