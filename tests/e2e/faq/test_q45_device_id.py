"""Q45: DEVICE_ID with CUDA_VISIBLE_DEVICES: an index into the visible devices; out of range lists them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import millrace as ms  # noqa: E402
from millrace._src.runtime.tensor.backend.context import _context  # noqa: E402


@pytest.fixture(autouse=True)
def three_cards(monkeypatch):
    """export CUDA_VISIBLE_DEVICES=1,3,5"""
    saved = dict(_context.values)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,3,5")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    yield
    _context.values.update(saved)


@pytest.mark.parametrize("number", ["0", "1", "2"])
def test_it_counts_the_visible_devices(monkeypatch, number) -> None:
    monkeypatch.setenv("DEVICE_ID", number)
    ms.set_device("GPU")
    assert ms.get_context("device_id") == int(number)


@pytest.mark.parametrize("number", ["3", "5"])
def test_out_of_range_is_an_error_that_lists_them(monkeypatch, number) -> None:
    monkeypatch.setenv("DEVICE_ID", number)
    with pytest.raises(RuntimeError) as caught:
        ms.set_device("GPU")
    assert f"device_id {number} is out of range" in str(caught.value)
    assert "3 GPUs (0: device 1, 1: device 3, 2: device 5)" in str(caught.value)
    assert ms.get_context("device_target") == "CPU"  # nothing was changed


def test_given_in_the_call(monkeypatch) -> None:
    monkeypatch.setenv("DEVICE_ID", "7")
    ms.set_device("GPU", 2)
    with pytest.raises(RuntimeError, match="device_id 4 is out of range"):
        ms.set_context(device_id=4)
    with pytest.raises(RuntimeError, match="device_id 4 is out of range"):
        ms.set_context(device_target="GPU", device_id=4)


def test_no_number(monkeypatch) -> None:
    monkeypatch.setenv("DEVICE_ID", "first")
    with pytest.raises(ValueError, match="DEVICE_ID must be a number"):
        ms.set_device("GPU")


def test_a_cpu_does_not_look_at_it(monkeypatch) -> None:
    monkeypatch.setenv("DEVICE_ID", "5")
    ms.set_device("CPU")
    assert ms.get_context("device_target") == "CPU"
