"""A row has the same bits alone, in a chunk of any size, in a batch, in threads and in worker processes.

Every public transform is run, in all ways in which the engine runs one, and with inputs that start at odd addresses or
are views of other arrays. Sums must not depend on how many rows are computed together.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.audio as audio
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.random.rng import RandomStream
from tests.contracts.transforms.bit_examples import ALL, arguments, takes_pil, values
from tests.contracts.transforms.test_transforms import public

ROWS = 66  # a chunk of 64, and another
ALONE = 9  # rows that are also run one by one, outside a pipeline

Row = tuple[np.ndarray, ...]


def as_row(result: Any) -> Row:
    return tuple(np.asarray(part) for part in (result if type(result) is tuple else (result,)))


def same(one: Row, two: Row) -> bool:
    """Whether both have the same types, shapes and bits."""
    return len(one) == len(two) and all(
        (left.dtype.kind in "USO" or left.dtype == right.dtype)
        and left.shape == right.shape
        and (np.array_equal(left, right) if left.dtype.kind in "USO" else left.tobytes() == right.tobytes())
        for left, right in zip(one, two, strict=True)
    )


def test_every_public_transform_is_run():
    assert set(public()) <= set(ALL)


# --- pipelines: one holds a column for each of many transforms, so that a mode is a few runs ----------------

GROUP = 48


@functools.cache
def columns(name: str) -> tuple[list[Any], ...]:
    rows = [values(ALL[name].inputs, i) for i in range(ROWS)]
    return tuple(map(list, zip(*rows, strict=True)))


def is_dense(name: str) -> bool:
    """Whether rows are numbers of one shape and type: the engine may compute a whole column at once."""
    return all(
        len({(x.shape, x.dtype) for x in column}) == 1 and column[0].dtype.kind in "biufc"
        for column in columns(name)
    )


DENSE = tuple(name for name in ALL if is_dense(name))


def pipeline(names: tuple[str, ...], dense: bool) -> Any:
    """A data set with the results of these transforms, in columns "name/0", "name/1" ..."""
    given = {f"{name}/{k}": column for name in names for k, column in enumerate(columns(name))}
    if dense:
        data = ds.NumpySlicesDataset({key: np.stack(c) for key, c in given.items()}, shuffle=False)
    else:
        rows = list(zip(*given.values(), strict=True))
        data = ds.GeneratorDataset(rows, list(given), shuffle=False)
    for name in names:
        operation = ALL[name].make()
        operations = [vision.ToPIL(), operation] if takes_pil(ALL[name].inputs) else [operation]
        inputs = [key for key in given if key.startswith(f"{name}/")]
        count = len(as_row(first_result(name)))
        data = data.map(operations, inputs, [f"{name}/{k}" for k in range(count)])
    return data


@functools.cache
def first_result(name: str) -> Any:
    return ALL[name].make()(*arguments(ALL[name].inputs, 0))


def run(names: tuple[str, ...], dense: bool = False, batch: int | None = None, **changes: Any) -> Any:
    """The rows of each transform."""
    results: dict[str, list[Row]] = {}
    with settings.override(seed=7, **changes):
        for start in range(0, len(names), GROUP):
            results |= run_group(names[start : start + GROUP], dense, batch)
    return results


def run_group(names: tuple[str, ...], dense: bool, batch: int | None) -> dict[str, list[Row]]:
    data = pipeline(names, dense)
    if batch is not None:
        data = data.batch(batch)
    keys = {name: [f"{name}/{k}" for k in range(len(as_row(first_result(name))))] for name in names}
    results: dict[str, list[Row]] = {name: [] for name in names}
    for step in data.create_dict_iterator(1, output_numpy=True):
        for name in names:
            parts = tuple(step[key] for key in keys[name])
            if batch is None:
                results[name].append(parts)
            else:
                results[name].extend(zip(*parts, strict=True))
    return results


# The random numbers of a transform follow from its place in the pipeline: each set of names has its own reference.
@functools.cache
def reference(names: tuple[str, ...]) -> dict[str, list[Row]]:
    """Each row in a chunk of its own."""
    results: dict[str, list[Row]] = run(names, **CHUNKS_OF_1)
    return results


def assert_as_reference(results: dict[str, list[Row]], names: tuple[str, ...]) -> None:
    wanted = reference(names)
    wrong = {
        name: f"row {i}"
        for name in names
        for i, (one, two) in enumerate(zip(results[name], wanted[name], strict=True))
        if not same(tuple(np.asarray(part) for part in one), two)
    }
    assert not wrong, f"{len(wrong)} of {len(names)} transforms have other bits: {wrong}"


CHUNKS_OF_1 = {"executor": "inline", "chunk_rows": 1}
MODES = {
    "chunks of 2": {"executor": "inline", "chunk_rows": 2},
    "chunks of 3": {"executor": "inline", "chunk_rows": 3},
    "chunks of 7": {"executor": "inline", "chunk_rows": 7},
    "chunks of 64": {"executor": "inline", "chunk_rows": 64},
    "threads": {"executor": "threads", "num_parallel_workers": 3, "chunk_rows": 3},
    "threads, chunks of 64": {"executor": "threads", "num_parallel_workers": 2, "chunk_rows": 64},
}


def daily(*names: str) -> list[Any]:
    """All modes; those that are not named run at night."""
    modes = ["chunks of 1", *MODES]
    return [pytest.param(mode, marks=() if mode in names else pytest.mark.nightly) for mode in modes]


@pytest.mark.parametrize("mode", daily("chunks of 2", "chunks of 3", "chunks of 64", "threads"))
def test_rows_of_a_generator(mode):
    names = tuple(ALL)
    assert_as_reference(run(names, **CHUNKS_OF_1 | MODES.get(mode, {})), names)


@pytest.mark.parametrize("mode", daily("chunks of 1", "chunks of 7", "threads, chunks of 64"))
def test_whole_columns(mode):
    assert_as_reference(run(DENSE, dense=True, **CHUNKS_OF_1 | MODES.get(mode, {})), DENSE)


@pytest.mark.parametrize("dense", [False, True])
def test_worker_processes(dense, no_leaks):
    # a user's function and a module of the user's stay in this process unless the whole pipeline runs elsewhere
    names = DENSE if dense else tuple(ALL)
    changes = {"executor": "processes", "num_parallel_workers": 2, "chunk_rows": 7}
    assert_as_reference(run(names, dense, **changes), names)


@pytest.mark.parametrize(
    ("size", "dense"),
    [
        (7, True),
        (64, False),
        pytest.param(7, False, marks=pytest.mark.nightly),
        pytest.param(64, True, marks=pytest.mark.nightly),
    ],
)
def test_batches(size, dense):
    """Results are written straight into a batch where that saves a copy: rows of one shape and type."""
    names = DENSE if dense else tuple(ALL)
    rows = reference(names)

    def uniform(name: str) -> bool:
        return len({tuple((part.shape, part.dtype.str) for part in row) for row in rows[name]}) == 1

    kept = tuple(name for name in names if uniform(name))
    assert len(kept) > 100
    assert_as_reference(run(kept, dense, size, executor="inline", chunk_rows=7), kept)


# --- single calls -------------------------------------------------------------------------------------------


@pytest.fixture(params=ALL, name="name")
def _name(request: pytest.FixtureRequest) -> Any:
    return request.param


def draws_of(operation: Any, rows: list[int]) -> RandomStream | None:
    if not operation.random:
        return None
    return RandomStream.for_rows(np.array(rows, np.uint64), seed=5, epoch=0, op=1)


@functools.cache
def alone(name: str) -> list[Row]:
    """Rows one by one."""
    operation = ALL[name].make()
    return [
        as_row(operation.row_function(draws_of(operation, [i]))(0, *arguments(ALL[name].inputs, i)))
        for i in range(ALONE)
    ]


def test_a_row_alone_and_among_others(name):
    operation = ALL[name].make()
    together = operation.row_function(draws_of(operation, list(range(ALONE))))
    for i, row in enumerate(alone(name)):
        assert same(as_row(together(i, *arguments(ALL[name].inputs, i))), row), i
    if not operation.random:
        rows = reference(tuple(ALL))[name]
        assert all(same(one, two) for one, two in zip(alone(name), rows))


def at_offset(x: np.ndarray, offset: int) -> np.ndarray:
    """A copy that starts ``offset`` bytes behind a multiple of 64."""
    room = np.empty(x.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    moved = room[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


def as_view(x: np.ndarray) -> np.ndarray:
    """Every second value of a larger array."""
    if x.ndim == 0:
        return x
    wide = np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    wide[..., 1::2] = x
    return wide[..., ::2]


FORMS = {
    "odd address": lambda x: at_offset(x, 1),
    "8 bytes on": lambda x: at_offset(x, 8),
    "20 bytes on": lambda x: at_offset(x, 20),
    "view": as_view,
    "columns first": lambda x: x.copy(order="F"),
}


@pytest.mark.parametrize(
    "form", [pytest.param(f, marks=pytest.mark.nightly if f == "8 bytes on" else ()) for f in FORMS]
)
def test_an_input_may_lie_anywhere(name, form):
    if takes_pil(ALL[name].inputs):
        return  # Pillow keeps pixels of its own
    operation = ALL[name].make()
    for i in range(3):
        moved = [FORMS[form](x) for x in values(ALL[name].inputs, i)]
        result = as_row(operation.row_function(draws_of(operation, [i]))(0, *moved))
        assert same(result, alone(name)[i]), i


# Transforms for which other rows of a stack count, or for which the first axis is not the row.
NOT_BY_ROW = {
    "AmplitudeToDB": "the loudest value of the whole stack limits it",
    "LFCC, mono": "a stack of mono waves is one recording with many channels: its loudest value limits all",
    "MFCC, mono": "a stack of mono waves is one recording with many channels: its loudest value limits all",
}


def takes_stacks(name: str) -> bool:
    operation = ALL[name].make()
    return name.partition(",")[0] in audio.__all__ and is_dense(name) and not operation.random


STACKS = [name for name in ALL if takes_stacks(name) and name not in NOT_BY_ROW]


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_of_rows_in_one_call(name):
    """Audio transforms take leading dimensions, of which each is a row."""
    operation, inputs = ALL[name].make(), ALL[name].inputs
    for count in (1, 2, 3, 7):
        stack = np.stack([values(inputs, i)[0] for i in range(count)])
        try:
            result = as_row(operation(stack))
        except (ValueError, RuntimeError):
            pytest.fail("refuses a stack: list it in NOT_BY_ROW")
        for i in range(count):
            assert same(tuple(part[i] for part in result), alone(name)[i]), (count, i)


def test_another_last_bit_in_a_chunk_is_seen(monkeypatch):
    whole = vision.Rescale.batch

    def off_by_one_bit(self, xs):
        result = whole(self, xs)
        return result if result is None or len(xs) == 1 else np.nextafter(result, np.float32(np.inf))

    names = ("Rescale", "Normalize")
    reference(names)
    monkeypatch.setattr(vision.Rescale, "batch", off_by_one_bit)
    with pytest.raises(AssertionError, match=r"1 of 2 transforms have other bits: {'Rescale'"):
        assert_as_reference(run(names, dense=True, executor="inline", chunk_rows=7), names)
