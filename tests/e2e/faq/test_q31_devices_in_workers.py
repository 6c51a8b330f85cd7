"""Q31: device operations in GeneratorDataset and map, under threads, spawn, fork and an independent process."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace as ms  # noqa: E402
import millrace.dataset as ds  # noqa: E402
from millrace import nn, ops  # noqa: E402
from millrace._src.core.errors import DataError, PlanError  # noqa: E402
from millrace._src.core.machine.worker_devices import DEVICES, RULES, START_METHODS, unsupported_error  # noqa: E402
from millrace._src.runtime.tensor.backend import cuda_fork_guard as forked  # noqa: E402

PAGE = Path(__file__).parents[3] / "docs/how-to/devices-in-workers.md"
PROCESSES = [way for way in START_METHODS if way in ("forkserver", "spawn", "fork")]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(params=["threads", *PROCESSES])
def workers(request):
    """Options of `map` and `GeneratorDataset` for each way, with the setting that goes with it."""
    before = ds.config.get_multiprocessing_start_method()
    if request.param != "threads":
        ds.config.set_multiprocessing_start_method(request.param)
    # the parent has computed with all its threads: their pool must not be waited for in a child
    assert (ops.ones((300, 300)) @ ops.ones((300, 300))).sum().item() == 300.0**3
    yield {"num_parallel_workers": 2, "python_multiprocessing": request.param != "threads"}
    ds.config.set_multiprocessing_start_method(before)


class Halve(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 3, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return ops.relu(self.dense(x)) / 2.0


class Source:
    """A dataset that computes with Millrace."""

    def __init__(self):
        self.net = Halve()

    def __getitem__(self, index):
        return self.net(ms.Tensor([[float(index)] * 3])), index

    def __len__(self):
        return 6


def test_operations_cells_and_gradients_on_the_cpu(workers, no_leaks):
    """All that runs in the user's own thread runs in each kind of worker, with the same bits."""
    net, source = Halve(), Source()
    gradient = ms.grad(lambda x: (net(x) ** 2).sum())

    def compute(x):
        value = ms.Tensor(x) - 4.0
        return net(value), gradient(value), ops.matmul(ops.ones((200, 200)), ops.ones((200, 200))).sum()

    data = ds.GeneratorDataset(source, ["x", "n"], shuffle=False, **workers)
    data = data.map(compute, "x", ["y", "g", "s"], **workers)
    rows = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    for index, row in enumerate(rows):
        for name, wanted in zip("ygs", compute(source[index][0]), strict=True):
            assert np.array_equal(row[name], wanted.asnumpy())
    assert index == 5


def forked_map(function):
    before = ds.config.get_multiprocessing_start_method()
    ds.config.set_multiprocessing_start_method("fork")
    try:
        data = ds.NumpySlicesDataset({"x": np.arange(4.0)}, shuffle=False)
        data = data.map(function, "x", num_parallel_workers=2, python_multiprocessing=True)
        list(data.create_tuple_iterator(num_epochs=1))
    finally:
        ds.config.set_multiprocessing_start_method(before)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: torch.zeros(2, device="cuda"),
        lambda x: torch.from_numpy(x).to("cuda"),
        lambda x: ms.set_device("GPU"),
        lambda x: ms.set_context(device_target="GPU"),
    ],
    ids=["made there", "moved there", "set_device", "set_context"],
)
def test_the_gpu_in_a_forked_worker_is_refused_at_once_with_the_reason(use, no_leaks):
    with pytest.raises(
        DataError, match="cannot be used in a worker process that was started by fork"
    ) as caught:
        forked_map(use)
    assert "the driver belongs to the parent" in str(caught.value)
    assert 'config.set_multiprocessing_start_method("spawn")' in str(caught.value)
    assert not forked.is_forked_process  # the user's own process is as it was


def test_a_tensor_of_the_card_that_a_forked_worker_inherited_is_refused(monkeypatch, no_leaks):
    """There is no card here: one tensor is said to lie on it, and the process to have used it."""
    there = ops.ones((2,))
    monkeypatch.setattr(forked, "is_in_bad_fork", lambda: True)
    monkeypatch.setattr(forked, "_is_on_gpu", lambda value: value is there._torch)
    with pytest.raises(DataError, match=r"aten::mul.Tensor: the GPU cannot be used in a worker process"):
        forked_map(lambda x: (there * 2.0).asnumpy())
    forked_map(lambda x: (ms.Tensor(x) * 2.0).asnumpy())  # the others go on


def test_an_independent_process_is_not_one_and_says_so(monkeypatch):
    from millrace._src.core.log import reset_warn_once

    reset_warn_once()
    monkeypatch.setenv("MS_INDEPENDENT_DATASET", "True")
    data = ds.NumpySlicesDataset({"x": np.arange(4.0)}, shuffle=False).map(lambda x: ms.Tensor(x) + 1.0, "x")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [row[0].item() for row in data.create_tuple_iterator(num_epochs=1)] == [1.0, 2.0, 3.0, 4.0]
    assert any("MS_INDEPENDENT_DATASET is not used" in str(each.message) for each in caught)


def test_the_table_is_whole_and_the_page_shows_it():
    assert set(RULES) == {(way, device) for way in START_METHODS for device in DEVICES}
    for (way, device), rule in RULES.items():
        assert rule.note
        assert rule.works or rule.instead
        if not rule.works:
            assert isinstance(unsupported_error(way, device, "x"), PlanError)
    rows = re.findall(r"^\| (.+?) \| (works|refused) \| (works|refused) \|", PAGE.read_text(), re.M)
    shown = {(way, device): word == "works" for way, *words in rows for device, word in zip(DEVICES, words)}
    assert shown == {place: rule.works for place, rule in RULES.items()}


def test_the_last_results_of_a_gpu_are_those_of_the_table():
    """Recorded by tests/e2e/gpu/transfer_matrix.py where a GPU was."""
    found = json.loads((Path(__file__).parents[1] / "gpu" / "transfer_matrix.json").read_text())
    assert found["card"] != "none"
    tried = {(cell["way"], cell["device"]) for cell in found["cells"]}
    assert tried == {place for place in RULES if place[0] != "independent process"}
    for cell in found["cells"]:
        assert cell["outcome"] == ("works" if RULES[cell["way"], cell["device"]].works else "refused")
