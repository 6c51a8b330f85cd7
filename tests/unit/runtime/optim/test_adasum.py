"""AdaSum: what is refused, and that four processes add in pairs of pairs. Two real processes: tests/unit/parallel."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace as ms  # noqa: E402
from millrace import nn  # noqa: E402
from millrace._src.runtime.optim import adasum  # noqa: E402
from millrace.communication import init, release  # noqa: E402

KINDS = pytest.mark.parametrize("kind", [nn.AdaSumByGradWrapCell, nn.AdaSumByDeltaWeightWrapCell])


def added(a, b):
    along = (a * b).sum()
    return (1 - along / (2 * (a * a).sum())) * a + (1 - along / (2 * (b * b).sum())) * b


def test_four_processes_add_in_pairs_of_pairs(monkeypatch):
    values = np.random.default_rng(0).standard_normal((4, 3, 2))
    meet, shared, here = threading.Barrier(4), {}, threading.local()

    def swapped(mine, among, partner):
        meet.wait(60)
        shared[among.rank] = mine
        meet.wait(60)
        return shared[partner]

    monkeypatch.setattr(adasum, "_exchange_with_partner", swapped)
    monkeypatch.setattr(
        adasum.groups, "require_membership", lambda name, owner: SimpleNamespace(rank=here.rank, size=4)
    )

    def run(rank):
        here.rank = rank
        return adasum._adaptive_sum([torch.from_numpy(values[rank]).float()])[0].numpy()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, range(4)))
    wanted = added(added(values[0], values[1]), added(values[2], values[3]))
    for each in found:
        np.testing.assert_allclose(each, wanted, rtol=1e-5)
        np.testing.assert_array_equal(each, found[0])


def test_orthogonal_values_are_added_and_equal_ones_averaged():
    a, b = torch.tensor([3e30, 0.0]), torch.tensor([0.0, 2e-30])
    np.testing.assert_allclose(adasum._adaptive_pair_sum(a, b).numpy(), [3e30, 2e-30])
    np.testing.assert_allclose(adasum._adaptive_pair_sum(a, a).numpy(), a.numpy())
    np.testing.assert_array_equal(adasum._adaptive_pair_sum(a * 0, a * 0).numpy(), [0, 0])
    np.testing.assert_allclose(adasum._adaptive_pair_sum(a[:1], a[1:]).numpy(), [np.float32(1.5e30)])


@KINDS
def test_what_it_cannot_be_used_with_is_refused(kind):
    net = nn.Dense(2, 1)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    with pytest.raises(TypeError, match="'optimizer' should be 'Optimizer'"):
        kind(net)
    with pytest.raises(RuntimeError, match="Stand alone mode is not supported to apply adasum"):
        kind(optimizer)
    init()
    try:
        ms.set_auto_parallel_context(parallel_mode="data_parallel", enable_parallel_optimizer=True)
        with pytest.raises(RuntimeError, match="optimizer shard is not supported"):
            kind(optimizer)
    finally:
        ms.reset_auto_parallel_context()
        release()


@KINDS
def test_another_number_than_a_power_of_two_is_refused(kind, monkeypatch):
    optimizer = nn.SGD(nn.Dense(2, 1).trainable_params(), 0.1)
    ms.set_auto_parallel_context(parallel_mode="data_parallel")
    monkeypatch.setattr(adasum.groups, "get_group", lambda *args: SimpleNamespace(size=3))
    try:
        with pytest.raises(RuntimeError, match="power of 2 when applying adasum, but there are 3"):
            kind(optimizer)
    finally:
        ms.reset_auto_parallel_context()
