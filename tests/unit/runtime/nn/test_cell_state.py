"""Buffers, state_dict and load_state_dict with their hooks: keys, messages and order as MindSpore 2.7.0 gave them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, nn, set_context  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(params=[PYNATIVE_MODE, GRAPH_MODE], ids=["pynative", "graph"])
def mode(request):
    set_context(mode=request.param)
    yield request.param
    set_context(mode=PYNATIVE_MODE)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 3)
        self.bn = nn.BatchNorm2d(3)
        self.register_buffer("buf", Tensor([1.0, 2.0]))
        self.register_buffer("tmp", Tensor([1.0]), persistent=False)
        self.register_buffer("none", None)
        self.seen = []

    def get_extra_state(self):
        return {"a": 1}

    def set_extra_state(self, state):
        self.seen.append(state)


class Leaf(nn.Cell):
    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor(1.0))
        self.register_buffer("b", Tensor([1, 2]))


KEYS = [
    "buf",
    "_extra_state",
    "fc.weight",
    "fc.bias",
    "bn.moving_mean",
    "bn.moving_variance",
    "bn.gamma",
    "bn.beta",
]


def test_state_dict_is_the_cells_own():
    net = Net()
    state = net.state_dict()
    assert list(state) == KEYS
    assert state["fc.weight"] is net.fc.weight
    assert dict(state._metadata) == {"": {}, "fc": {}, "bn": {}}
    assert list(net.state_dict(prefix="q."))[:2] == ["q.buf", "q._extra_state"]
    mine = {}
    assert net.fc.state_dict(destination=mine) is mine
    assert list(mine) == ["weight", "bias"]
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert list(net.fc.state_dict({}, "p.")) == ["p.weight", "p.bias"]


def test_load_writes_in_place_and_in_the_type_of_its_place():
    net = Net()
    kept = net.fc.weight._torch
    state = net.state_dict() | {"fc.weight": Tensor(np.full((3, 2), 7, np.float16))}
    assert repr(net.load_state_dict(state)) == "<All keys matched successfully>"
    assert net.seen == [{"a": 1}]
    assert net.fc.weight._torch is kept
    assert net.fc.weight.asnumpy().tolist() == [[7.0, 7.0]] * 3
    leaf = Leaf()
    leaf.load_state_dict({"p": Tensor(7), "b": Tensor([7.9, 8.1])})
    assert (leaf.p.item(), leaf.b.tolist()) == (7.0, [7, 8])


def test_what_does_not_fit():
    net = Net()
    state = net.state_dict()
    state["zzz"] = Tensor(1)
    del state["fc.weight"]
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Net:\n\t"
        'Missing key(s) in state_dict: "fc.weight". \n\tUnexpected key(s) in state_dict: "zzz". '
    )
    loose = net.load_state_dict(state, strict=False)
    assert (loose.missing_keys, loose.unexpected_keys) == (["fc.weight"], ["zzz"])
    for wrong, text in (
        (
            Tensor(np.ones((2, 2), np.float32)),
            "copying a param with shape (2, 2) from checkpoint, the shape in",
        ),
        (np.ones((3, 2)), 'copying the parameter named "fc.weight", expected Tensor or Tensor-like object'),
    ):
        for strict in (True, False):
            with pytest.raises(RuntimeError) as caught:
                net.load_state_dict({**net.state_dict(), "fc.weight": wrong}, strict=strict)
            assert text in str(caught.value)
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
        net.load_state_dict([1])


def test_keys_below_children_and_extra_state():
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.p = Parameter(Tensor([1.0]))
            self.a = Leaf()

    net = Outer()
    given = {
        "p": Tensor([5.0]),
        "a": Tensor(1),
        "a.p.q": Tensor(1),
        "a.b": Tensor([1, 2]),
        "a._extra_state": 1,
    }
    answer = net.load_state_dict(given, strict=False)
    assert answer == (["a.p"], ["a", "a.p.q", "a._extra_state"])
    with pytest.raises(RuntimeError, match="should never be called"):
        net.get_extra_state()
    with pytest.raises(RuntimeError, match="should never be called"):
        net.set_extra_state(1)


def test_hooks_of_saving_and_loading():
    net = nn.SequentialCell(nn.Dense(2, 2))
    told = []
    handle = net.register_state_dict_pre_hook(lambda cell, prefix, keep: told.append(("pre", prefix, keep)))
    for cell in (net, net[0]):
        cell.register_state_dict_post_hook(
            lambda c, state, prefix, meta: told.append((prefix, list(state), meta))
        )
        cell.register_load_state_dict_pre_hook(lambda c, state, prefix, *rest: told.append((prefix, *rest)))
        cell.register_load_state_dict_post_hook(lambda c, keys: told.append((type(c).__name__, keys)))
    state = net.state_dict(prefix="q.")
    both = ["q.0.weight", "q.0.bias"]
    assert told == [("pre", "q.", False), ("q.0.", both, {}), ("q.", both, {})]
    assert list(state) == both
    handle.remove()
    told.clear()
    net.load_state_dict({}, strict=False)
    missing = ["0.weight", "0.bias"]
    assert told == [
        ("", {}, True, missing, [], []),
        ("0.", {}, True, missing, [], []),
        ("Dense", (missing, [])),
        ("SequentialCell", (missing, [])),
    ]
    net.register_load_state_dict_post_hook(lambda cell, keys: keys.missing_keys.clear())
    net.load_state_dict({})  # a hook took the missing keys away
    net.register_state_dict_post_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        net.state_dict()
    net.register_load_state_dict_post_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="are not expected to return new values"):
        net.load_state_dict({}, strict=False)
    with pytest.raises(TypeError, match="must be callable"):
        net.register_state_dict_pre_hook(3)


def test_buffers_have_names():
    net = Net()
    assert [name for name, _ in net.named_buffers()] == ["buf", "tmp"]
    assert [name for name, _ in nn.SequentialCell(Leaf()).named_buffers(prefix="q")] == ["q.0.b"]
    outer = nn.CellList([Leaf()])
    outer.register_buffer("s", outer[0].b)
    assert [name for name, _ in outer.named_buffers()] == ["s"]
    assert [name for name, _ in outer.named_buffers(remove_duplicate=False)] == ["s", "0.b"]
    assert len(list(outer.buffers(recurse=False))) == 1
    del outer.s
    assert not hasattr(outer, "s")


def test_get_buffer_and_get_sub_cell():
    net = Net()
    assert net.get_buffer("buf") is net.buf
    assert net.get_sub_cell("") is net
    assert net.get_sub_cell("fc") is net.fc
    for path, text in (
        ("x", "Net has no attribute `x`"),
        ("fc.weight", "`weight` is not a buffer"),
        ("qq.x", "Net has no attribute `qq`"),
        ("", "Net has no attribute ``"),
    ):
        with pytest.raises(AttributeError) as caught:
            net.get_buffer(path)
        assert str(caught.value) == text
    with pytest.raises(AttributeError, match=r"`buf` is not an nn\.Cell"):
        net.get_sub_cell("buf")


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("a.b", Tensor([1]), KeyError, 't contain "."'),
        ("", Tensor([1]), KeyError, "t be empty string"),
        ("fc", Tensor([1]), KeyError, "attribute 'fc' already exists"),
        ("construct", Tensor([1]), KeyError, "attribute 'construct' already exists"),
        ("c", 3, TypeError, "cannot assign '<class 'int'>' object to buffer 'c'"),
        (3, Tensor([1]), TypeError, "buffer name should be a string"),
    ],
)
def test_what_is_no_buffer(name, value, error, text):
    with pytest.raises(error) as caught:
        Net().register_buffer(name, value)
    assert text in str(caught.value)


def test_a_buffer_is_not_replaced_by_assignment():
    net = Net()
    for value in (Tensor([5.0, 6.0]), 3):
        with pytest.raises(TypeError, match=r"Buffer 'buf' already exists in network.*copy_"):
            net.buf = value
    net.register_buffer("buf", Tensor([9.0]))
    assert net.buf.tolist() == [9.0]
    net.buf = None
    assert net.buf is None
    assert "buf" not in net.state_dict()

    class Early(nn.Cell):
        def __init__(self):
            self.register_buffer("b", Tensor(1))

    with pytest.raises(AttributeError, match=r"cannot assign buffer before Cell.__init__\(\) call"):
        Early()


def test_a_recorded_step_sees_writes_to_a_buffer(mode):
    class Count(nn.Cell):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", Tensor([0.0]))

        def construct(self, x):
            self.total.copy_(self.total + x)
            return self.total * 2

    net = Count()
    assert [net(Tensor([1.0])).item() for _ in range(3)] == [2.0, 4.0, 6.0]
    net.load_state_dict({"total": Tensor([10.0])})
    assert net(Tensor([1.0])).item() == 22.0
    net.register_buffer("total", Tensor([0.0]))
    assert net(Tensor([1.0])).item() == 2.0
