"""Loaders and training as scripts write them give through millrace.as_mindspore what MindSpore gave."""

import json

import pytest

from tests.e2e.interop import run_scripts


@pytest.mark.parametrize("name", list(run_scripts.SCRIPTS))
def test_a_script_gives_what_mindspore_gave(name):
    if "nn.Cell" in run_scripts.SCRIPTS[name].read_text() or name == "deep_paths":
        pytest.importorskip("torch")  # it trains
    assert not run_scripts.differences(name, run_scripts.here(name), run_scripts.recorded(name))


def test_every_stated_difference_is_of_a_script_and_has_a_reason():
    for name, stated in run_scripts.DIFFERS.items():
        results = json.loads((run_scripts.RECORDED / f"{name}.json").read_text())
        assert set(stated) <= set(results)
        assert all(len(reason) > 20 for reason in stated.values())
