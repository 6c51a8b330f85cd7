"""Objects of sources load from the state that pickles of version 0.2.0 have, with its attribute names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.data.sources.base.batch_sampler import BatchSamplerAdapter

OLD_NAMES = {
    "converter": "maker",
    "max_readers": "readers",
    "_cached_rows": "_kept",
    "_exhausted": "_over",
    "_ranges": "_found",
    "is_expensive": "heavy",
    "scan_id": "kind",
}


def loaded(thing: Any) -> Any:
    """A copy from a state with the old names."""
    state = thing.__getstate__()
    copy = object.__new__(type(thing))
    copy.__setstate__({OLD_NAMES.get(name, name): value for name, value in state.items()})
    assert vars(copy).keys() == vars(thing).keys()
    return copy


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "images" / "cat").mkdir(parents=True)
    (tmp_path / "images" / "cat" / "1.jpg").write_bytes(b"...")
    return tmp_path


def test_sources(files: Path) -> None:
    rows = loaded(ds.GeneratorDataset([1, 2, 3], "x", num_parallel_workers=2)._source)
    assert rows.open().read(np.array([2, 0]))["x"].tolist() == [3, 1]
    lines = loaded(ds.TextFileDataset(str(files / "a.txt"))._source)
    assert lines.size() == 2
    images = loaded(ds.ImageFolderDataset(str(files / "images"), decode=True)._source)
    assert images.is_expensive


def test_a_batch_sampler() -> None:
    adapter = object.__new__(BatchSamplerAdapter)
    adapter.__setstate__({"given": [[0, 1], [2]], "rows": None, "once": False})
    assert list(adapter) == [[0, 1], [2]]
