"""What a cache would freeze is refused before the first row, with the op, its line and the way out."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core.errors import PlanError
from millrace._src.data.cache.in_process_server import stop_in_process_server
from tests.contracts.pipelines.pipelines import Noise
from tests.contracts.pipelines.test_failed_rows import Count

from .random_pipelines import double, slices, spread, stream

HERE = r"test_refused_pipelines\.py:\d+"


def with_rng(x: Any, rng: Any) -> Any:
    return x


def odd_with_rng(x: Any, rng: Any) -> bool:
    return True


def of_epoch(rows: Any, info: ds.BatchInfo) -> Any:
    return [row + info.get_epoch_num() for row in rows]


def growing(info: ds.BatchInfo) -> int:
    return info.get_epoch_num() + 1


class Backwards(ds.Sampler):
    def __iter__(self) -> Any:
        return iter(range(self.dataset_size))


def ordered() -> ds.Dataset:
    return slices(shuffle=False)


# the pipeline, and what the message names
REFUSED: dict[str, tuple[Callable[[], ds.Dataset], str]] = {
    "random transform": (
        lambda: ordered().map(Noise(), "x").cache(),
        r"Noise samples new random numbers.*map\(\)",
    ),
    "random transform of ours": (
        lambda: ordered().map(vision.RandomHorizontalFlip(0.5), "x").cache(),
        "RandomHorizontalFlip samples new random numbers",
    ),
    "random transform further down": (
        lambda: ordered().map(Noise(), "x").map(double, "x").batch(2).cache(),
        "Noise samples new random numbers",
    ),
    "rng of a map": (lambda: ordered().map(with_rng, "x").cache(), "samples new random numbers"),
    "rng of a filter": (
        lambda: ordered().filter(odd_with_rng, "n").cache(),
        "predicate samples new random numbers",
    ),
    "shuffle below a batch": (lambda: ordered().shuffle(4).batch(2).cache(), r"shuffle\(\)"),
    "a source that shuffles": (lambda: slices().batch(2).cache(), "NumpySlices"),
    "a random sampler": (lambda: slices(sampler=ds.RandomSampler()).batch(2).cache(), "NumpySlices"),
    "a sampler of the user's": (lambda: slices(sampler=Backwards()).batch(2).cache(), "NumpySlices"),
    "a shuffled stream": (
        lambda: ds.GeneratorDataset(stream, ["x"] * 1 + list("ntrb")).shuffle(3).cache(),
        r"shuffle\(\)",
    ),
    "shuffle of batches": (lambda: ordered().batch(2).shuffle(3).cache(), r"shuffle\(\)"),
    "mix": (lambda: ds.mix([ordered(), ordered()]).cache(), r"mix\(\)"),
    "callbacks": (lambda: ordered().map(double, "x", callbacks=[Count()]).cache(), r"map\(\)"),
    "sync_wait": (lambda: ordered().sync_wait("go").batch(2).cache(), r"syncwait\(\)"),
    "no end": (lambda: ordered().batch(2).repeat().cache(), "have no end"),
    "the number of the epoch": (
        lambda: ordered().project(["x"]).batch(2, per_batch_map=of_epoch).cache(),
        "get_epoch_num",
    ),
    "a size by the epoch": (lambda: ordered().batch(growing).cache(), "get_epoch_num"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, no_leaks: None) -> None:
    make, words = REFUSED[name]
    with pytest.raises(PlanError, match=words) as caught:
        make().create_dict_iterator(num_epochs=1)
    text = str(caught.value)
    # the op and the cache, each with its line
    assert re.search(rf"cache at \S*{HERE}", text), text
    assert len(re.findall(HERE, text)) >= (1 if name == "no end" else 2), text


def test_the_cache_argument_of_a_source_and_of_a_map() -> None:
    with pytest.raises(PlanError, match="Noise samples new random numbers"):
        ordered().map(Noise(), "x", cache=ds.DatasetCache()).create_dict_iterator()
    data = ds.NumpySlicesDataset(np.arange(5), "x").map(double, "x", cache=ds.DatasetCache())
    assert sorted(int(row["x"]) for row in data.create_dict_iterator(num_epochs=1)) == [0, 2, 4, 6, 8]


def shuffled_spread(x: Any, n: Any, *rest: Any) -> ds.Dataset:
    return spread(x, n, *rest).shuffle(3)


def default_spread(x: Any, n: Any, *rest: Any) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": x})


def random_spread(x: Any, n: Any, *rest: Any) -> ds.Dataset:
    return spread(x, n, *rest).map(Noise(), "x")


@pytest.mark.parametrize("function", [shuffled_spread, default_spread, random_spread])
def test_a_dataset_inside_flat_map(function: Any, no_leaks: None) -> None:
    """It is known only while it runs: refused with the first row, not frozen."""
    data = ordered().flat_map(function).cache()
    with pytest.raises(PlanError, match=r"flatmap\(\) at .*cache at "):
        list(data.create_dict_iterator(num_epochs=1))
    fine = ordered().flat_map(spread).cache()
    assert list(fine.create_dict_iterator(num_epochs=1))
    stop_in_process_server()


def test_above_the_cache_all_is_allowed() -> None:
    data = ordered().batch(2).cache().shuffle(3).map(Noise(), "x").repeat(2)
    iterator = data.create_dict_iterator(num_epochs=2)
    assert [len(list(iterator)) for _ in range(2)] == [14, 14]


generator = np.random.default_rng(1)


def of_module(x: Any) -> Any:
    return x + np.random.rand()


def of_random(x: Any) -> Any:
    return x + random.random()


def of_global(x: Any) -> Any:
    return x + generator.random()


def of_closure() -> Any:
    mine = random.Random(3)
    return lambda x: x + mine.random()


@pytest.mark.parametrize("function", [of_module, of_random, of_global, of_closure()])
def test_functions_that_draw_by_themselves_are_warned_of(function: Any) -> None:
    data = ordered().map(function, "x").cache()
    with pytest.warns(
        UserWarning, match=r"function of the map at .*test_refused_pipelines\.py:\d+ uses .*behind the cache"
    ):
        data.create_dict_iterator(num_epochs=1).stop()


def test_a_predicate_and_a_source_that_draw_are_warned_of() -> None:
    class Drawing:
        def __getitem__(self, index: int) -> Any:
            return np.random.rand(2)

        def __len__(self) -> int:
            return 3

    with pytest.warns(UserWarning, match="__getitem__ of the GeneratorDataset"):
        ds.GeneratorDataset(Drawing(), ["x"]).cache().create_dict_iterator(num_epochs=1).stop()
    data = ordered().filter(lambda n: np.random.rand() < 2, "n").cache()
    with pytest.warns(UserWarning, match="predicate of the filter"):
        data.create_dict_iterator(num_epochs=1).stop()


def test_no_server_says_how_to_start_one() -> None:
    from .server_fixture import free_port, runtime_folder

    with runtime_folder():
        cache = ds.DatasetCache(17, port=free_port())
        with pytest.raises(RuntimeError, match="dataset-cache --start"):
            ordered().cache(cache).create_dict_iterator()


def test_columns_of_objects_are_not_kept_and_the_report_says_so() -> None:
    class Dicts:
        def __getitem__(self, index: int) -> Any:
            return {"index": index}, np.int64(index)

        def __len__(self) -> int:
            return 6

    for data in (
        ds.GeneratorDataset(Dicts(), ["d", "n"], shuffle=False).cache(),
        ds.GeneratorDataset(Dicts(), ["d", "n"], shuffle=False).filter(lambda d, n: True).cache(),
    ):
        iterator = data.create_dict_iterator(num_epochs=2, output_numpy=True)
        for _ in range(2):
            assert [row["d"]["index"] for row in iterator] == list(range(6))
        assert "Python objects" in " ".join(str(data.report()).split())
