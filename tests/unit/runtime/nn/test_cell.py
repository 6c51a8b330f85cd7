"""Cells: names, children, modes, printing, hooks, containers; recorded from MindSpore where it says something."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Parameter, Tensor, float16, grad, nn  # noqa: E402
from tests.contracts.layers.check_cell import check_cell  # noqa: E402

torch.set_num_threads(1)
ONES = np.ones((2, 3), np.float32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(3, 4)
        self.relu = nn.ReLU()
        self.seq = nn.SequentialCell([nn.Dense(4, 2), nn.Tanh()])
        self.lst = nn.CellList([nn.Dense(2, 2)])
        self.w = Parameter(Tensor([1.0]), name="my")
        self.k = Parameter(Tensor([1.0]))

    def construct(self, x):
        return self.seq(self.relu(self.fc1(x)))


TEXT = """Net(
  (fc1): Dense(input_channels=3, output_channels=4, has_bias=True)
  (relu): ReLU()
  (seq): SequentialCell(
    (0): Dense(input_channels=4, output_channels=2, has_bias=True)
    (1): Tanh()
  )
  (lst): CellList(
    (0): Dense(input_channels=2, output_channels=2, has_bias=True)
  )
)"""


def test_names_children_and_printing():
    net = Net()
    assert repr(net) == TEXT
    names = ["my", "k", "fc1.weight", "fc1.bias", "seq.0.weight", "seq.0.bias", "lst.0.weight", "lst.0.bias"]
    assert [p.name for p in net.get_parameters()] == names
    assert [n for n, _ in net.parameters_and_names()] == ["w", *names[1:]]
    assert [n for n, _ in net.cells_and_names()] == [
        "",
        "fc1",
        "relu",
        "seq",
        "seq.0",
        "seq.1",
        "lst",
        "lst.0",
    ]
    assert list(net.name_cells()) == ["fc1", "relu", "seq", "lst"]
    assert list(net.parameters_dict()) == names
    net.k.requires_grad = False
    assert [p.name for p in net.untrainable_params()] == ["k"]
    assert net(Tensor(ONES)).shape == (2, 2)


def test_dense():
    check_cell(
        lambda: nn.Dense(3, 4),
        ONES,
        parameters={"weight": (4, 3), "bias": (4,)},
        output=(2, 4),
        text="Dense(input_channels=3, output_channels=4, has_bias=True)",
    )
    check_cell(lambda: nn.Dense(3, 4, has_bias=False), ONES, parameters={"weight": (4, 3)}, output=(2, 4))
    check_cell(lambda: nn.Dense(3, 4), np.ones((2, 2, 3), np.float32), output=(2, 2, 4))
    text = """Dense(
  input_channels=3, output_channels=4, has_bias=True, activation=ReLU()
  (activation): ReLU()
)"""
    check_cell(lambda: nn.Dense(3, 4, activation="relu"), ONES, output=(2, 4), text=text)
    weight = nn.Dense(100, 200).weight.asnumpy()
    assert 0.0999 < np.abs(weight).max() <= 0.1


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: nn.Dense("a", 1), TypeError, "'in_channels' must be int"),
        (lambda: nn.Dense(0, 1), ValueError, "must > 0"),
        (
            lambda: nn.Dense(3, 4, weight_init=Tensor(np.ones((4, 2), np.float32))),
            ValueError,
            "weight init shape",
        ),
        (lambda: nn.Dense(3, 4)(Tensor(np.ones((2, 5), np.float32))), ValueError, "For 'dense'"),
        (lambda: nn.Dense(3, 4, activation="none"), ValueError, "must be in"),
        (lambda: nn.CellList([1]), TypeError, "must be subclass of Cell"),
        (lambda: nn.Cell()(1), AttributeError, "'construct' is not defined"),
        (lambda: nn.ReLU().foo, AttributeError, "The 'ReLU' object has no attribute 'foo'"),
        (lambda: nn.ReLU()(), TypeError, "missing 1 required positional argument"),
    ],
)
def test_errors(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_parameters_before_the_base_is_there():
    class Early(nn.Cell):
        def __init__(self):
            self.x = Parameter(Tensor([1.0]))

    with pytest.raises(AttributeError, match=r"call Cell.__init__\(\) firstly"):
        Early()


def test_two_parameters_of_one_name_are_refused():
    net = nn.ReLU()
    net.x, net.y = Parameter(Tensor([1.0]), name="p"), Parameter(Tensor([1.0]), name="p")
    with pytest.raises(ValueError, match="its name 'p' already exists"):
        net.check_names()


def test_a_tensor_written_to_a_parameters_place_is_its_value():
    net = nn.Dense(2, 1)
    place = net.weight._torch.data_ptr()
    net.weight = Tensor([[5.0, 6.0]])
    assert isinstance(net.weight, Parameter)
    assert net.weight.tolist() == [[5, 6]]
    assert net.weight._torch.data_ptr() == place


def test_parameter():
    p = Parameter(Tensor([1.0, 2.0]), name="w")
    assert repr(p) == "Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)"
    assert p.set_data(Tensor([3, 4])).dtype == Tensor([1.0]).dtype
    assert p.clone("zeros").tolist() == [0, 0]
    assert type(p + 1) is Tensor
    assert p.data is p
    source = Tensor([1.0])
    q = Parameter(source)
    q.set_data(Tensor([9.0]))
    assert source.tolist() == [1.0]
    with pytest.raises(ValueError, match="name should be 'string'"):
        Parameter(source, name=3)


def test_containers():
    row = nn.SequentialCell(nn.Dense(1, 1), nn.Dense(1, 1))
    row.append(nn.ReLU())
    assert (len(row), type(row[-1]), type(row[0:1]), len(row[0:1])) == (3, nn.ReLU, nn.SequentialCell, 1)
    del row[2]
    assert [p.name for p in row.get_parameters()] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    cells = nn.CellList([nn.ReLU()])
    cells.insert(0, nn.Tanh())
    assert [type(c) for c in cells] == [nn.Tanh, nn.ReLU]
    named = nn.CellDict({"a": nn.ReLU()})
    named["b"] = nn.Dense(1, 1)
    assert list(named) == ["a", "b"]
    assert [p.name for p in named.get_parameters()] == ["b.weight", "b.bias"]
    with pytest.raises(IndexError):
        row[9]


def test_hooks():
    net, seen = nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), []
    handles = [
        net.register_forward_pre_hook(lambda cell, args: (args[0] * 2,)),
        net.register_forward_hook(lambda cell, args, out: out + 1),
        net.register_backward_hook(lambda cell, gin, gout: seen.append((gin[0].tolist(), gout[0].tolist()))),
    ]
    x = Tensor([[1.0, 2.0]])
    assert net(x).tolist() == [[7]]
    assert grad(net)(x).tolist() == [[2, 2]]
    assert seen == [([[1, 1]], [[1]])]
    for handle in handles:
        handle.remove()
    assert net(x).tolist() == [[3]]


def test_to_float():
    assert nn.ReLU().to_float(float16)(Tensor(ONES)).dtype is float16
