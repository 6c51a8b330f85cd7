"""What iterators hand out: Tensors, numpy, torch and jax arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millrace as ms
import millrace.dataset as ds
from millrace._src.core.errors import MissingExtra


class Mixed:
    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return np.full((2, 3), index, np.float32), index, f"row {index}", {"k": np.arange(index + 1)}

    def __len__(self) -> int:
        return 3


def first(**options: Any) -> dict[str, Any]:
    data = ds.GeneratorDataset(Mixed(), ["x", "y", "t", "d"], shuffle=False)
    return next(data.create_dict_iterator(num_epochs=1, **options))


def test_tensors_by_default() -> None:
    row = first()
    assert isinstance(row["x"], ms.Tensor)
    assert row["x"].dtype == ms.float32
    assert row["x"].shape == (2, 3)
    assert isinstance(row["d"]["k"], ms.Tensor)
    assert row["t"].asnumpy().item() == "row 0"


def test_numpy() -> None:
    row = first(output_numpy=True)
    assert isinstance(row["x"], np.ndarray)
    assert row["y"].shape == ()
    assert isinstance(row["d"]["k"], np.ndarray)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    row = first(output="torch")
    assert isinstance(row["x"], torch.Tensor)
    assert row["x"].dtype == torch.float32
    assert torch.equal(row["d"]["k"], torch.tensor([0]))
    assert isinstance(row["t"], np.ndarray)  # torch has no text


def test_jax() -> None:
    jax = pytest.importorskip("jax")
    row = first(output="jax")
    assert isinstance(row["x"], jax.Array)
    assert row["x"].shape == (2, 3)


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install 'torch>=2.2'"):
        first(output="torch")


@pytest.mark.parametrize("do_copy", [True, False])
def test_rows_belong_to_the_consumer(do_copy: bool) -> None:
    """Whatever the consumer does to a batch, later batches and the source stay as they are."""
    source = np.arange(12, dtype=np.float64).reshape(6, 2)
    data = ds.NumpySlicesDataset(source, "x", shuffle=False).batch(2)
    seen = []
    for row in data.create_dict_iterator(num_epochs=1, output_numpy=True, do_copy=do_copy):
        seen.append(row["x"].copy())
        row["x"][:] = -1
    assert np.array_equal(np.concatenate(seen), np.arange(12).reshape(6, 2))
    assert source.min() == 0
