"""Several users at once: no response holds another user's data, whatever the model does with its rows."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from millrace import export, nn, ops
from millrace._src.runtime.graph.batch_axis import analysis
from millrace._src.serve.runners import runner as runners
from millrace._src.serve.servable import load_model_file
from millrace._src.train.export.archive import capture_forward, write_archive
from millrace.serve import Client, Config, Servable, start
from tests.unit.runtime.graph.batch_axis_networks import Function, RunningTotal
from tests.unit.serve.conftest import Asked
from tests.unit.serve.example_models import any_rows, dense

USERS = 4


class TimeFirst(nn.Cell):
    """A recurrent layer that takes the first axis, which here is the batch, as time."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(4, 4)

    def construct(self, x):
        return self.layer(x.reshape(-1, 1, 4))[0].reshape(-1, 4)


MIXING = {
    "mean": lambda x: x - x.mean(0),
    "softmax": lambda x: ops.softmax(x, 0),
    "cumsum": lambda x: ops.cumsum(x, 0),
    "sort": lambda x: ops.sort(x, 0)[0],
    "flip": lambda x: ops.flip(x, (0,)),
    "gram": lambda x: ops.matmul(ops.matmul(x, x.T), x),
    "resplit": lambda x: x.reshape(4, -1).T,
    "transposed": lambda x: x.T.reshape(-1, 4),
    "first": lambda x: x + x[0:1],
    "gather": lambda x: x[ops.argmax(x, 1) * 0],
    "max": lambda x: x / x.max(),
    "norm": lambda x: x / ops.norm(x),
    "roll": lambda x: ops.roll(x, 1, 0),
    "numbered": lambda x: x + ops.arange(x.shape[0]).reshape(-1, 1),
}
# as ONNX: what PyTorch's exporter writes of them
IN_ONNX = ("mean", "softmax", "cumsum", "gram", "first", "max", "norm")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixing")
    files = {}
    for name, function in MIXING.items():
        for form in ("MINDIR", "ONNX") if name in IN_ONNX else ("MINDIR",):
            key = f"{name}-{form.lower()}"
            export(Function(function), any_rows(4), file_name=str(folder / key), file_format=form)
            files[key] = str(folder / f"{key}.{form.lower()}")
    described, tensors = capture_forward(TimeFirst(), [any_rows(4)])
    write_archive(str(folder / "time.mindir"), described, tensors)
    files["time-mindir"] = str(folder / "time.mindir")
    for form in ("MINDIR", "ONNX"):
        key = f"dense-{form.lower()}"
        export(dense(), any_rows(4), file_name=str(folder / key), file_format=form)
        files[key] = str(folder / f"{key}.{form.lower()}")
    return files


@pytest.fixture(scope="module")
def running(models):
    """A request waits for a minute until as many rows are there as users: all of them are in one batch."""
    config = Config(models, port=0, threads=1, max_batch=USERS, max_wait_ms=60_000, timeout=120.0)
    with start(config) as server:
        yield server


def ask_at_once(server, name, rows):
    """The responses to as many users as there are rows, each with one, all at the same time."""

    def ask(row):
        with Client(server.url) as client:
            return client.infer(name, row[None])

    with ThreadPoolExecutor(USERS) as pool:
        return list(pool.map(ask, rows))


def batches(server, name):
    """How many batches a model has computed, and of how many rows in all."""
    text = Asked(server)("GET", "/metrics")[1].decode()
    counters = (
        re.search(rf'^millrace_serve_batch_rows_{what}{{model="{name}",.*}} (\S+)$', text, re.M)
        for what in ("count", "sum")
    )
    return tuple(int(float(counter[1])) if counter else 0 for counter in counters)


NAMES = [
    *(f"{name}-mindir" for name in (*MIXING, "time")),
    *(f"{name}-onnx" for name in IN_ONNX),
]


@pytest.mark.parametrize("name", NAMES)
def test_no_response_holds_rows_of_others(running, models, name):
    rows = np.random.default_rng(5).standard_normal((USERS, 4)).astype(np.float32)
    alone = load_model_file(models[name])
    before = batches(running, name)
    for row, response in zip(rows, ask_at_once(running, name, rows), strict=True):
        assert response.tobytes() == alone.predict([row[None]])[0].tobytes()
    after = batches(running, name)
    assert (after[0] - before[0], after[1] - before[1]) == (USERS, USERS)
    with Client(running.url) as client:
        assert client.metadata(name)["properties"]["batching"].startswith(
            "off: its rows may depend on each other. "
        )


@pytest.mark.parametrize("form", ["mindir", "onnx"])
def test_independent_rows_are_still_computed_together(running, form):
    name = f"dense-{form}"
    rows = np.random.default_rng(6).standard_normal((USERS, 4)).astype(np.float32)
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    for row, response in zip(rows, ask_at_once(running, name, rows), strict=True):
        np.testing.assert_allclose(response[0], weight @ row, rtol=1e-4, atol=1e-5)
    assert batches(running, name) == (1, USERS)
    with Client(running.url) as client:
        said = client.metadata(name)["properties"]["batching"]
    assert said.startswith("on: the program keeps rows independent" if form == "mindir" else "on: not proven")


