"""use_sampler on a concatenation, split and starts beyond the end; the rows are those that MindSpore 2.7.0 gives."""

import warnings

import numpy as np
import pytest

import millrace.dataset as ds
from millrace.mindrecord import FileWriter


def rows(data, epochs=1):
    iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    return [row[0].item() for _ in range(epochs) for row in iterator]


def arrays(shuffle):
    return [
        ds.NumpySlicesDataset(numbers, "x", shuffle=shuffle)
        for numbers in (np.arange(10), np.arange(100, 107))
    ]


@pytest.fixture
def files(tmp_path):
    for name, first, count in (("a", 0, 10), ("b", 100, 7)):
        writer = FileWriter(str(tmp_path / name))
        writer.add_schema({"x": {"type": "int32"}})
        writer.write_raw_data([{"x": first + i} for i in range(count)])
        writer.commit()
    return [str(tmp_path / name) for name in "ab"]


def sharded(parts, shards, shard):
    both = parts[0] + parts[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what it says has a test of its own
        both.use_sampler(ds.DistributedSampler(shards, shard, shuffle=False))
    return both


@pytest.mark.parametrize("shuffle", [None, True, False])
def test_the_sources_shuffle_is_dropped(shuffle, no_leaks):
    found = [rows(sharded(arrays(shuffle), 3, shard), 2) for shard in range(3)]
    assert found == [
        [0, 3, 6, 9, 102, 105] * 2,
        [1, 4, 7, 100, 103, 106] * 2,
        [2, 5, 8, 101, 104] * 2,
    ]


@pytest.mark.parametrize("shuffle", [None, True, False])
def test_record_files_are_cut_into_runs(files, shuffle, no_leaks):
    def parts():
        return [ds.MindDataset(name, shuffle=shuffle) for name in files]

    assert [rows(sharded(parts(), 2, shard)) for shard in range(2)] == [
        [0, 1, 2, 3, 4, 100, 101, 102, 103],
        [5, 6, 7, 8, 9, 104, 105, 106],
    ]
    assert [rows(sharded(parts(), 3, shard)) for shard in range(3)] == [
        [0, 1, 2, 3, 100, 101],
        [4, 5, 6, 102, 103, 104],
        [7, 8, 9, 105, 106],
    ]


def test_a_dropped_shuffle_is_said(monkeypatch):
    monkeypatch.setattr("millrace._src.core.log._warned_keys", set())
    both = arrays(True)[0] + arrays(True)[1]
    with pytest.warns(
        UserWarning, match=r"NumpySlicesDataset now come in their order.*\.shuffle\(buffer_size\)"
    ):
        both.use_sampler(ds.DistributedSampler(2, 0, shuffle=False))


def test_parts_that_are_no_sources_are_dealt_as_they_come(no_leaks):
    def parts():
        one, two = arrays(False)
        return [one.map(lambda x: x + 1000), two]

    found = [rows(sharded(parts(), 2, shard)) for shard in range(2)]
    assert found == [
        [1000, 1002, 1004, 1006, 1008, 100, 102, 104, 106],
        [1001, 1003, 1005, 1007, 1009, 101, 103, 105],
    ]


def test_lines_keep_their_own_shuffle(tmp_path, no_leaks):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(f"{i:02}" for i in range(40)))
    both = ds.TextFileDataset(str(path), shuffle=True) + ds.TextFileDataset(str(path), shuffle=False)
    both.use_sampler(ds.DistributedSampler(2, 0, shuffle=False))
    got = rows(both)
    assert got[:20] != sorted(got[:20])
    assert got[20:] == [f"{i:02}" for i in range(0, 40, 2)]


def test_one_shard_is_no_shard(no_leaks):
    both = sharded(arrays(False), 1, 0)
    assert not both.is_sharded()
    assert [rows(part) for part in both.split([4, 13], randomize=False)] == [[0, 1, 2, 3], rows(both)[4:]]
    stream = ds.GeneratorDataset(lambda: iter(range(6)), "x", num_shards=1, shard_id=0)
    assert [rows(part) for part in stream.split([4, 2], randomize=False)] == [[0, 1, 2, 3], [4, 5]]
    with pytest.raises(RuntimeError, match="should not be sharded before split"):
        sharded(arrays(False), 2, 0).split([5, 4])


@pytest.mark.parametrize("start", [10, 12])
def test_a_sequential_start_beyond_the_end_of_record_files(files, start, no_leaks):
    data = ds.MindDataset(files[0], sampler=ds.SequentialSampler(start, 3))
    assert data.get_dataset_size() == 0
    assert rows(data) == []
    assert rows(ds.MindDataset(files[0], sampler=ds.SequentialSampler(8, 5))) == [8, 9]
    with pytest.raises(RuntimeError, match="start_index must be less than num_rows"):
        rows(ds.NumpySlicesDataset([1, 2], sampler=ds.SequentialSampler(start)))
