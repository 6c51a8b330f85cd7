"""Damaged states of iterators are refused with one class of error."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import CursorError
from tests.support.mutations import mutated_json


def pipelines() -> list[ds.Dataset]:
    numbers = ds.NumpySlicesDataset(np.arange(20), shuffle=False)
    return [
        numbers.batch(3),
        numbers.shuffle(4).batch(3),
        numbers.take(9).skip(2).repeat(2),
        ds.zip((numbers.rename("column_0", "a"), ds.RandomDataset(total_rows=20).project("c0"))),
    ]


def state_of(data: ds.Dataset) -> dict[str, Any]:
    iterator = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    next(iterator)
    return json.loads(json.dumps(iterator.state()))


@pytest.mark.parametrize("number", range(4))
def test_a_damaged_state_is_refused(number: int, no_leaks: None) -> None:
    saved = state_of(pipelines()[number])
    rng = random.Random(number)
    refused = 0
    for _ in range(60):
        damaged = mutated_json(saved, rng)
        if damaged is None:
            continue
        try:
            rows = pipelines()[number].create_tuple_iterator(num_epochs=2, output_numpy=True, state=damaged)
            for _, _row in zip(range(3), rows):
                pass
        except CursorError:
            refused += 1
    assert refused > 25


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epoch", "1"),
        ("step", -1),
        ("seed", None),
        ("plan", [1]),
        ("stages", []),
        ("stages", {"root": [0, 0]}),
    ],
)
def test_fields_of_other_types(field: str, value: Any) -> None:
    saved = state_of(pipelines()[0])
    with pytest.raises(CursorError, match="damaged"):
        pipelines()[0].create_tuple_iterator(num_epochs=2, state=saved | {field: value})
