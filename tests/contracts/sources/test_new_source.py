"""A source written as CONTRIBUTING.md says passes the suite of the sources, with nothing but what is written there."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

import millrace.dataset as ds
from millrace._src.core.args import checked
from millrace._src.core.lazy import NAMES
from millrace._src.data.sources.base.common_arguments import (
    ImageOptions,
    RowOptions,
    TextOptions,
    with_common_arguments,
)
from millrace._src.data.sources.base.table_dataset import Folder
from tests.e2e.docs.pages import ROOT, script_of

from . import test_sources as suite
from .fake_data import Fake
from .fake_data.damage import gone, words

KINDS = [4, 2, 2, 9, 0]
ROWS = [{"image": list(f"bird {n}".encode()), "label": kind} for n, kind in enumerate(KINDS)]


def write(folder: Path) -> dict[str, Any]:
    for n in range(len(KINDS)):
        (folder / f"{n}.jpg").write_bytes(f"bird {n}".encode())
    (folder / "birds.txt").write_text("".join(f"{n}.jpg {kind}\n" for n, kind in enumerate(KINDS)))
    return {"dataset_dir": str(folder)}


DAMAGES = [gone("2.jpg", "birds.txt names it"), words("birds.txt", "not 'file number'"), gone("birds.txt")]
FAKE = Fake(write, ROWS, {"image": "uint8", "label": "int32"}, DAMAGES)


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example of the page as a module, over a small data set."""
    (tmp_path / "birds_of_the_page.py").write_text(script_of((ROOT / "CONTRIBUTING.md").read_text()))
    monkeypatch.syspath_prepend(str(tmp_path))
    kind = importlib.import_module("birds_of_the_page").BirdsDataset
    monkeypatch.setattr(suite, "find", lambda name: kind)
    # what `make names` writes
    monkeypatch.setitem(NAMES["millrace.dataset"], "BirdsDataset", ("birds_of_the_page", "BirdsDataset"))
    (tmp_path / "data").mkdir()
    yield suite.Case("BirdsDataset", FAKE, tmp_path / "data")
    del sys.modules["birds_of_the_page"]


def test_it_is_as_short_as_the_page_says() -> None:
    lines = script_of((ROOT / "CONTRIBUTING.md").read_text()).splitlines()
    assert 15 <= len([line for line in lines if line.strip()]) <= 35


@pytest.mark.parametrize(
    "check",
    [
        suite.test_rows_columns_types,
        suite.test_getters,
        suite.test_shuffle_is_a_permutation,
        suite.test_shards_cover,
        suite.test_sampler,
        suite.test_resume_at_every_step,
        suite.test_json_keeps_what_was_asked_for,
        suite.test_source_travels,
        suite.test_values_belong_to_the_caller,
        suite.test_missing_data,
    ],
    ids=lambda check: check.__name__,
)
def test_it_does_what_every_source_does(case: Any, check: Any) -> None:
    check(case)


def test_its_rows_are_the_same_in_processes(case: Any, no_leaks: None) -> None:
    ds.config.set_seed(3)
    wanted = case.rows(shuffle=True)
    suite.settings.update(executor="processes", num_parallel_workers=2)
    suite.assert_rows(case.rows(shuffle=True), wanted)


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_damaged_file_is_named(case: Any, damage: Any) -> None:
    wanted = damage.break_it(case.folder)
    with pytest.raises(suite.MillraceError) as caught:
        case.rows()
    assert [part for part in wanted if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"num_samples": -1}, "num_samples exceeds the boundary between 0 and"),
        ({"shuffle": 3}, "Argument shuffle with value 3 is not of type"),
        ({"num_shards": 2}, "num_shards is specified and currently requires shard_id as well"),
        ({"sampler": ds.SequentialSampler(), "shuffle": True}, "sampler and shuffle cannot be specified"),
        ({"dataset_dir": "nowhere"}, "The folder nowhere does not exist"),
        ({"sufle": True}, r"BirdsDataset\(\) got an unexpected keyword argument 'sufle'; did you mean"),
    ],
    ids=["num_samples", "shuffle", "num_shards", "sampler", "dataset_dir", "sufle"],
)
def test_wrong_arguments(case: Any, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(suite.MillraceError, match=message):
        case.kind(**case.arguments | wrong)


# --- takes ------------------------------------------------------------------------------------------------------


def test_the_signature_is_as_if_it_were_written_out() -> None:
    class Joined:
        @with_common_arguments(ImageOptions, without=("cache",), decode=False)
        def __init__(self, folder: Folder, size: int = 3, *_: Any, last: bool = True, **shared: Any) -> None:
            self.given = (size, last, shared)

    class Written:
        @checked
        def __init__(
            self,
            folder: Folder,
            size: int = 3,
            num_samples: NumSamples = None,  # type: ignore[name-defined]  # noqa: F821
            num_parallel_workers: NumWorkers = None,  # type: ignore[name-defined]  # noqa: F821
            shuffle: bool | None = None,
            decode: bool | None = False,
            sampler: Any = None,
            num_shards: int | None = None,
            shard_id: int | None = None,
            last: bool = True,
        ) -> None: ...

    assert inspect.signature(Joined) == inspect.signature(Written)
    assert inspect.signature(Joined.__init__) == inspect.signature(Written.__init__)
    size, last, shared = Joined(".", 5, 8, last=False, decode=True).given
    assert (size, last) == (5, False)
    assert shared == dict.fromkeys(list(shared)) | {"num_samples": 8, "decode": True}
    assert list(shared) == [name for name in ImageOptions.__annotations__ if name != "cache"]


def test_arguments_are_checked_in_their_order() -> None:
    """The first wrong one is told, as where they are written out."""
    with pytest.raises(TypeError, match="num_samples"):
        ds.MnistDataset(".", None, "many", "all")
    with pytest.raises(ValueError, match="usage"):
        ds.MnistDataset(".", shuffle=3, usage="tests")


@pytest.mark.parametrize("group", [RowOptions, ImageOptions, TextOptions], ids=lambda group: group.__name__)
def test_a_default_for_what_the_group_has_not_is_refused(group: type) -> None:
    with pytest.raises(TypeError, match=f"{group.__name__} has no colour: it has num_samples, "):
        with_common_arguments(group, colour=True)(lambda self, *_, **shared: None)
