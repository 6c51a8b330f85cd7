"""Threads that wait for work: not so long that they take the cores from others, nor asleep before the next call."""

import os
import subprocess
import sys

import pytest

from millrace._src.core.machine.openmp import SPINS

ASKS = "import os, millrace; print(os.environ.get('GOMP_SPINCOUNT'), os.environ.get('OMP_WAIT_POLICY'))"


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({}, f"{SPINS} None"),
        ({"GOMP_SPINCOUNT": "7"}, "7 None"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "None ACTIVE"),
    ],
)
def test_it_is_asked_for_before_pytorch_is_loaded_unless_the_user_has_asked(given, seen):
    plain = {
        key: value for key, value in os.environ.items() if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    done = subprocess.run(
        [sys.executable, "-c", ASKS], env={**plain, **given}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == seen


def test_a_share_of_the_cores_is_the_number_of_threads(monkeypatch):
    torch = pytest.importorskip("torch")
    from millrace._src.runtime.tensor import device_placement as device

    before = torch.get_num_threads()
    monkeypatch.setattr(device, "available_cores", lambda: 1)
    try:
        torch.set_num_threads(2)
        device._limit_torch_threads({"OMP_NUM_THREADS": "2"})
        assert torch.get_num_threads() == 2
        device._limit_torch_threads({})
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
