"""The ledger of failed rows."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

from millrace._src.data.engine.failed_rows import FailedRow, FailedRowLog


def test_counts_are_exact_and_memory_is_bounded():
    ledger = FailedRowLog(capacity=10)
    for row in range(1000):
        ledger.record(f"map{row}", row=row, reason=ValueError("x" * 10_000), file=f"{row}.jpg")
    assert (len(ledger), len(ledger.entries())) == (1000, 10)
    summary = ledger.summary()
    assert (summary["skipped"], summary["not_kept"]) == (1000, 990)
    assert len(summary["by_op"]) == 257
    assert summary["by_op"]["(others)"] == 744
    assert max(len(entry.reason) for entry in ledger.entries()) <= 500


def test_threads_lose_nothing():
    ledger = FailedRowLog()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: ledger.record("map", row=i, reason="r", action="replace"), range(2000)))
    assert ledger.summary()["replaced"] == 2000
    assert sorted(entry.row for entry in ledger.entries()) == list(range(2000))


def test_json_and_pickle():
    ledger = FailedRowLog()
    ledger.extend([FailedRow("map", 3, "KeyError: 'a'", "f.bin", "image")])
    text = json.loads(json.dumps(ledger.to_dict()))
    assert text["entries"] == [
        {
            "op": "map",
            "row": 3,
            "reason": "KeyError: 'a'",
            "file": "f.bin",
            "column": "image",
            "action": "skip",
            "replacement": None,
        }
    ]
    assert pickle.loads(pickle.dumps(ledger.entries())) == ledger.entries()
    ledger.clear()
    assert (len(ledger), ledger.entries()) == (0, [])
