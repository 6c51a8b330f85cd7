"""MindDataset: the rows, types and errors of MindSpore's; order as a function of seed and epoch; resume."""

from __future__ import annotations

import json
import pickle
from collections import Counter

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, MillraceError, PlanError
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.sources.base import record_sampler as record_order
from millrace._src.data.sources.base.record_sampler import RecordSampler
from millrace._src.data.sources.mindrecord import MindDataset
from millrace.mindrecord import FileWriter, set_enc_key
from tests.contracts.pipelines.test_same_rows import assert_same as assert_same_rows
from tests.unit.data.formats.mindrecord.helpers import NAMES, copied, expected
from tests.unit.data.sources.mindrecord_rows import SCHEMA, row, values, write_two


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return write_two(tmp_path_factory.mktemp("records"))


# --- rows -------------------------------------------------------------------------------------------------------


def test_types_and_shapes_are_those_of_mindspore(two):
    data = MindDataset(two, shuffle=False)
    assert data.get_col_names() == ["b", "f", "label", "m", "s", "v"]
    assert data.get_dataset_size() == 20
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    for k, stored in enumerate(rows):
        wanted = row(k)
        assert (stored["b"].dtype, stored["b"].shape) == (np.dtype(f"S{len(wanted['b'])}"), (1,))
        assert stored["b"].tobytes() == wanted["b"]  # the NUL at the end too
        assert (stored["f"].dtype, stored["f"].shape, stored["f"].item()) == (np.float64, (), wanted["f"])
        assert (stored["label"].dtype, stored["label"].item()) == (np.int32, wanted["label"])
        assert (stored["s"].dtype.kind, stored["s"].shape, stored["s"].item()) == ("U", (), wanted["s"])
        assert stored["m"].dtype == np.int64
        assert stored["v"].dtype == np.float32
        np.testing.assert_array_equal(stored["m"], wanted["m"])
        np.testing.assert_array_equal(stored["v"], wanted["v"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:.*rebuilt from the data file")
def test_every_fixture_reads_to_its_expected_values(name, tmp_path):
    schema, rows, document = expected(name)
    first = copied(name, tmp_path)
    set_enc_key(document.get("enc_key"))
    try:
        data = MindDataset(str(first), shuffle=False)
        values = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    finally:
        set_enc_key(None)
    assert len(values) == len(rows)
    if name in ("shards4.mindrecord", "pad.mindrecord"):  # MindSpore deals rows to shards at random
        values.sort(key=lambda one: one["id"].item())
    for one, wanted in zip(values, rows):
        assert list(one) == sorted(schema)
        for key, value in wanted.items():
            if isinstance(value, bytes):
                assert one[key].tobytes() == (value or b"\0")
            elif isinstance(value, np.ndarray):
                assert one[key].dtype == value.dtype
                np.testing.assert_array_equal(one[key], value)
            elif isinstance(value, str):
                assert one[key].item() == value.rstrip("\0")
            else:
                dtype = np.dtype(schema[key]["type"])
                np.testing.assert_array_equal(one[key], np.array(value).astype(dtype))


def test_columns_in_the_order_asked_for(two):
    data = MindDataset(two, columns_list=["v", "label"], shuffle=False)
    assert data.get_col_names() == ["v", "label"]
    assert list(next(iter(data.create_dict_iterator(num_epochs=1)))) == ["v", "label"]
    assert MindDataset(two, columns_list=[]).get_col_names() == sorted(SCHEMA)


def test_a_name_is_the_set_a_list_exactly_the_files(two):
    second = two[:-1] + "1"
    assert values(MindDataset(two, shuffle=False)) == values(MindDataset(second, shuffle=False))
    assert values(MindDataset([second, two], shuffle=False)) == [*range(10, 20), *range(10)]
    assert values(MindDataset([second], shuffle=False)) == list(range(10, 20))
    assert values(MindDataset(two[:-1] + "*", shuffle=False)) == list(range(20))


def test_getitem(two):
    data = MindDataset(two, columns_list=["f", "b"], shuffle=False)
    value, data_bytes = data[13]
    assert (value.item(), value.shape) == (13.0, ())
    assert data_bytes.tobytes() == row(13)["b"]
    with pytest.raises(ArgumentValueError, match="index cannot be negative, but got -3"):
        data[-3]
    with pytest.raises(PlanError, match=r"Input index is not within the required interval of \[0, 19\]"):
        data[20]


def test_batches_maps_and_projections(two):
    data = MindDataset(two, shuffle=False).map(lambda m: m * 2, "m").project(["m", "label"]).batch(8)
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [r["m"].shape for r in rows] == [(8, 2, 2), (8, 2, 2), (4, 2, 2)]
    assert rows[1]["m"][0, 0, 0] == 16


# --- order ------------------------------------------------------------------------------------------------------


def test_shuffled_by_default_anew_in_each_epoch_and_the_same_with_the_same_seed(two):
    ds.config.set_seed(5)
    one, second = values(MindDataset(two), epochs=2)
    assert sorted(one) == sorted(second) == list(range(20))
    assert one != second
    assert one != list(range(20))
    assert values(MindDataset(two), epochs=2) == [one, second]
    assert MindDataset(two).is_shuffled()
    assert not MindDataset(two, shuffle=False).is_shuffled()


def test_files_in_random_order_rows_in_theirs(two):
    seen = set()
    for seed in range(12):
        ds.config.set_seed(seed)
        numbers = values(MindDataset(two, shuffle=Shuffle.FILES))
        assert numbers in ([*range(20)], [*range(10, 20), *range(10)])
        seen.add(numbers[0])
    assert seen == {0, 10}


def test_rows_in_random_order_inside_each_file(two):
    numbers = values(MindDataset(two, shuffle=Shuffle.INFILE))
    assert sorted(numbers[:10]) == list(range(10))
    assert sorted(numbers[10:]) == list(range(10, 20))
    assert numbers != list(range(20))


@pytest.mark.parametrize("mode", [Shuffle.GLOBAL, Shuffle.ADAPTIVE, Shuffle.PARTIAL])
def test_global_modes_mix_the_files(two, mode):
    ds.config.set_seed(1)
    numbers = values(MindDataset(two, shuffle=mode))
    assert sorted(numbers) == list(range(20))
    assert 0 < sum(value < 10 for value in numbers[:10]) < 10


def test_num_samples(two):
    assert values(MindDataset(two, num_samples=3, shuffle=False)) == [0, 1, 2]
    assert len(MindDataset(two, num_samples=0)) == 20
    numbers = values(MindDataset(two, num_samples=4), epochs=2)
    assert [len(set(epoch)) for epoch in numbers] == [4, 4]
    assert numbers[0] != numbers[1]


@pytest.mark.parametrize("mode", [None, False, *Shuffle])
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_shards_cover_all_rows_and_have_one_length(two, mode, shards):
    ds.config.set_seed(3)
    parts = [values(MindDataset(two, shuffle=mode, num_shards=shards, shard_id=k)) for k in range(shards)]
    assert {len(part) for part in parts} == {-(-20 // shards)}
    counts = Counter(value for part in parts for value in part)
    assert set(counts) == set(range(20))
    assert sum(counts.values()) - 20 == -(-20 // shards) * shards - 20


def test_shards_in_order_take_turns(two):
    parts = [values(MindDataset(two, shuffle=False, num_shards=3, shard_id=k)) for k in range(3)]
    assert parts == [[0, 3, 6, 9, 12, 15, 18], [1, 4, 7, 10, 13, 16, 19], [2, 5, 8, 11, 14, 17, 0]]


def test_samplers(two):
    assert values(MindDataset(two, sampler=ds.SequentialSampler(2, 3))) == [2, 3, 4]
    assert values(MindDataset(two, sampler=ds.SubsetSampler([7, 1]))) == [7, 1]
    assert sorted(values(MindDataset(two, sampler=ds.SubsetRandomSampler([7, 1, 3])))) == [1, 3, 7]
    assert sorted(values(MindDataset(two, sampler=ds.RandomSampler()))) == list(range(20))
    assert values(MindDataset(two, sampler=ds.DistributedSampler(4, 1, shuffle=False))) == [1, 5, 9, 13, 17]
    numbers = values(MindDataset(two, sampler=ds.RandomSampler(shuffle=Shuffle.INFILE)))
    assert sorted(numbers[:10]) == list(range(10))
    half = values(MindDataset(two, sampler=ds.DistributedSampler(2, 0, shuffle=Shuffle.FILES)))
    assert half in ([0, 2, 4, 6, 8, 10, 12, 14, 16, 18], [10, 12, 14, 16, 18, 0, 2, 4, 6, 8])


def test_pk_sampler_draws_by_an_index_field(two):
    ds.config.set_seed(3)
    data = MindDataset(two, sampler=ds.PKSampler(4))
    sampled = [(r["label"].item(), r["f"].item()) for r in data.create_dict_iterator(1, output_numpy=True)]
    assert [label for label, _ in sampled] == [0] * 4 + [1] * 4 + [2] * 4
    assert all(value % 3 == label for label, value in sampled)
    assert len({value for _, value in sampled}) > 6  # MindSpore draws row 0 every time
    by_text = MindDataset(two, sampler=ds.PKSampler(1, class_column="s"))
    assert len(by_text) == 5
    with pytest.raises(PlanError, match="'class_column': v can not found in fields of mindrecord files"):
        len(MindDataset(two, sampler=ds.PKSampler(1, class_column="v")))


def test_large_sets_move_in_blocks(monkeypatch):
    monkeypatch.setattr(record_order, "WINDOW_BYTES", 4096 * 10)
    monkeypatch.setattr(record_order, "BLOCK_BYTES", 16 * 10)
    monkeypatch.setattr(record_order, "MIN_BLOCKS", 16)
    rows, window, block = 50_003, 4096, 16
    sampler = RecordSampler(Shuffle.GLOBAL, [rows], row_bytes=10)
    order = sampler.order(rows, key=9).at(0, rows)
    assert sorted(order.tolist()) == list(range(rows))
    for start in range(0, rows - window, window):
        # a window reads whole blocks, from all over the set, and mixes them
        touched = np.unique(order[start : start + window] // block)
        assert len(touched) <= window // block + 2
        assert touched.max() - touched.min() > rows // block // 2
        assert np.mean(np.abs(np.diff(order[start : start + window])) == 1) < 0.02
    first, second = (
        [RecordSampler(Shuffle.GLOBAL, [rows], 10, None, 3, k).order(rows, key=9) for k in range(3)]
        for _ in range(2)
    )
    parts = [part.at(0, part.size) for part in first]
    assert set(np.concatenate(parts).tolist()) == set(range(rows))
    blocks = [set((part // block).tolist()) for part in parts]
    assert len(blocks[0] & blocks[1]) <= 2  # no two shards read the same bytes
    for part, second_part in zip(parts, second):
        np.testing.assert_array_equal(part[100:900], second_part.at(100, 900))  # from anywhere


# --- padded samples ---------------------------------------------------------------------------------------------


def test_padded_samples_come_last(two):
    sample = {"label": 9, "v": np.zeros(2, np.float32), "b": b"zz", "s": "pad", "f": -1.0}
    columns = ["label", "v", "b", "s", "f"]
    data = MindDataset(two, columns, shuffle=False, padded_sample=sample, num_padded=4)
    assert len(data) == 24
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [r["f"].item() for r in rows] == [*range(20), -1, -1, -1, -1]
    last = rows[-1]
    assert last["label"].dtype == np.int32
    assert (last["label"].item(), last["s"].item(), last["b"].tobytes()) == (9, "pad", b"zz")
    assert last["v"].tolist() == [0, 0]
    shards = [
        MindDataset(two, columns, num_shards=3, shard_id=k, padded_sample=sample, num_padded=4)
        for k in range(3)
    ]
    shard_values = [values(shard) for shard in shards]
    assert sorted(value for part in shard_values for value in part) == [-1] * 4 + list(range(20))
    assert {len(part) for part in shard_values} == {8}


def test_padded_samples_must_fit(two):
    sample = {"label": 9}
    with pytest.raises(PlanError, match="the size of dataset and padded samples: 23 can not be divisible"):
        MindDataset(two, ["label"], num_shards=2, shard_id=0, padded_sample=sample, num_padded=3)
    with pytest.raises(ArgumentTypeError, match="padded_sample: field 'label': expected an int"):
        MindDataset(two, ["label"], padded_sample={"label": "x"}, num_padded=1)


# --- arguments --------------------------------------------------------------------------------------------------

SAMPLE = {"label": 1}
BAD = [
    ({"columns_list": ["nope"]}, RuntimeError, "column name: nope can not found in schema"),
    ({"columns_list": [1]}, RuntimeError, "column name: 1 can not found in schema"),
    ({"columns_list": "label"}, TypeError, "Argument columns_list with value label is not of type"),
    ({"columns_list": ["f", "f"]}, RuntimeError, "duplicate column names are not allowed: f"),
    ({"num_shards": 2}, RuntimeError, "num_shards is specified and currently requires shard_id as well."),
    ({"shard_id": 2}, RuntimeError, "shard_id is specified but num_shards is not."),
    (
        {"num_shards": 2, "shard_id": 2},
        ValueError,
        r"shard_id is not within the required interval of \[0, 1\]",
    ),
    ({"num_padded": 2}, RuntimeError, "num_padded is specified but padded_sample is not."),
    ({"padded_sample": SAMPLE}, RuntimeError, "padded_sample is specified and requires num_padded as well."),
    ({"padded_sample": SAMPLE, "num_padded": 1}, RuntimeError, "requires columns_list as well."),
    (
        {"padded_sample": SAMPLE, "num_padded": 1, "columns_list": ["v"]},
        ValueError,
        "padded_sample cannot match columns_list.",
    ),
    (
        {"padded_sample": SAMPLE, "num_padded": -1, "columns_list": ["label"]},
        ValueError,
        "num_padded is invalid, num_padded=-1.",
    ),
    ({"shuffle": 3}, TypeError, "shuffle must be of boolean or enum of 'Shuffle' values like"),
    ({"shuffle": "global"}, TypeError, "shuffle must be of boolean or enum of 'Shuffle' values like"),
    ({"sampler": ds.SequentialSampler(), "shuffle": True}, RuntimeError, "sampler and shuffle cannot be"),
    (
        {"sampler": ds.SequentialSampler(), "num_shards": 2, "shard_id": 0},
        RuntimeError,
        "sampler and sharding cannot be specified at the same time.",
    ),
    (
        {"sampler": ds.SequentialSampler(), "num_samples": 2},
        RuntimeError,
        "sampler and num_samples cannot be",
    ),
    ({"sampler": ds.WeightedRandomSampler([1.0])}, ValueError, "The sampler is not supported yet."),
    ({"sampler": [1, 2]}, ValueError, "The sampler is not supported yet."),
    (
        {"num_samples": 2, "shuffle": Shuffle.FILES},
        ValueError,
        "'Shuffle.FILES' or 'Shuffle.INFILE' and 'num_samples' cannot be specified at the same time.",
    ),
    ({"num_samples": -1}, ValueError, "num_samples exceeds the boundary between 0 and"),
    ({"num_parallel_workers": 0}, ValueError, "num_parallel_workers must be at least 1"),
]


@pytest.mark.parametrize(("arguments", "error", "text"), BAD, ids=lambda value: str(value)[:40])
def test_bad_arguments_in_mindspores_words(two, arguments, error, text):
    with pytest.raises(error, match=text) as caught:
        MindDataset(two, **arguments)
    assert isinstance(caught.value, MillraceError)


@pytest.mark.parametrize(
    ("files", "error", "text"),
    [
        ("nope", ValueError, "The file .*/nope does not exist or permission denied!"),
        (3, TypeError, "path: 3 is not string"),
        (("x",), TypeError, "is not string"),
        ([], RuntimeError, "dataset files list is empty, check input dataset_files."),
        (["nope"], ValueError, "does not exist or permission denied!"),
        ("no*pe", ValueError, "does not exist or permission denied!"),
        ("memory://no/such", ValueError, "does not exist or permission denied!"),
    ],
)
def test_bad_files(files, error, text):
    with pytest.raises(error, match=text):
        MindDataset(files)


# --- the same rows everywhere -----------------------------------------------------------------------------------

PIPELINES = {
    "shuffled": lambda path: MindDataset(path, ["f", "label", "m"]).batch(3),
    "rows": lambda path: MindDataset(path),
    "shard": lambda path: MindDataset(path, ["f", "m"], num_shards=3, shard_id=1).batch(2),
    "infile": lambda path: MindDataset(path, ["f", "s"], shuffle=Shuffle.INFILE).batch(4),
    "pk": lambda path: MindDataset(path, ["f", "label"], sampler=ds.PKSampler(3)).batch(2),
    "padded": lambda path: MindDataset(
        path, ["f", "v"], padded_sample={"f": -1.0, "v": np.ones(1, np.float32)}, num_padded=3
    ),
}


def run(name, path, **changes):
    ds.config.set_seed(77)
    settings.update(**changes)
    iterator = PIPELINES[name](path).create_dict_iterator(num_epochs=2, output_numpy=True)
    return [list(iterator) for _ in range(2)]


@pytest.mark.parametrize("name", PIPELINES)
def test_same_rows_for_every_executor_and_chunk_size(two, name, no_leaks):
    wanted = run(name, two, executor="inline", chunk_rows=1)
    for changes in (
        {"executor": "inline", "chunk_rows": 7},
        {"executor": "threads", "num_parallel_workers": 1, "chunk_rows": None},
        {"executor": "threads", "num_parallel_workers": 4, "chunk_rows": 3},
    ):
        assert_same_rows(run(name, two, **changes), wanted)


@pytest.mark.parametrize("name", ["rows", "padded"])
def test_same_rows_in_processes(two, name):
    wanted = run(name, two, executor="inline", chunk_rows=None)
    got = run(name, two, executor="processes", num_parallel_workers=2, chunk_rows=5)
    assert_same_rows(got, wanted)


@pytest.mark.parametrize("name", PIPELINES)
def test_resume_is_exact_at_every_step(two, name):
    wanted = run(name, two, executor="threads", num_parallel_workers=2, chunk_rows=None)
    ds.config.set_seed(77)
    data = PIPELINES[name](two)
    iterator = data.create_dict_iterator(num_epochs=2, output_numpy=True)
    states = []
    for epoch in range(2):
        for step, _ in enumerate(iterator):
            states.append((epoch, step + 1, json.dumps(iterator.state())))
    settings.update(executor="inline", chunk_rows=2)
    ds.config.set_seed(1)
    for epoch, step, state in states[::3]:
        resumed = data.create_dict_iterator(num_epochs=2, output_numpy=True, state=json.loads(state))
        got = [list(resumed) for _ in range(2 - epoch)]
        assert_same_rows(got, [wanted[epoch][step:], *wanted[epoch + 1 :]])


def test_the_source_travels_and_opens_the_files_again(two):
    source = MindDataset(two)._source
    unpickled = pickle.loads(pickle.dumps(source))
    reader = unpickled.open()
    assert reader.read(np.array([3]))["f"].tolist() == [3.0]
    reader.close()
    assert len(pickle.dumps(source)) < 4000


def test_nothing_is_left_open(two, no_leaks):
    iterator = MindDataset(two).create_dict_iterator(num_epochs=3, output_numpy=True)
    next(iterator)
    iterator.stop()
    list(MindDataset(two).batch(4).project(["f"]))


# --- elsewhere --------------------------------------------------------------------------------------------------


def test_remote_files(two):
    writer = FileWriter("memory://bucket/r.mindrecord", 2, overwrite=True)
    writer.add_schema(SCHEMA)
    writer.write_raw_data([row(k) for k in range(20)])
    writer.commit()
    ds.config.set_seed(2)
    for options in ({}, {"shuffle": False}, {"num_shards": 3, "shard_id": 1}):
        here = list(MindDataset(two, **options).create_dict_iterator(1, output_numpy=True))
        there = MindDataset("memory://bucket/r.mindrecord0", **options)
        assert_same_rows([list(there.create_dict_iterator(1, output_numpy=True))], [here])
    assert len(MindDataset("memory://bucket/r.mindrecord*")) == 20


def test_explain_and_json_show_the_files(two):
    data = MindDataset(two, ["f"], shuffle=False)
    assert "MindDataset" in data.explain()
    assert data.to_json()["dataset_files"] == two


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": False, "num_samples": 7},
        {"shuffle": Shuffle.INFILE, "num_shards": 3, "shard_id": 1},
        {"sampler": ds.SubsetSampler([4, 2])},
    ],
    ids=str,
)
def test_from_json_and_back(two, options):
    ds.config.set_seed(8)
    data = MindDataset(two, ["f"], **options).batch(2)
    rebuilt = ds.deserialize(json.loads(json.dumps(ds.serialize(data))))
    assert_same_rows(*([list(d.create_dict_iterator(1, output_numpy=True))] for d in (rebuilt, data)))


def test_an_unknown_column_and_a_bad_name_are_told_with_the_file(tmp_path):
    path = str(tmp_path / "x.mindrecord")
    ds.NumpySlicesDataset({"a": [1]}).save(path)
    with pytest.raises(RuntimeError, match=r"column name: zz .* of .*x\.mindrecord"):
        MindDataset(path, ["zz"])
    with pytest.raises(ValueError, match=r"'a\|b' has the character '\|' in it"):
        MindDataset("a|b")
