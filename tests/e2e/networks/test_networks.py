"""Whole nets learn as under MindSpore, and the same bits in both modes."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace  # noqa: E402
from millrace import GRAPH_MODE, PYNATIVE_MODE, set_context  # noqa: E402
from millrace._src.runtime.graph.replay import capture_cache_of  # noqa: E402
from tests.e2e.networks.families import nets  # noqa: E402
from tests.e2e.networks.record_networks import GOLDENS  # noqa: E402
from tests.e2e.networks.run_network import learn  # noqa: E402

torch.set_num_threads(1)
NETS = nets()
RECORDED = json.loads(GOLDENS.read_text())


def test_every_net_is_recorded():
    assert sorted(RECORDED) == sorted(NETS), "run `python -m tests.e2e.networks.record_networks`"


def test_the_nets_that_were_asked_for_are_there():
    asked = ["LeNet", "ResNet-18", "ResNet-50", "MobileNetV3", "VGG", "UNet", "YOLO", "SSD", "LSTM", "GRU"]
    asked += ["BERT base", "BERT tiny", "GPT", "ViT", "DeepFM", "GAN", "GCN"]
    assert [each for each in asked if not any(name.startswith(each) for name in NETS)] == []


@pytest.mark.parametrize("name", sorted(NETS))
def test_a_net_learns_as_under_mindspore_and_alike_in_both_modes(name):
    (ours, _), theirs = learn(millrace, NETS[name]), RECORDED[name]
    assert ours["before"] == pytest.approx(theirs["before"], rel=2e-5)
    assert ours["losses"] == pytest.approx(theirs["losses"], rel=1e-4)
    assert list(ours["parameters"]) == list(theirs["parameters"])
    for path, numbers in theirs["parameters"].items():
        assert np.allclose(ours["parameters"][path], numbers, rtol=1e-3, atol=1e-4), path
    set_context(mode=GRAPH_MODE)
    try:
        graph, step = learn(millrace, NETS[name])
    finally:
        set_context(mode=PYNATIVE_MODE)
    assert graph == ours
    assert (
        capture_cache_of(step).recorded,
        capture_cache_of(step).replayed,
        capture_cache_of(step).eager_calls,
    ) == (1, 2, 0)
