"""What a report, a page and a saved pipeline say of a cache."""

import json

import numpy as np

import millrace.dataset as ds


def _slow(x):
    return np.sort(np.repeat(x, 200_000))[:3]


def _rows(**cache):
    return ds.NumpySlicesDataset(np.arange(24), shuffle=False).map(_slow).cache(**cache).batch(4)


def test_a_report_counts_what_was_made_and_what_was_fetched():
    data = _rows()
    list(data.create_tuple_iterator(num_epochs=1))
    first = data.report()
    (made,) = [stage["cache"] for stage in first.stages if stage["cache"]]
    assert (made["hits"], made["made"], made["stored"]) == (0, 24, 24)
    list(data.create_tuple_iterator(num_epochs=1))
    second = data.report()
    (fetched,) = [stage["cache"] for stage in second.stages if stage["cache"]]
    assert (fetched["hits"], fetched["made"]) == (24, 0)
    assert fetched["saved"] > 0
    assert "cache: 24 rows fetched" in str(second)
    assert "24 rows fetched" in second.to_html()
    json.dumps(second.to_dict())


def test_batches_behind_a_batch_are_counted_as_batches():
    data = ds.NumpySlicesDataset(np.arange(24), shuffle=False).map(_slow).batch(4).cache()
    for _ in range(2):
        list(data.create_tuple_iterator(num_epochs=1))
    assert "cache: 6 batches fetched" in str(data.report())


def test_a_report_says_why_rows_are_not_kept():
    data = ds.NumpySlicesDataset(np.arange(8), shuffle=False).map(lambda x: {"a": x}).cache()
    list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert "holds Python objects" in " ".join(str(data.report()).split())


def test_a_saved_pipeline_keeps_its_caches(tmp_path):
    data = ds.RandomDataset(6, cache=ds.DatasetCache(7, size=16)).batch(2).cache(path=str(tmp_path))
    saved = ds.serialize(data)
    assert saved["op_type"] == "Cache"
    assert saved["cache"]["path"] == str(tmp_path)
    assert saved["children"][0]["children"][0]["cache"]["session_id"] == 7
    again = ds.deserialize(json.loads(json.dumps(saved)))
    assert ds.serialize(again)["cache"] == saved["cache"]
