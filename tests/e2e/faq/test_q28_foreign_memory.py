"""Q28: RuntimeError: Failed to copy data into tensor. The memory under the array has been freed or used again."""

from __future__ import annotations

import copy
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import millrace as ms
import millrace.dataset as ds
from millrace import Tensor

EXECUTORS = ["inline", "threads", "processes"]


def values(data: ds.Dataset) -> list[int]:
    """The first element of each row; all elements of a row must be equal."""
    out = []
    for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        for row in batch["data"]:
            assert (row == row.flat[0]).all()
            out.append(int(row.flat[0]))
    return out


@pytest.mark.parametrize("executor", EXECUTORS)
def test_code_of_the_page(executor) -> None:
    class RandomAccessDataset:
        def __init__(self):
            pass

        def __getitem__(self, item):
            ndarray = np.zeros((544, 1056, 3))
            tensor = Tensor.from_numpy(ndarray)
            ndarray_1 = tensor.asnumpy()
            return ndarray_1  # noqa: RET504 - as the page writes it

        def __len__(self):
            return 8

    class WithCopy(RandomAccessDataset):
        def __getitem__(self, item):
            return copy.deepcopy(super().__getitem__(item))

    ds.config.set_executor(executor)
    for source in (RandomAccessDataset(), WithCopy()):
        data1 = ds.GeneratorDataset(source, ["data"])
        shapes = [row["data"].shape for row in data1.create_dict_iterator(num_epochs=1, output_numpy=True)]
        assert shapes == [(544, 1056, 3)] * 8


class Refilled:
    """One buffer for all rows, filled again for each."""

    def __init__(self, kind: str) -> None:
        self.kind, self.buffer = kind, bytearray(64)

    def __getitem__(self, index):
        self.buffer[:] = bytes([index]) * 64
        array = np.frombuffer(self.buffer, np.uint8)
        if self.kind == "view":
            return (array,)
        if self.kind == "tensor":
            return (ms.Tensor.from_numpy(array),)
        if self.kind == "ragged":
            return (array[: 40 + index % 3],)
        return (array.reshape(8, 8).T[::2],)  # strided

    def __len__(self):
        return 50


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("kind", ["view", "tensor", "ragged", "strided"])
@pytest.mark.filterwarnings("ignore:a Tensor came out")
def test_refilled_buffer_in_getitem(kind, executor) -> None:
    ds.config.set_executor(executor)
    data = ds.GeneratorDataset(Refilled(kind), ["data"], shuffle=False)
    data = data.batch(7) if kind != "ragged" else data.padded_batch(1, pad_info={"data": ([None], 0)})
    assert values(data) == list(range(50))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_refilled_buffer_in_a_generator_and_through_a_shuffle(executor) -> None:
    ds.config.set_executor(executor)
    buffer = np.zeros((4, 4), np.int32)

    def rows():
        for index in range(50):
            buffer[:] = index
            yield (buffer,)

    assert values(ds.GeneratorDataset(rows, ["data"]).batch(7)) == list(range(50))
    assert sorted(values(ds.GeneratorDataset(rows, ["data"]).shuffle(20).batch(5))) == list(range(50))


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_refilled_buffer_in_a_user_function(executor) -> None:
    ds.config.set_executor(executor)
    buffer = np.zeros((4, 4), np.int32)

    def fill(x):
        buffer[:] = x
        return buffer

    data = ds.NumpySlicesDataset({"data": np.arange(50)}, shuffle=False).map(
        fill, "data", num_parallel_workers=1
    )
    assert values(data.batch(7)) == list(range(50))


def test_a_batch_stays_what_it_was_while_later_ones_are_made() -> None:
    data = ds.GeneratorDataset(Refilled("view"), ["data"], shuffle=False).batch(5)
    kept = [batch["data"] for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert [int(batch[0, 0]) for batch in kept] == list(range(0, 50, 5))


def test_the_users_arrays_are_not_changed_through_a_batch() -> None:
    """What the iterator hands out is the user's to write to, and the source stays as it was."""
    source = np.arange(12).reshape(4, 3)
    for batch in ds.NumpySlicesDataset({"data": source}, shuffle=False).create_dict_iterator(
        1, output_numpy=True
    ):
        if batch["data"].flags.writeable:
            batch["data"][...] = -1
    assert source.min() == 0


FREED = """
    import ctypes
    import numpy as np
    import millrace.dataset as ds

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    SIZE = 1 << 20

    class Freed:
        '''Each row lies in memory that goes back to the system as soon as the next row is asked for.'''
        def __init__(self):
            self.address = None
        def __getitem__(self, index):
            if self.address is not None:
                libc.munmap(self.address, SIZE)
            self.address = libc.mmap(None, SIZE, 3, 0x22, -1, 0)
            view = np.ctypeslib.as_array((ctypes.c_uint8 * SIZE).from_address(self.address))
            view[:] = index
            return (view,)
        def __len__(self):
            return 20

    ds.config.set_executor(EXECUTOR)
    data = ds.GeneratorDataset(Freed(), ["data"], shuffle=False).map(lambda x: x, "data").batch(4)
    print([int(batch["data"][k, -1]) for batch in data.create_dict_iterator(1, output_numpy=True) for k in range(4)])
"""


@pytest.mark.parametrize("executor", EXECUTORS)
def test_memory_freed_under_the_array(executor) -> None:
    """A view that is read too late ends the process: it must have been copied at the boundary."""
    code = textwrap.dedent(FREED).replace("EXECUTOR", repr(executor))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{list(range(20))}\n"), done.stderr
