"""What a plan is, from its fields: the same in another process, another for another value, and the part is named."""

from __future__ import annotations

import copy
import datetime
import enum
import functools
import importlib
import json
import logging
import os
import re
import subprocess
import sys
import textwrap
import threading
import types
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import CursorError
from millrace._src.data.plan.fingerprint.plan_fingerprint import cache_key, compute_fingerprint
from millrace._src.data.plan.fingerprint.value_hash import is_library
from millrace.dataset import transforms

# Run twice, in processes of other hash seeds; the second script has other lines above and another working folder.
SCRIPT = """
import argparse, functools, json, sys
import numpy as np
import millrace.dataset as ds
from millrace.dataset import transforms, vision

TABLE = {"b": [1, 2], "a": {3, 1, "x"}}
args = argparse.Namespace(scale=2, resume=len(sys.argv) > 1)

class Shift:
    STEP = 1
    def __init__(self, by):
        self.by, self.names = by, {"x", "y", "z"}
    def __call__(self, x):
        return x + self.by * self.STEP

    def method(self, x):
        return x - self.by

def helper(x, k=0):
    return x + k

def main():
    offset = np.arange(3.0)
    ds.config.set_seed(4)
    data = ds.GeneratorDataset([np.full(3, i, np.float32) for i in range(12)], "x", shuffle=True)
    data = data.map([transforms.Compose([lambda x: helper(x) * args.scale, Shift(3)])])
    data = data.map(transforms.RandomApply([lambda x: x + len(TABLE["a"]), vision.HorizontalFlip], 1.0)
                    if False else transforms.RandomApply([lambda x: x + len(TABLE["a"]), Shift(1)], 0.5))
    data = data.map([functools.partial(helper, k=5), Shift(1).method, lambda x: x + offset])
    data = data.filter(lambda x: x[0] not in {1.5, 2.5, "no"})
    data = data.batch(2, per_batch_map=lambda x, info: (x,))
    if len(sys.argv) > 1:
        rows = data.create_tuple_iterator(num_epochs=1, output_numpy=True, state=json.loads(sys.argv[1]))
    else:
        rows = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        next(rows); next(rows)
    state = rows.state()
    print(json.dumps({"state": state, "rows": [row[0].tolist() for row in rows]}))

main()
"""


