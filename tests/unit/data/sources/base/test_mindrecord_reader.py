"""MindDataset: shards as runs of neighbouring rows, where the environment asks for them."""

from __future__ import annotations

import millrace.dataset as ds
from millrace._src.data.sources.mindrecord import MindDataset
from millrace.mindrecord import FileWriter

# What MindSpore 2.7.0 gives for ten rows in three files (4, 3, 3) with MS_DEV_MINDRECORD_SHARD_BY_BLOCK=True.
BY_BLOCK = {
    2: [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]],
    3: [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]],
    4: [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 0, 1]],
}


def test_shards_by_block(tmp_path, monkeypatch):
    files, at = [], 0
    for number, size in enumerate((4, 3, 3)):
        files.append(str(tmp_path / f"{number}.mindrecord"))
        writer = FileWriter(files[-1])
        writer.add_schema({"n": {"type": "int32"}})
        writer.write_raw_data([{"n": at + k} for k in range(size)])
        writer.commit()
        at += size

    def shards(count, **options):
        datasets = [MindDataset(files, ["n"], num_shards=count, shard_id=k, **options) for k in range(count)]
        return [
            [row["n"].item() for row in data.create_dict_iterator(1, output_numpy=True)] for data in datasets
        ]

    for value in ("True", "true"):
        monkeypatch.setenv("MS_DEV_MINDRECORD_SHARD_BY_BLOCK", value)
        assert {count: shards(count, shuffle=False) for count in BY_BLOCK} == BY_BLOCK
    assert shards(3, shuffle=False, num_samples=2) == [[0, 1], [4, 5], [8, 9]]
    padded = shards(4, shuffle=False, padded_sample={"n": -1}, num_padded=2)
    assert padded == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, -1, -1]]
    sampled = [MindDataset(files, sampler=ds.DistributedSampler(3, k, shuffle=False)) for k in range(3)]
    assert [[row[0].item() for row in data] for data in sampled] == BY_BLOCK[3]
    assert sorted({n for shard in shards(3) for n in shard}) == list(range(10))
    monkeypatch.setenv("MS_DEV_MINDRECORD_SHARD_BY_BLOCK", "1")
    assert shards(2, shuffle=False) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


# What MindSpore 2.7.0 gives for DistributedSampler(4, k, shuffle=False, offset=1) over so many rows of one file.
WITH_OFFSET = {
    1: [[], [0], [], []],
    3: [[], [0], [1], [2]],
    9: [[0, 1], [2, 3, 4], [5, 6], [7, 8]],
}


def test_shards_with_an_offset_are_runs_of_neighbours(tmp_path):
    for rows, wanted in WITH_OFFSET.items():
        file = str(tmp_path / f"{rows}.mindrecord")
        writer = FileWriter(file)
        writer.add_schema({"n": {"type": "int32"}})
        writer.write_raw_data([{"n": k} for k in range(rows)])
        writer.commit()
        datasets = [
            MindDataset(file, sampler=ds.DistributedSampler(4, k, shuffle=False, offset=1)) for k in range(4)
        ]
        got = [
            [row["n"].item() for row in data.create_dict_iterator(1, output_numpy=True)] for data in datasets
        ]
        assert got == wanted
        assert [data.get_dataset_size() for data in datasets] == [len(shard) for shard in wanted]
