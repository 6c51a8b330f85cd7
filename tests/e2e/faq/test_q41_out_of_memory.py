"""Q41: out of memory. The error says what was wanted, what there is, who holds it, and what helps."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace as ms  # noqa: E402
from millrace import Parameter, Tensor, nn, ops  # noqa: E402
from millrace._src.runtime.tensor import out_of_memory as exhausted  # noqa: E402


@pytest.fixture
def origins():
    ms.set_context(debug_level=1)
    yield
    ms.set_context(debug_level=0)


def test_an_error_says_wanted_free_total_and_the_largest_tensors() -> None:
    """The page's example: a Parameter of an abnormally large shape, [640, 1024, 80, 81] and more."""
    weights = Parameter(Tensor(np.ones((700, 1000), np.float32)), name="weights")
    with pytest.raises(RuntimeError) as caught:
        ops.broadcast_to(weights, (640, 1024, 80, 700, 1000)) * 2.0
    text = str(caught.value)
    assert "out of memory" in text
    assert "wanted: 133.5 TiB; free: " in text
    assert "total: " in text
    assert "Parameter weights: shape [700, 1000], float32" in text
    assert __file__ in text
    assert "check the shapes above" in text


def test_tensors_are_named_as_the_user_names_them() -> None:
    def step(batch):
        activations = batch + 1.0
        return ops.broadcast_to(activations, (10**9, 500, 500)) * 2.0

    with pytest.raises(RuntimeError, match=r"'activations' in step \(test_q41_out_of_memory.py:\d+\)"):
        step(Tensor(np.ones((500, 500), np.float32)))


def test_where_each_was_made_when_that_was_asked_for(origins) -> None:
    kept = [ops.ones((600, 600)) for _ in range(2)]  # nothing in a running function names these two
    with pytest.raises(
        RuntimeError, match=r"shape \[600, 600\], float32, allocated at .*test_q41_out_of_memory.py:\d+"
    ):
        ops.ones((10**7, 10**7))
    assert len(kept) == 2


def test_the_same_bits_with_and_without_the_watch(origins) -> None:
    draw = Tensor(np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32))
    net = nn.Dense(3, 2)
    step = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    watched = step(draw)
    exhausted.track_allocations(False)
    plain = step(draw)
    assert watched[0].item() == plain[0].item()
    assert all(np.array_equal(a.asnumpy(), b.asnumpy()) for a, b in zip(watched[1], plain[1], strict=True))


def test_inside_a_net_the_cell_is_named() -> None:
    class Wide(nn.Cell):
        def construct(self, x):
            return ops.broadcast_to(x, (10**9, 10**6)) * 2.0

    net = nn.SequentialCell(nn.ReLU(), Wide())
    with pytest.raises(RuntimeError, match=r"in cell: SequentialCell.1 \(Wide\)"):
        net(Tensor([1.0]))


def test_a_net_with_too_large_a_parameter_cannot_be_built_and_says_so() -> None:
    with pytest.raises(RuntimeError, match=r"out of memory(.|\n)*wanted: (.|\n)*check the shapes above"):
        nn.Dense(10**8, 10**7)(Tensor([1.0]))


def test_a_gpu_that_ran_out_reads_the_same(monkeypatch) -> None:
    """What PyTorch raises there, in its own words; the numbers of the card are made up."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (2**30, 8 * 2**30))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Test card")
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 2**29)
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has ...")
    lines = exhausted.out_of_memory_report(error, capped=2 * 2**30)
    assert lines[0] == "  wanted: 3.0 GiB; free: 1.0 GiB; total: 8.0 GiB (Test card)"
    assert "cap: 2.0 GiB by set_memory(max_size=...), of which tensors hold 512.0 MiB" in lines[1]
    assert "a smaller batch_size" in lines[-1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_cap_holds_on_a_gpu() -> None:
    ms.set_device("GPU")
    try:
        ms.runtime.set_memory(max_size="1GB")
        with pytest.raises(RuntimeError, match=r"cap: 1.0 GiB by set_memory"):
            ops.ones((1024, 1024, 1024)) * 2.0
    finally:
        ms.runtime.set_memory()
        ms.set_device("CPU")
