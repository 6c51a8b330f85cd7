"""Segments for the executor tests, at module level so that a worker finds them by name."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.values.chunk import Chunk


class Base:
    leaves_input_unmodified = False

    def paths(self):
        return []

    def init_worker(self, worker):
        pass

    def describe(self):
        return f"map({type(self).__name__.lower()})"

    def close(self):
        pass


class Echo(Base):
    def __call__(self, chunk):
        return chunk, None


class Double(Base):
    """Twice the numbers, and a report that must come home with them."""

    def __call__(self, chunk):
        columns = {
            name: column * 2 if isinstance(column, np.ndarray) else [2 * value for value in column]
            for name, column in chunk.columns.items()
        }
        return chunk.with_columns(columns), {"rows": len(chunk), "seconds": np.ones(3)}


class Call(Base):
    """Whatever the function makes of the chunk."""

    def __init__(self, function):
        self.function = function

    def __call__(self, chunk):
        return self.function(chunk), None


class Mixed(Base):
    """Columns of every sort from a column of numbers."""

    def __call__(self, chunk):
        x = chunk.columns["x"]
        n = len(chunk)
        made = {
            "x": x,
            "ragged": [np.arange(i % 5, dtype=np.int16) for i in range(n)],
            "text": np.array([f"row {i}" for i in range(n)]),
            "dict": [{"i": i, "a": np.full(3, i)} for i in range(n)],
            "big": np.repeat(x[:, None], 500, axis=1),
        }
        return chunk.with_columns(made), n


class ShapedError(Exception):
    """Cannot be rebuilt from its args: the usual mistake in user code."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")


class Holder(ValueError):
    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()


class Raises(Base):
    def __init__(self, how):
        self.how = how

    def __call__(self, chunk):
        if self.how == "plain":
            error = KeyError("missing")
            error.add_note("look at row 3")
            raise error
        if self.how == "data":
            raise DataError("boom", op="map(f)", row=7, column="x", file="a.jpg", traceback="user line")
        if self.how == "shaped":
            raise ShapedError(4, "four")
        if self.how == "holder":
            raise Holder("holds a lock")
        if self.how == "exit":
            sys.exit("enough")
        return chunk.with_columns({"x": [(i for i in range(2)) for _ in range(len(chunk))]}), None


class Gate(Base):
    """Says in a folder that it has begun, and goes on when the folder says so."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, chunk):
        (self.folder / f"began-{os.getpid()}").touch()
        while not (self.folder / "go").exists():
            time.sleep(0.002)
        return chunk, os.getpid()


class Forever(Base):
    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, chunk):
        (self.folder / f"began-{os.getpid()}").touch()
        self.a_loop_with_a_name()

    def a_loop_with_a_name(self):
        while True:
            sum(range(1000))


class Dies(Base):
    """Kills itself on rows with this origin: always, or only the first time in this folder."""

    def __init__(self, row, folder=None, how=signal.SIGKILL):
        self.row, self.folder, self.how = row, folder and Path(folder), how

    def __call__(self, chunk):
        if self.row in chunk.origin:
            first = self.folder is None or not (self.folder / "died").exists()
            if self.folder is not None:
                (self.folder / "died").touch()
            if first and self.how == "exit":
                os._exit(3)
            if first:
                os.kill(os.getpid(), self.how)
                while True:  # the signal is on its way
                    signal.pause()
        return chunk, None


class Keeps(Base):
    """Remembers its inputs, as careless user code does."""

    def __init__(self):
        self.seen = []

    def __call__(self, chunk):
        self.seen.append(chunk.columns["x"])
        return chunk.with_columns({"x": self.seen[0].copy()}), os.getpid()


class Table(Base):
    """Owns a large array, like a user's dataset object."""

    def __init__(self, size):
        self.data = np.ones(size, np.uint8)

    def __call__(self, chunk):
        return chunk, (os.getpid(), int(self.data.sum(dtype=np.int64)))


class Facts(Base):
    """What a worker knows of its world."""

    def __call__(self, chunk):
        import random

        return chunk, {
            "pid": os.getpid(),
            "main": sys.modules["__main__"].__dict__.get("__file__"),
            "cwd": os.getcwd(),
            "env": os.environ.get("MILLRACE_TEST_VALUE"),
            "path": list(sys.path),
            "random": random.random(),
            "numpy": float(np.random.rand()),
            "sigint": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
            "omp": os.environ.get("OMP_NUM_THREADS"),
        }


class Closes(Base):
    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, chunk):
        return chunk, os.getpid()

    def close(self):
        (self.folder / f"closed-{os.getpid()}").touch()


class BadLoad(Base):
    """Pickles well and refuses to be loaded."""

    def __call__(self, chunk):
        return chunk, None

    def __reduce__(self):
        return __import__, ("a_module_that_is_not_there",)


class CrashLoad(Base):
    """Ends the worker while it is loaded."""

    def __call__(self, chunk):
        return chunk, None

    def __reduce__(self):
        return os._exit, (9,)


class Prints(Base):
    def __call__(self, chunk):
        print("from a worker: out")
        print("from a worker: err", file=sys.stderr)
        return chunk, None


def chunk_of(rows, first=0, width=None):
    ids = np.arange(first, first + rows, dtype=np.uint64)
    x = np.arange(first, first + rows, dtype=np.float32)
    if width is not None:
        x = np.repeat(x[:, None], width, axis=1)
    return Chunk({"x": x}, ids, epoch=2, start=first)


def result_of(task, seconds=60):
    assert task.wait(seconds), "the task has no outcome"
    if task.error is not None:
        raise task.error
    return task.result


def wait_until(condition, seconds=60.0):
    """Wait for something to become true; what is waited for is the condition, never a time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never came to be"
        threading.Event().wait(0.005)
    return value


def alive(pid):
    """True for a process that runs; a zombie is dead."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        return False
    return state not in (b"Z", b"X")
