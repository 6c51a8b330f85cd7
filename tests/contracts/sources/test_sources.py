"""What every source that reads files does: rows, types, order, sampling, shards, resume, and clear errors."""

from __future__ import annotations

import inspect
import json
import pickle
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import MillraceError

from .fake_data import Fake, everything, find
from .fake_data.damage import Damage

FAKES = everything()
DAMAGES = [(name, damage) for name, fake in FAKES.items() for damage in fake.damage]
# Rows that come from memory, from a function or from other datasets; MindRecord has suites of its own.
NO_FILES = {
    "ConcatDataset", "Dataset", "FakeImageDataset", "GeneratorDataset", "HuggingFaceDataset",
    "InMemoryGraphDataset", "MindDataset", "NumpySlicesDataset", "OBSMindDataset", "PaddedDataset",
    "RandomDataset", "TorchDataset",
}  # fmt: skip
BLUNT: list[Callable[[Path], Any]] = [
    Path.unlink,
    lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    lambda path: path.write_bytes(b"nothing of the kind\n" * 3),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(bytes(path.stat().st_size)),
    lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: Any, monkeypatch: Any) -> None:
    """Offset indexes go where they disturb nobody."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


class Case:
    """One fake data set on disk, and datasets over it."""

    def __init__(self, name: str, fake: Fake, folder: Path) -> None:
        self.name, self.fake, self.folder = name, fake, folder
        self.kind = find(name)
        self.arguments = fake.write(folder)
        self.takes = inspect.signature(self.kind).parameters

    def open(self, **more: Any) -> Any:
        return self.kind(**(self.arguments | {"shuffle": False} | more))

    def rows(self, **more: Any) -> list[dict[str, Any]]:
        return as_rows(self.open(**more))


@pytest.fixture(params=FAKES)
def case(request: Any, tmp_path: Path) -> Case:
    folder = tmp_path / "data"
    folder.mkdir()
    return Case(request.param, FAKES[request.param], folder)


def test_json_keeps_what_was_asked_for(case: Case) -> None:
    """Sampler, num_samples, shuffle, shards and workers: what is read and written again is the same text."""
    wanted = [{"num_samples": 2}, {"shuffle": True}, {"num_shards": 2, "shard_id": 1}]
    if "sampler" in case.takes:
        chain = ds.SequentialSampler(1, 2)
        chain.add_child(ds.RandomSampler())
        wanted += [{"sampler": chain}, {"sampler": ds.SubsetRandomSampler([1, 0])}]
    for options in wanted:
        if not set(options) <= set(case.takes):
            continue
        more = {"shard_equal_rows": True} if "shard_equal_rows" in case.takes else {}
        data = case.kind(**(case.arguments | options | more | {"num_parallel_workers": 2}))
        text = json.dumps(ds.serialize(data))
        again = ds.deserialize(json.loads(text))
        assert json.dumps(ds.serialize(again)) == text, options
        assert again.get_dataset_size() == data.get_dataset_size()


def as_rows(data: Any) -> list[dict[str, Any]]:
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


def same(got: Any, wanted: Any) -> bool:
    if callable(wanted):
        return bool(wanted(got))
    return np.array_equal(np.asarray(got), np.asarray(wanted))


def same_row(got: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return list(got) == list(wanted) and all(same(got[name], wanted[name]) for name in wanted)


def assert_rows(got: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert len(got) == len(wanted)
    for number, (one, two) in enumerate(zip(got, wanted, strict=True)):
        assert same_row(one, two), f"row {number}: {one} is not {two}"


def places(got: list[dict[str, Any]], all_rows: list[dict[str, Any]]) -> list[int]:
    """Where in all rows each of these rows stands; equal rows are told apart by taking the next one."""
    left = list(range(len(all_rows)))
    found = []
    for row in got:
        same_ones = [n for n in left if same_row(row, all_rows[n])]
        if not same_ones:
            same_ones = [n for n in range(len(all_rows)) if same_row(row, all_rows[n])]
        assert same_ones, f"{row} is no row of the data set"
        found.append(same_ones[0])
        if same_ones[0] in left:
            left.remove(same_ones[0])
    return found


def test_rows_columns_types(case: Case) -> None:
    got = case.rows()
    assert_rows(got, case.fake.rows)
    assert list(got[0]) == list(case.fake.types)
    for row in got:
        for name, kind in case.fake.types.items():
            value = row[name]
            assert value.dtype.kind == "U" if kind == "str" else value.dtype == np.dtype(kind), (name, value)
        for name, shape in case.fake.shapes.items():
            assert row[name].shape == shape, name


def test_getters(case: Case) -> None:
    data = case.open()
    assert data.get_dataset_size() == len(case.fake.rows)
    assert data.get_col_names() == list(case.fake.types)
    for kind, wanted in zip(data.output_types(), case.fake.types.values(), strict=True):
        assert np.dtype(kind).kind == "U" if wanted == "str" else np.dtype(kind) == np.dtype(wanted)
    if case.fake.classes is not None:
        assert data.get_class_indexing() == case.fake.classes


@pytest.mark.parametrize("wanted", [1, 2, 10_000])
def test_num_samples(case: Case, wanted: int) -> None:
    data = case.open(num_samples=wanted)
    assert data.get_dataset_size() == min(wanted, len(case.fake.rows))
    assert_rows(as_rows(data), case.fake.rows[:wanted])


def test_shuffle_is_a_permutation(case: Case) -> None:
    ds.config.set_seed(7)
    iterator = case.open(shuffle=True).create_dict_iterator(num_epochs=5, output_numpy=True)
    orders = [tuple(places(list(iterator), case.fake.rows)) for _ in range(5)]
    assert all(sorted(order) == sorted(orders[0]) and len(order) == len(case.fake.rows) for order in orders)
    if len(set(orders[0])) > 3:
        assert len(set(orders)) > 1, "every epoch has the same order"


def test_shards_cover(case: Case) -> None:
    if "num_shards" not in case.takes or case.fake.shards == "none":
        pytest.skip("has no shards")
    total = len(case.fake.rows)
    seen: list[dict[str, Any]] = []
    sizes = set()
    for shard in range(2):
        data = case.open(num_shards=2, shard_id=shard)
        part = as_rows(data)
        assert data.get_dataset_size() == len(part)
        sizes.add(len(part))
        seen += part
    assert sorted(set(places(seen, case.fake.rows))) == sorted(set(places(case.fake.rows, case.fake.rows)))
    if case.fake.shards == "rows":
        assert sizes == {-(-total // 2)}, "shards must be of equal length"


def test_sampler(case: Case) -> None:
    if "sampler" in case.takes:
        arguments = case.arguments | {"sampler": ds.SubsetSampler([1, 0])}
        assert_rows(as_rows(case.kind(**arguments)), [case.fake.rows[1], case.fake.rows[0]])
    data = case.open()
    data.use_sampler(ds.SubsetSampler([1, 0, 1]))
    assert_rows(as_rows(data), [case.fake.rows[n] for n in (1, 0, 1)])


def test_resume_at_every_step(case: Case) -> None:
    ds.config.set_seed(3)
    settings.update(num_parallel_workers=2)
    data = case.open(shuffle=True)
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    states, wanted = [iterator.state()], []
    for row in iterator:
        wanted.append(row)
        states.append(iterator.state())
    ds.config.set_seed(1)
    for step, state in enumerate(states[:-1]):
        saved = json.loads(json.dumps(state))
        resumed = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=saved)
        got = list(resumed)
        resumed.stop()
        assert_rows(got, wanted[step:])


@pytest.mark.parametrize(
    "changes",
    [
        {"executor": "inline", "chunk_rows": 1},
        {"executor": "threads", "num_parallel_workers": 4, "chunk_rows": 2},
    ],
    ids=["inline", "threads"],
)
def test_same_rows_by_any_executor(case: Case, changes: dict[str, Any], no_leaks: None) -> None:
    ds.config.set_seed(3)
    wanted = case.rows(shuffle=True)
    settings.update(**changes)
    assert_rows(case.rows(shuffle=True), wanted)
    assert_rows(case.rows(), case.fake.rows)


def test_source_travels(case: Case) -> None:
    """A worker process opens its own copy: the description must pickle, with no handle inside."""
    source = case.open()._source
    reader = source.open()
    reader.read(np.arange(1, dtype=np.int64))
    sent = pickle.loads(pickle.dumps(source))
    copy = sent.open()
    columns = copy.read(np.array([1, 0], np.int64))
    for n, row in enumerate((1, 0)):
        assert same_row({name: column[n] for name, column in columns.items()}, case.fake.rows[row])
    copy.close()
    reader.close()


def test_values_belong_to_the_caller(case: Case) -> None:
    source = case.open()._source
    reader = source.open()
    rows = np.arange(2, dtype=np.int64)
    for column in reader.read(rows).values():
        for value in column:
            if isinstance(value, np.ndarray) and value.dtype.kind not in "US" and value.flags.writeable:
                value[...] = 0
    again = reader.read(rows)
    for n in range(2):
        assert same_row({name: column[n] for name, column in again.items()}, case.fake.rows[n])
    reader.close()


def test_missing_data(case: Case) -> None:
    """A data set that is not there is refused by name, when it is opened or at the latest when it is read."""
    shutil.rmtree(case.folder)
    with pytest.raises(MillraceError) as caught:
        case.rows()
    assert str(case.folder) in str(caught.value)


def test_every_class_and_damage_is_declared() -> None:
    """A file source without a fake data set, or one that says nothing about damage, is a hole in this suite."""
    there = {name.partition(":")[0] for name in FAKES}
    assert {name for name in ds.__all__ if name.endswith("Dataset")} - NO_FILES <= there
    assert [name for name, fake in FAKES.items() if not fake.damage] == []


@pytest.mark.parametrize(("name", "damage"), DAMAGES, ids=[f"{name}, {damage}" for name, damage in DAMAGES])
def test_damaged_file(name: str, damage: Damage, tmp_path: Path) -> None:
    """One bad file is an error that names it and says what is wrong."""
    case = Case(name, FAKES[name], tmp_path)
    wanted = damage.break_it(tmp_path)
    with pytest.raises(MillraceError) as caught:
        case.rows()
    assert [part for part in wanted if part not in str(caught.value)] == [], str(caught.value)


@pytest.mark.parametrize("name", [name for name in FAKES if ":" not in name])
def test_any_damage_ends_well(name: str, tmp_path: Path, no_leaks: None) -> None:
    """Whatever happens to whichever file: rows, or an error that names something of the data set; nothing else."""
    case = Case(name, FAKES[name], tmp_path)
    files = [path.relative_to(tmp_path) for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    for file, act in product(files[:6], BLUNT):
        whole = (tmp_path / file).read_bytes()
        act(tmp_path / file)
        try:
            case.rows()
        except MillraceError as error:
            assert str(tmp_path) in str(error), f"{file}: {error}"  # noqa: PT017  (rows are fine, too)
        (tmp_path / file).write_bytes(whole)


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"num_samples": -1}, ValueError),
        ({"num_samples": "3"}, TypeError),
        ({"num_parallel_workers": 0}, ValueError),
        ({"shuffle": 3}, TypeError),
        ({"num_shards": 2}, (ValueError, RuntimeError)),
        ({"shard_id": 0}, (ValueError, RuntimeError)),
        ({"num_shards": 2, "shard_id": 2}, ValueError),
        ({"cache": object()}, TypeError),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, dict) else "",
)
def test_wrong_arguments(case: Case, wrong: dict[str, Any], kind: Any) -> None:
    if not set(wrong) <= set(case.takes):
        pytest.skip("has no such argument")
    with pytest.raises(kind) as caught:
        case.open(**wrong)
    assert isinstance(caught.value, MillraceError)
    assert any(name in str(caught.value) for name in wrong)


def test_what_is_no_cache_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"cache with value a cache is not of type .*DatasetCache") as caught:
        ds.ImageFolderDataset(str(tmp_path), cache="a cache")
    assert isinstance(caught.value, MillraceError)


def test_docstring_has_an_example(case: Case) -> None:
    assert ">>>" in (case.kind.__doc__ or "")
