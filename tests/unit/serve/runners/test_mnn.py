"""Nets of convolutions on MNN: onnxruntime's answers, and onnxruntime where MNN would not be right or not faster."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from millrace import Tensor, export, float32, nn, ops
from millrace._src.core.errors import ArgumentValueError
from millrace._src.serve.client import Client
from millrace._src.serve.runners import mnn
from millrace._src.serve.runners.runner import OnnxRunner
from millrace._src.serve.servable import load_model_file
from millrace.serve import Config, Servable, start
from tests.unit.serve.example_models import any_rows

pytest.importorskip("MNN")


class Branches(nn.Cell):
    """Convolutions, a sum of two ways, a mean: what residual nets are made of; two outputs."""

    def __init__(self):
        super().__init__()
        self.first = nn.SequentialCell([nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU()])
        self.way = nn.SequentialCell([nn.Conv2d(16, 16, 3), nn.BatchNorm2d(16)])
        self.head = nn.Dense(16, 5)

    def construct(self, x):
        x = self.first(x)
        x = ops.relu(self.way(x) + x).mean((2, 3))
        return self.head(x), x


def exported(folder, net, *shape):
    export(net, any_rows(*shape), file_name=str(folder / "net"), file_format="ONNX")
    return str(folder / "net.onnx")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return exported(tmp_path_factory.mktemp("mnn"), Branches(), 3, 8, 8)


@pytest.fixture
def always(monkeypatch):
    """MNN is taken however small the net: whether it is faster is a question of time."""
    monkeypatch.setattr(mnn, "WORTH", 1e9)


def rows(count):
    return np.random.default_rng(count).standard_normal((count, 3, 8, 8)).astype(np.float32)


def test_answers_are_those_of_onnxruntime_for_any_number_of_rows(file, always, monkeypatch):
    usual, runner = OnnxRunner(file, 1), mnn.onnx_runner(file, 2)
    assert isinstance(runner, mnn.MnnRunner)
    assert (runner.inputs, runner.outputs) == (usual.inputs, usual.outputs)
    monkeypatch.setattr(runner, "usual", None)  # from here on MNN computes all of them
    for count in (2, 3, 5, 2, 70):
        given = rows(count)
        for want, got in zip(usual.run([given]), runner.run([given]), strict=True):
            assert (want.shape, want.dtype) == (got.shape, got.dtype)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_few_rows_stay_with_onnxruntime_which_divides_one(file, always):
    runner = mnn.onnx_runner(file, 2)
    np.testing.assert_array_equal(runner.run([rows(1)])[0], OnnxRunner(file, 2).run([rows(1)])[0])


def test_batches_may_be_computed_at_the_same_time(file, always):
    runner = mnn.onnx_runner(file, 1)
    wanted = {count: runner.run([rows(count)])[0] for count in range(1, 9)}
    wrong = []

    def ask(count):
        for _ in range(20):
            if not np.allclose(runner.run([rows(count)])[0], wanted[count], rtol=1e-4, atol=1e-5):
                wrong.append(count)

    threads = [threading.Thread(target=ask, args=(count,)) for count in wanted]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def test_a_server_uses_it_and_says_so_and_can_be_told_not_to(file, always, tmp_path, capfd):
    inside = str(tmp_path / "inside.mindir")
    Servable(file).save(inside)  # an archive that holds an ONNX file
    want = OnnxRunner(file, 1).run([rows(9)])[0]
    models = {"plain": file, "inside": inside}
    for runtime, platform in (("auto", "mnn_onnx"), ("onnxruntime", "onnxruntime_onnx")):
        config = Config(models, port=0, threads=1, runtime=runtime)
        with start(config) as server, Client(server.url) as client:
            for name in models:
                assert client.metadata(name)["platform"] == platform
                got = client.infer(name, rows(9))
                np.testing.assert_allclose(
                    got[client.metadata(name)["outputs"][0]["name"]], want, rtol=1e-4, atol=1e-5
                )
    assert capfd.readouterr().out == ""  # standard output is the server's own
    with pytest.raises(ArgumentValueError, match="runtime is one of auto, onnxruntime, but got 'fast'"):
        Config(models, runtime="fast")


@pytest.mark.parametrize("change", ["other answers", "slower", "unreadable", "missing"])
def test_where_it_is_not_right_or_not_faster_onnxruntime_computes(file, monkeypatch, caplog, change):
    caplog.set_level("INFO", "millrace.serve.runners.mnn")
    monkeypatch.setattr(mnn, "WORTH", 0.0 if change == "slower" else 1e9)
    if change == "other answers":
        monkeypatch.setattr(
            mnn._MnnSession, "run", lambda self, arrays: [np.zeros((len(arrays[0]), n)) for n in (5, 16)]
        )
    elif change == "unreadable":
        monkeypatch.setattr(mnn, "CONVERT", "print('no such operation')")
    elif change == "missing":
        monkeypatch.setitem(sys.modules, "MNN", None)
    assert load_model_file(file).runner.platform == "onnxruntime_onnx"
    words = {
        "other answers": "MNN gives different results",
        "slower": "ms per row, not less than 0.00",
        "unreadable": "MNN cannot convert it (no such operation)",
        "missing": "needs 'MNN', which is not installed: pip install",
    }
    assert words[change] in caplog.text


class Picks(nn.Cell):
    """A place in a table that a request says: MNN would not look whether there is such a place."""

    def __init__(self):
        super().__init__()
        self.conv, self.table = nn.Conv2d(1, 1, 3), nn.Embedding(4, 2)

    def construct(self, x):
        return self.table(self.conv(x).sum((1, 2, 3)).astype("int32"))


def test_a_net_that_looks_up_what_a_request_says_is_never_given_to_it(tmp_path, always):
    assert mnn.onnx_runner(exported(tmp_path, Picks(), 1, 4, 4), 1).platform == "onnxruntime_onnx"


def test_nets_without_convolutions_and_of_fixed_rows_are_not_even_tried(tmp_path, always, monkeypatch):
    monkeypatch.setattr(mnn, "_measure_speedup", None)
    assert mnn.onnx_runner(exported(tmp_path, nn.Dense(4, 2), 4), 1).platform == "onnxruntime_onnx"
    net = nn.Conv2d(1, 1, 3)
    export(
        net,
        Tensor(shape=(2, 1, 4, 4), dtype=float32, init="zeros"),
        file_name=str(tmp_path / "two"),
        file_format="ONNX",
    )
    assert mnn.onnx_runner(str(tmp_path / "two.onnx"), 1).platform == "onnxruntime_onnx"


def test_its_own_tools_which_report_to_their_makers_are_not_imported(file):
    code = (
        "import sys; from millrace._src.serve.runners import mnn; mnn.WORTH = 1e9; "
        "runner = mnn.onnx_runner(sys.argv[1], 1); "
        "assert runner.platform == 'mnn_onnx'; print([name for name in sys.modules if name.startswith('MNN.tools')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, file], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout == "[]\n"
    assert "MNN.tools" not in mnn.CONVERT
