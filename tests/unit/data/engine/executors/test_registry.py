"""A new executor is one file and one line: nothing else knows its name."""

import sys
import types

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import executor_traits as executors
from millrace._src.core import settings
from millrace._src.core.executor_traits import ExecutorTraits
from millrace._src.data.engine.executors.inline import InlineExecutor


class Pretend(InlineExecutor):
    name = "pretend"
    seen = 0

    def submit(self, chunk):
        Pretend.seen += 1
        return super().submit(chunk)


@pytest.fixture
def pretend(monkeypatch):
    module = types.ModuleType("millrace._src.data.engine.executors.pretend")
    module.make = lambda runner, workers, name, settings: Pretend(runner)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    line = ExecutorTraits("servant", shares_memory=False, same_process=False, target_seconds=0.01)
    monkeypatch.setitem(executors.EXECUTORS, "pretend", line)
    monkeypatch.setattr(Pretend, "seen", 0)


def test_a_pipeline_runs_on_an_executor_that_only_the_registry_knows(no_leaks, pretend):
    with settings.override(executor="pretend"):
        data = ds.NumpySlicesDataset(np.arange(40), "x", shuffle=False).map(lambda x: x + 1, "x").batch(8)
        assert "pretend" in data.explain()
        rows = [row["x"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert rows == [list(range(i + 1, i + 9)) for i in range(0, 40, 8)]
    assert Pretend.seen


def test_a_report_speaks_of_it(no_leaks, pretend):
    with settings.override(executor="pretend"):
        data = ds.NumpySlicesDataset(np.arange(40), "x", shuffle=False).map(lambda x: x + 1, "x")
        iterator = data.create_dict_iterator(num_epochs=1)
        assert sum(1 for _ in iterator) == 40
        assert "map" in str(iterator.report())


def test_settings_name_the_registered_ones():
    with pytest.raises(ValueError, match=r"inline.*threads.*processes"):
        ds.config.set_executor("horses")
