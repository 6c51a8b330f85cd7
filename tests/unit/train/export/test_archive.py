"""Nets in files: ONNX as onnxruntime computes it, and the archive."""

import json
import zipfile

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Tensor, export, load, nn, ops, set_context


class Pictures(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.relu = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
        self.pool, self.flat = nn.MaxPool2d(2, 2), nn.Flatten()
        self.drop, self.fc = nn.Dropout(p=0.5), nn.Dense(4 * 4 * 4, 3)

    def construct(self, x):
        x = self.flat(self.pool(self.relu(self.bn(self.conv(x)))))
        return self.fc(self.drop(x))


class Pair(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Dense(3, 3), nn.LayerNorm((3,))

    def construct(self, x, y):
        return self.norm(self.fc(x)) + y, ops.softmax(x * 0.5)


def pictures():
    return Tensor(np.random.default_rng(0).standard_normal((2, 1, 8, 8), np.float32))


def pair():
    draw = np.random.default_rng(1)
    return [Tensor(draw.standard_normal((2, 3), np.float32)) for _ in range(2)]


CASES = [(Pictures, lambda: [pictures()]), (Pair, pair)]


@pytest.fixture(params=[PYNATIVE_MODE, GRAPH_MODE], ids=["pynative", "graph"])
def mode(request):
    set_context(mode=request.param)
    yield
    set_context(mode=PYNATIVE_MODE)


def results(made):
    return [each.asnumpy() for each in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize(("kind", "inputs"), CASES)
def test_onnxruntime_gives_what_the_net_gives(tmp_path, mode, kind, inputs):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    net, given = kind(), inputs()
    net.set_train()
    export(net, *given, file_name=str(tmp_path / "net"), file_format="ONNX")
    assert net.training
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"))
    names = [each.name for each in session.get_inputs()]
    made = session.run(None, dict(zip(names, (each.asnumpy() for each in given), strict=True)))
    net.set_train(False)
    for ours, theirs in zip(results(net(*given)), made, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kind", "inputs"), CASES)
def test_the_archive_gives_the_same_bits(tmp_path, mode, kind, inputs):
    net, given = kind(), inputs()
    export(net, *given, file_name=str(tmp_path / "net.mindir"), file_format="MINDIR")
    loaded = nn.GraphCell(load(str(tmp_path / "net.mindir")))
    net.set_train(False)
    for ours, theirs in zip(results(net(*given)), results(loaded(*given)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert {each.name for each in loaded.get_parameters()} == {each.name for each in net.get_parameters()}


def test_parameters_of_an_archive_may_have_other_values(tmp_path):
    net = nn.Dense(2, 1, weight_init="ones", has_bias=False)
    export(net, Tensor([[1.0, 2.0]]), file_name=str(tmp_path / "net"), file_format="MINDIR")
    graph = load(str(tmp_path / "net.mindir"))
    other = nn.GraphCell(graph, params_init={"weight": Tensor([[2.0, 2.0]])})
    assert other(Tensor([[1.0, 2.0]])).item() == 6.0
    with pytest.raises(ValueError, match="is no parameter of the graph; there are weight"):
        nn.GraphCell(graph, params_init={"foo": Tensor([1.0])})
    with pytest.raises(ValueError, match="shapes and dtypes that the network was exported with"):
        other(Tensor([[1.0, 2.0], [1.0, 2.0]]))


def test_a_net_that_looks_at_values_cannot_be_an_archive(tmp_path):
    class Looking(nn.Cell):
        def construct(self, x):
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(RuntimeError, match="Python reads"):
        export(Looking(), Tensor([1.0]), file_name=str(tmp_path / "net"), file_format="MINDIR")


def test_hostile_files_are_refused(tmp_path):
    path = tmp_path / "net.mindir"
    export(nn.Dense(2, 1), Tensor([[1.0, 2.0]]), file_name=str(path), file_format="MINDIR")
    with zipfile.ZipFile(path) as archive:
        program, weights = json.loads(archive.read("program.json")), archive.read("weights.safetensors")

    def written(described, data=weights):
        other = tmp_path / "other.mindir"
        with zipfile.ZipFile(other, "w") as archive:
            archive.writestr("program.json", json.dumps(described))
            archive.writestr("weights.safetensors", data)
        return str(other)

    foreign = json.loads(json.dumps(program))
    foreign["calls"][0][0] = "os::system"
    for described in (
        foreign,
        {**program, "version": 9},
        {**program, "calls": 3},
        {**program, "names": []},
        {},
        3,
    ):
        with pytest.raises(RuntimeError):
            load(written(described))
    with pytest.raises(RuntimeError):
        load(written(program, b"nothing"))
    (tmp_path / "torn.mindir").write_bytes(path.read_bytes()[:100])
    with pytest.raises(RuntimeError, match="damaged"):
        load(str(tmp_path / "torn.mindir"))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda net, x: export(net, x, file_name="a", file_format="FOO"), ValueError),
        (lambda net, x: export(3, x, file_name="a", file_format="ONNX"), ValueError),
        (lambda net, x: export(net, file_name="a", file_format="MINDIR"), TypeError),
        (lambda net, x: export(net, x, file_name=3, file_format="MINDIR"), TypeError),
        (lambda net, x: export(net, x, file_name="a", file_format="AIR"), ValueError),
        (lambda net, x: load("nothing.mindir"), ValueError),
        (lambda net, x: load("nothing.py"), ValueError),
        (lambda net, x: nn.GraphCell(3), TypeError),
    ],
)
def test_wrong_calls_are_refused_as_mindspore_does(call, error):
    with pytest.raises(error):
        call(nn.Dense(2, 1), Tensor([[1.0, 2.0]]))