def run(script: str, *arguments: str, seed: str = "0", folder: Path) -> Any:
    file = folder / f"script{seed}.py"
    file.write_text(textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, str(file), *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONHASHSEED": seed},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_state_is_good_in_another_process(tmp_path: Path) -> None:
    first = run(SCRIPT, seed="1", folder=tmp_path)
    moved = "# a line more\n\n" + SCRIPT
    again = run(moved, json.dumps(first["state"]), seed="2", folder=tmp_path)
    assert again["state"]["fingerprint"] == first["state"]["fingerprint"]
    assert again["rows"] == first["rows"]
    assert len(first["rows"]) == 4
    assert len(json.dumps(first["state"])) < 900


# --- what differs, and how it is named -----------------------------------------------------------------

SCALE = 2
LIMITS = {"low": 1, "resume": False}
options = types.SimpleNamespace(scale=2, resume=False)


def numbers() -> Any:
    return ds.NumpySlicesDataset(np.arange(8.0), ["x"], shuffle=False)


def print_of(data: Any) -> str:
    return compute_fingerprint(data._node, settings.current()).text


def difference(before: Any, after: Any) -> str:
    """The error of a state of one pipeline given to the other."""
    iterator = before.create_tuple_iterator(num_epochs=1)
    next(iterator)
    state = json.loads(json.dumps(iterator.state()))
    iterator.stop()
    with pytest.raises(CursorError, match="another pipeline") as caught:
        after.create_tuple_iterator(num_epochs=1, state=state)
    return str(caught.value)


def accepted(before: Any, after: Any) -> None:
    iterator = before.create_tuple_iterator(num_epochs=1)
    next(iterator)
    state = iterator.state()
    iterator.stop()
    after.create_tuple_iterator(num_epochs=1, state=state).stop()


def scaled(scale: Any) -> Any:
    return numbers().map(
        [lambda x: x, lambda x: x if isinstance(scale, (enum.Enum, np.dtype)) else x * scale]
    )


def test_a_closure_is_named(no_leaks: None) -> None:
    text = difference(scaled(2), scaled(3))
    assert "Map at " in text
    assert "test_plan_fingerprint.py" in text
    assert "operations[1].function differs: the closure variable 'scale' is 3 now" in text


def test_a_changed_closure_of_the_same_dataset() -> None:
    scale = 2
    data = numbers().map(lambda x: x * scale)
    iterator = data.create_tuple_iterator(num_epochs=1)
    next(iterator)
    scale = 3
    with pytest.raises(CursorError, match="closure variable 'scale'"):
        data.create_tuple_iterator(num_epochs=1, state=iterator.state())
    iterator.stop()


def helper(x: Any, k: int = 0) -> Any:
    return x + k


class Shift:
    def __init__(self, by: Any) -> None:
        self.by = by

    def __call__(self, x: Any) -> Any:
        return x + self.by

    def method(self, x: Any) -> Any:
        return x - self.by


@dataclass
class Wanted:
    least: int

    def __call__(self, x: Any) -> bool:
        return bool(x >= self.least)


def with_class_attribute(by: int) -> Any:
    class Holds:
        shift = Shift(by)

        def __call__(self, x: Any) -> Any:
            return self.shift(x)

    return numbers().map(Holds())


def with_cached_method(by: int) -> Any:
    class Caches:
        @functools.lru_cache  # noqa: B019
        def much(self, by: int = by) -> int:
            return by

        def __call__(self, x: Any) -> Any:
            return x + self.much()

    return numbers().map(Caches())


class Listed(list[Any]):
    by = 0

    def __call__(self, x: Any) -> Any:
        return x + self.by


def listed(by: int) -> Any:
    made = Listed([1])
    made.by = by
    return numbers().map(lambda x: made(x))


def by_chance(table: dict[Any, Any]) -> Any:
    return numbers().map(lambda x: x + sum(chance for chance in table))


def with_usual(table: dict[str, float]) -> Any:
    return numbers().map(lambda x: x + table["none"])


def streamed(first: int) -> Any:
    return ds.GeneratorDataset(functools.partial(counted_from, first), ["x"])


def counted_from(first: int) -> Any:
    yield from ((np.float64(i),) for i in range(first, first + 8))


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


PAIRS = {
    "partial keyword": (
        lambda: numbers().map(functools.partial(helper, k=1)),
        lambda: numbers().map(functools.partial(helper, k=2)),
        "operations[0].function.keywords['k'] differs",
    ),
    "object in compose": (
        lambda: numbers().map(transforms.Compose([Shift(1), Shift(2)])),
        lambda: numbers().map(transforms.Compose([Shift(1), Shift(3)])),
        "by differs",
    ),
    "lambda in random apply": (
        lambda: numbers().map(transforms.RandomApply([lambda x: x + 1], 0.5)),
        lambda: numbers().map(transforms.RandomApply([lambda x: x + 2], 0.5)),
        "the code of <lambda>",
    ),
    "bound method": (
        lambda: numbers().map(Shift(1).method),
        lambda: numbers().map(Shift(2).method),
        "operations[0].function.by differs",
    ),
    "argument of a transform": (
        lambda: numbers().map(transforms.Fill(1)),
        lambda: numbers().map(transforms.Fill(2)),
        "operations[0]",
    ),
    "array": (
        lambda: scaled(np.array([1.0, 2.0])),
        lambda: scaled(np.array([1.0, 3.0])),
        "the closure variable 'scale'",
    ),
    "type": (lambda: scaled(2), lambda: scaled(2.0), "the closure variable 'scale'"),
    "enum": (lambda: scaled(Colour.RED), lambda: scaled(Colour.BLUE), "the closure variable 'scale'"),
    "dtype": (lambda: scaled(np.dtype("i4")), lambda: scaled(np.dtype("i8")), "'scale'"),
    "predicate": (
        lambda: numbers().filter(Wanted(0)),
        lambda: numbers().filter(Wanted(1)),
        "predicate.least differs",
    ),
    "batch size": (lambda: numbers().batch(2), lambda: numbers().batch(3), "batch_size differs is 3 now"),
    "default": (
        lambda: numbers().map(lambda x, k=1: x + k),
        lambda: numbers().map(lambda x, k=2: x + k),
        "default 0 of <lambda> is 2 now",
    ),
    "ops": (
        lambda: numbers().batch(2),
        lambda: numbers().shuffle(4).batch(2),
        "it was NumpySlicesDataset -> Batch, this one is NumpySlicesDataset -> Shuffle -> Batch",
    ),
    "size": (
        numbers,
        lambda: ds.NumpySlicesDataset(np.arange(9.0), ["x"], shuffle=False),
        "size differs is 9 now",
    ),
    "object of a class": (
        lambda: with_class_attribute(1),
        lambda: with_class_attribute(2),
        "the code of class Holds, or a global",
    ),
    "cached method": (
        lambda: with_cached_method(1),
        lambda: with_cached_method(2),
        "the code of class Caches, or a global",
    ),
    "list with a field": (
        lambda: listed(1),
        lambda: listed(2),
        "function.by differs: the closure variable 'made'",
    ),
    "key of a dict": (
        lambda: by_chance({0.5: Shift(1)}),
        lambda: by_chance({0.7: Shift(1)}),
        "key 0 differs: the closure variable 'table' is 0.7 now",
    ),
    "default of a dict": (
        lambda: with_usual(defaultdict(int)),
        lambda: with_usual(defaultdict(float)),
        "default_factory differs: the closure variable",
    ),
    "partial as a source": (lambda: streamed(0), lambda: streamed(1), "source.args[0] differs is 1 now"),
    "sampler": (
        lambda: ds.NumpySlicesDataset(np.arange(8.0), ["x"], sampler=ds.SubsetSampler([1, 2])),
        lambda: ds.NumpySlicesDataset(np.arange(8.0), ["x"], sampler=ds.SubsetSampler([1, 3])),
        "sampler.indices differs",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_differs_is_named(name: str) -> None:
    before, after, words = PAIRS[name]
    assert words in difference(before(), after())
    accepted(before(), before())


class Limits(NamedTuple):
    low: int
    high: int


VALUES: dict[str, tuple[Any, Any, Any]] = {
    "dict": (lambda v: lambda x: v.get(1, x), {1: 2}, {1: 3}),
    "array": (lambda v: lambda x: v.take(0) + x, np.array([1, 2]), np.array([1, 3])),
    "pattern": (lambda v: lambda x: x + len(v.findall("a")), re.compile("a"), re.compile("b")),
    "text": (lambda v: lambda x: x + len(v.upper()), "one", "two"),
    "counter": (lambda v: lambda x: x + v.total(), Counter("aa"), Counter("ab")),
    "object": (lambda v: lambda x: v.method(x), Shift(1), Shift(2)),
    "member": (lambda v: lambda x: x + v.value, Colour.RED, Colour.BLUE),
    "date": (lambda v: lambda x: x + v.day, datetime.date(2026, 1, 2), datetime.date(2026, 1, 3)),
    "named tuple": (lambda v: lambda x: x + v.low, Limits(1, 9), Limits(2, 9)),
    "deque": (lambda v: lambda x: x + v[0], deque([1, 2]), deque([3, 2])),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_method_of_a_value_uses_the_value(name: str) -> None:
    make, one, two = VALUES[name]
    assert print_of(numbers().map(make(one))) == print_of(numbers().map(make(copy.deepcopy(one))))
    assert print_of(numbers().map(make(one))) != print_of(numbers().map(make(two)))


def test_machinery_does_not_count() -> None:
    """A logger gains handlers, a dataset is iterated: neither is part of what a function is."""
    log, data = logging.getLogger("tests.fingerprint"), numbers()

    def make() -> Any:
        return numbers().map(lambda x: (log.debug("row"), x)[1] if data is not None else x)

    was = print_of(make())
    log.addHandler(logging.NullHandler())
    list(data.create_tuple_iterator(num_epochs=1))
    assert print_of(make()) == was
    log.handlers.clear()


def test_a_logger_in_an_object_does_not_count() -> None:
    class Logs(Shift):
        def __init__(self) -> None:
            super().__init__(1)
            self.log, self.lock = logging.getLogger("tests.fingerprint"), threading.Lock()

    was, log = print_of(numbers().map(Logs())), logging.getLogger("tests.fingerprint")
    log.addHandler(logging.NullHandler())
    log.isEnabledFor(logging.DEBUG)
    assert print_of(numbers().map(Logs())) == was
    log.handlers.clear()


def test_a_module_of_the_users_may_be_called_as_one_of_pythons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "antigravity.py").write_text("K = 1\ndef scaled(x):\n    return x * K\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "antigravity", raising=False)
    users: Any = importlib.import_module("antigravity")
    is_library.cache_clear()
    try:
        was = print_of(numbers().map(users.scaled))
        users.K = 2
        assert print_of(numbers().map(users.scaled)) != was
    finally:
        is_library.cache_clear()
        del sys.modules["antigravity"]


def test_globals_count_as_far_as_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> Any:
        return numbers().map(lambda x: x * SCALE + LIMITS["low"] + options.scale)

    before = make()
    was = print_of(before)
    monkeypatch.setitem(LIMITS, "resume", True)
    monkeypatch.setattr(options, "resume", True)
    assert print_of(make()) == was
    monkeypatch.setitem(LIMITS, "low", 2)
    assert print_of(make()) != was
    monkeypatch.setitem(LIMITS, "low", 1)
    monkeypatch.setattr(options, "scale", 3)
    assert print_of(make()) != was
    monkeypatch.setattr(options, "scale", 2)
    monkeypatch.setitem(globals(), "SCALE", 5)
    assert print_of(make()) != was


def test_running_state_does_not_count(no_leaks: None) -> None:
    """A counter, a cache and a generator of random numbers move while rows run."""
    calls = 0

    def counted(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x

    generator = np.random.default_rng(1)
    data = numbers().map([counted, lambda x: x + generator.random() * 0])
    iterator = data.create_tuple_iterator(num_epochs=1)
    for _ in range(3):
        next(iterator)
    state = iterator.state()
    iterator.stop()
    assert calls
    data.create_tuple_iterator(num_epochs=1, state=state).stop()


def test_a_cache_that_grows_during_the_run(no_leaks: None) -> None:
    class Cached:
        def __init__(self) -> None:
            self.cache: dict[float, Any] = {}

        def __call__(self, x: Any) -> Any:
            return self.cache.setdefault(float(x), x)

    iterator = numbers().map(Cached()).create_tuple_iterator(num_epochs=1)
    next(iterator)
    next(iterator)
    state = iterator.state()
    iterator.stop()
    numbers().map(Cached()).create_tuple_iterator(num_epochs=1, state=state).stop()


def test_what_does_not_decide_rows_does_not_count() -> None:
    plain = numbers().map(helper).batch(2)
    was = print_of(plain)
    assert print_of(numbers().map(helper, num_parallel_workers=3).batch(2, num_parallel_workers=2)) == was
    assert print_of(numbers().map(helper, python_multiprocessing=True).batch(2)) == was
    with settings.override(memory_budget=1 << 20, chunk_rows=7, executor="inline", num_parallel_workers=3):
        assert print_of(plain) == was
    with settings.override(error_samples_mode="skip"):
        assert print_of(plain) != was


def test_a_key_of_a_prefix_sees_the_data() -> None:
    now = settings.current()
    whole = numbers().map(helper).batch(2)
    assert cache_key(whole._node.inputs[0], now) == cache_key(numbers().map(helper)._node, now)
    other = ds.NumpySlicesDataset(np.arange(8.0) + 1, ["x"], shuffle=False)
    assert print_of(other) == print_of(numbers())
    assert cache_key(other._node, now) != cache_key(numbers()._node, now)


def test_a_circle_ends() -> None:
    ring: list[Any] = [1, helper]
    ring.append(ring)

    def again(x: Any) -> Any:
        return again(ring) if ring is None else x

    assert print_of(numbers().map(again)) == print_of(numbers().map(again))


def test_an_earlier_version_is_refused() -> None:
    iterator = numbers().create_tuple_iterator(num_epochs=1)
    state = iterator.state() | {"version": 1}
    iterator.stop()
    with pytest.raises(CursorError, match=r"version 1.*reads version 3.*set_init_step"):
        numbers().create_tuple_iterator(num_epochs=1, state=state)


def test_what_a_function_only_writes_down_is_no_part_of_it():
    """A function that notes its rows in a list can be resumed; one that looks into a list counts with its values."""
    seen, table = [], [1, 2, 3]

    def note(x):
        seen.append(int(x))
        return x

    def look_up(x):
        return np.asarray(table[int(x) % 3])

    data = ds.NumpySlicesDataset(list(range(6)), "x", shuffle=False)
    for function, change, same in ((note, seen, True), (look_up, table, False)):
        mapped = data.map(function, "x")
        iterator = mapped.create_dict_iterator(num_epochs=1, output_numpy=True)
        next(iterator)
        state = iterator.state()
        iterator.stop()
        change.append(9)
        if same:
            again = mapped.create_dict_iterator(num_epochs=1, output_numpy=True, state=state)
            assert [int(row["x"]) for row in again] == [1, 2, 3, 4, 5]
        else:
            with pytest.raises(CursorError, match="table"):
                mapped.create_dict_iterator(num_epochs=1, output_numpy=True, state=state)