def test_several_rows_of_one_request_stay_together(running, models):
    """A model that relates the rows of a request to each other still does so for one request."""
    rows = np.random.default_rng(7).standard_normal((USERS, 3, 4)).astype(np.float32)

    def ask(request):
        with Client(running.url) as client:
            return client.infer("mean-mindir", request)

    with ThreadPoolExecutor(USERS) as pool:
        for request, response in zip(rows, pool.map(ask, rows), strict=True):
            np.testing.assert_allclose(response, request - request.mean(0), rtol=1e-5, atol=1e-6)


def test_instances_are_rows_of_a_model_that_is_not_batched(running):
    """MindSpore Serving's instances stay single rows, each computed alone."""
    instances = [{"x": [1.0, 2.0, 3.0, 4.0]}, {"x": [5.0, 6.0, 7.0, 8.0]}]
    status, answer, _ = Asked(running)("POST", "/model/mean-mindir:predict", {"instances": instances})
    assert status == 200
    assert [each["y"] for each in answer["instances"]] == [[0.0] * 4] * 2


# --- training mode, settings, outputs without rows -----------------------------------------------------------------


TRAINING = {
    "batch norm": (lambda: nn.BatchNorm1d(4, use_batch_statistics=True), "aten::native_batch_norm"),
    "dropout": (lambda: Function(lambda x: ops.dropout(x, 0.5, training=True)), "aten::bernoulli_"),
    "state": (RunningTotal, "aten::copy_ ('total') writes to a tensor of the network"),
}


@pytest.mark.parametrize("name", TRAINING)
def test_a_network_in_training_mode_is_not_loaded(tmp_path, name):
    build, message = TRAINING[name]
    path = str(tmp_path / "net.mindir")
    write_archive(path, *capture_forward(build(), [any_rows(4)]))
    with pytest.raises(RuntimeError, match="expected a network in evaluation mode") as failed:
        start(Config({"net": path}, port=0))
    assert message in str(failed.value)
    with pytest.raises(RuntimeError, match="expected a network in evaluation mode"):
        Servable(build(), inputs=[any_rows(4)])


@pytest.mark.parametrize("name", ["mean-mindir", "mean-onnx"])
def test_batching_that_is_demanded_and_unsafe_is_refused(models, name):
    with pytest.raises(ValueError, match="expected rows that do not depend on each other") as failed:
        start(Config({"net": models[name]}, port=0, batching="on"))
    assert "Set batching='auto' or 'off'" in str(failed.value)
    if name == "mean-mindir":
        assert "aten::mean.dim" in str(failed.value)


def test_batching_can_be_demanded_and_switched_off(models):
    rows = np.random.default_rng(8).standard_normal((USERS, 4)).astype(np.float32)
    for mode, expected in (("on", 1), ("off", USERS)):
        config = Config(
            {"net": models["dense-mindir"]},
            port=0,
            max_batch=USERS,
            max_wait_ms=60_000,
            timeout=120.0,
            batching=mode,
        )
        with start(config) as server:
            ask_at_once(server, "net", rows)
            assert batches(server, "net") == (expected, USERS)
    with pytest.raises(ValueError, match="batching is one of auto, on, off"):
        Config({"net": models["dense-mindir"]}, batching="always")


def test_an_output_without_rows_is_sent_whole_to_everyone(tmp_path):
    export(
        Function(lambda x: (x * 2, ops.ones((3,)))),
        any_rows(4),
        file_name=str(tmp_path / "net"),
        file_format="MINDIR",
    )
    config = Config(
        {"net": str(tmp_path / "net.mindir")}, port=0, max_batch=USERS, max_wait_ms=60_000, timeout=120.0
    )
    rows = np.random.default_rng(9).standard_normal((USERS, 4)).astype(np.float32)
    with start(config) as server:
        for row, response in zip(rows, ask_at_once(server, "net", rows), strict=True):
            double, ones = response.values()
            assert double.tolist() == [(row * 2).tolist()]
            assert ones.tolist() == [1.0, 1.0, 1.0]
        with Client(server.url) as client:
            about = client.metadata("net")
    assert [output["shape"] for output in about["outputs"]] == [[-1, 4], [3]]
    assert about["properties"]["batching"] == "off: the number of rows of an input or output is fixed"


def test_a_program_is_searched_for_training_mode_once(models, monkeypatch):
    searched = []
    for module in (runners, analysis):
        search = module.find_training
        monkeypatch.setattr(
            module, "find_training", lambda graph, search=search: searched.append(0) or search(graph)
        )
    with start(Config({"net": models["mean-mindir"]}, port=0)):
        assert len(searched) == 1
