"""Fifty steps of five nets with six optimizers: MindSpore's losses, and the same bits in both modes.

Largest differences of a loss from MindSpore's, relative to the first loss of the curve; they grow with the steps, since
each step begins where the one before ended, and come from the order in which float32 numbers are added.
"""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace  # noqa: E402
from millrace import GRAPH_MODE, PYNATIVE_MODE, set_context  # noqa: E402
from tests.parity.train.networks.networks import NETS, OPTIMIZERS  # noqa: E402
from tests.parity.train.networks.record_training import GOLDENS  # noqa: E402
from tests.parity.train.networks.run_case import STEPS, losses  # noqa: E402

torch.set_num_threads(1)  # sums in one order, whatever the machine
RECORDED = json.loads(GOLDENS.read_text())
# relative to the first loss: without a norm of batches, and with one, which divides by small spreads
NOISE = {"mlp": 2e-5, "lenet": 2e-5, "resnet": 1e-3, "lstm": 2e-5, "bert": 5e-5}
# its first steps are three times as long, since nothing corrects the moments: from 1e-7 the noise grows with each step
LONG_STEPS = {"bert, AdamWeightDecay": 1e-3, "resnet, AdamWeightDecay": 1e-2}


def test_every_curve_is_recorded():
    assert list(RECORDED) == [f"{net}, {optimizer}" for net in NETS for optimizer in OPTIMIZERS]


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("net", list(NETS))
def test_losses_are_mindspores_in_both_modes(net, optimizer):
    theirs = np.array(RECORDED[f"{net}, {optimizer}"])
    ours = losses(millrace, net, optimizer)
    assert len(ours) == STEPS
    noise = LONG_STEPS.get(f"{net}, {optimizer}", NOISE[net])
    assert np.abs(ours - theirs).max() <= noise * theirs[0]
    assert min(ours) < ours[0]
    set_context(mode=GRAPH_MODE)
    try:
        graph = losses(millrace, net, optimizer)
    finally:
        set_context(mode=PYNATIVE_MODE)
    assert graph == ours
