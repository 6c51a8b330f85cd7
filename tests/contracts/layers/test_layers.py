"""What holds for every layer: building anew, copies, gradients, and the same bits in both modes."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace  # noqa: E402
from millrace import GRAPH_MODE, PYNATIVE_MODE, set_context, set_seed  # noqa: E402
from tests.contracts.layers.check_cell import arrays, check_cell  # noqa: E402
from tests.parity.runtime.nn.layers import cases, families  # noqa: E402
from tests.parity.runtime.nn.run_case import fill, live  # noqa: E402
from tests.parity.runtime.nn.test_layers import golden  # noqa: E402

torch.set_num_threads(1)


def sound(family, name):
    """Whether a case is one that we compute, and tried as a whole."""
    case, theirs = cases(family)[name], golden(family)[name]
    return case.options.get("whole") and ("e" not in theirs or case.options.get("better"))


ALL = [(family, name) for family in families() for name in cases(family) if sound(family, name)]
each_layer = pytest.mark.parametrize(
    ("family", "name"), ALL, ids=[f"{family}.{name}" for family, name in ALL]
)


@each_layer
def test_whole(family, name):
    case = cases(family)[name]
    if all(isinstance(value, np.ndarray) for value in case.args):
        random = bool(case.options.get("random"))
        check_cell(lambda: case.build(millrace), *case.args, random=random, trains=not random)


@each_layer
def test_graph_mode_gives_the_same_bits(family, name):
    case = cases(family)[name]
    if case.options.get("random"):
        return
    set_seed(3)
    first = case.build(millrace)
    fill(first, millrace.Tensor)
    first.set_train(case.options.get("train", False))
    second = copy.deepcopy(first)

    def thrice(cell):
        made = [arrays(cell(*[live(millrace, value) for value in case.args])) for _ in range(3)]
        return made, [p.asnumpy().copy() for p in cell.get_parameters()]

    plain = thrice(first)
    set_context(mode=GRAPH_MODE)
    try:
        recorded = thrice(second)
    finally:
        set_context(mode=PYNATIVE_MODE)
    for mine, other in zip(plain[0], recorded[0], strict=True):
        for a, b in zip(mine, other, strict=True):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    for a, b in zip(plain[1], recorded[1], strict=True):
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), "a parameter was left otherwise"
