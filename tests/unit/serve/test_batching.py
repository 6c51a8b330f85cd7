"""Requests that come together are computed together; one that is bad fails alone."""

import asyncio
import threading

import numpy as np
import pytest

from millrace._src.core.errors import ServeError
from millrace._src.serve import batching
from millrace._src.serve.batching import Batcher


class Model:
    """It counts what it is given, and waits until it is let go."""

    def __init__(self):
        self.batches = []
        self.go = threading.Event()
        self.began = threading.Event()

    def __call__(self, arrays):
        self.began.set()
        assert self.go.wait(60)
        self.batches.append(len(arrays[0]))
        if (arrays[0] < 0).any():
            raise ValueError("a row is below zero")
        return [arrays[0] * 2]


def rows(*values):
    return [np.array(values, np.float32)]


def run(steps, max_queue=100, timeout=60.0, workers=1):
    """Run a coroutine with a Batcher, which is closed at its end."""
    batcher = Batcher(max_queue, timeout, workers)
    batcher.start()

    async def main():
        try:
            return await steps(batcher)
        finally:
            await asyncio.to_thread(batcher.close)

    return asyncio.run(main())


def asked(batcher, model, arrays, key="one", most=4, wait=0.0, seen=lambda *_: None):
    return asyncio.ensure_future(batcher.submit(key, model, arrays, len(arrays[0]), most, wait, seen))


async def busy(batcher, model):
    """A first request that keeps the thread, so that what follows gathers."""
    first = asked(batcher, model, rows(0.0), key="first")
    await asyncio.to_thread(model.began.wait, 60)
    return first


def test_what_comes_while_a_batch_is_computed_makes_up_the_next():
    model, counted = Model(), []

    async def steps(batcher):
        first = await busy(batcher, model)
        others = [
            asked(batcher, model, rows(float(n), n + 0.5), seen=lambda *all: counted.append(all[:2]))
            for n in range(3)
        ]
        await asyncio.sleep(0)
        model.go.set()
        made = await asyncio.gather(first, *others)
        return [each[0].tolist() for each in made]

    assert run(steps) == [[0.0], [0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert model.batches == [1, 4, 2]  # at most four rows together
    assert counted == [(2, 4), (1, 2)]


def test_a_bad_request_fails_alone():
    model = Model()

    async def steps(batcher):
        first = await busy(batcher, model)
        others = [asked(batcher, model, rows(float(n))) for n in (1, -1, 2)]
        await asyncio.sleep(0)
        model.go.set()
        return await asyncio.gather(first, *others, return_exceptions=True)

    _, one, bad, two = run(steps)
    assert (one[0].tolist(), two[0].tolist()) == ([2.0], [4.0])
    assert isinstance(bad, ServeError)
    assert (bad.status, str(bad)) == (500, "the model failed: ValueError: a row is below zero")


def test_other_shapes_and_models_are_computed_apart_and_in_turn():
    model = Model()

    async def steps(batcher):
        first = await busy(batcher, model)
        others = [asked(batcher, model, rows(1.0), key=key) for key in ("a", "b", "a")]
        await asyncio.sleep(0)
        model.go.set()
        await asyncio.gather(first, *others)

    run(steps)
    assert model.batches == [1, 2, 1]


def test_a_lone_request_waits_for_others_and_no_longer_than_told():
    model = Model()
    model.go.set()

    async def steps(batcher):
        both = [asked(batcher, model, rows(1.0), wait=60.0, most=2) for _ in range(2)]
        await asyncio.gather(*both)  # two make it full: nobody waits for a minute
        await asked(batcher, model, rows(1.0), wait=0.01)

    run(steps)
    assert model.batches == [2, 1]


async def together(batcher, model, most):
    """Two requests that were there at once, and are answered."""
    await busy(batcher, model)
    pair = [asked(batcher, model, rows(1.0), most=most, wait=None) for _ in range(2)]
    model.go.set()
    await asyncio.gather(*pair)


def test_who_asks_alone_does_not_wait(monkeypatch):
    monkeypatch.setattr(batching, "DEFAULT_MAX_WAIT_SECONDS", 1e6)
    model = Model()
    model.go.set()

    async def steps(batcher):
        for _ in range(3):
            await asked(batcher, model, rows(1.0), wait=None)

    run(steps)
    assert model.batches == [1, 1, 1]


def test_who_was_there_beside_others_is_waited_for(monkeypatch):
    monkeypatch.setattr(batching, "DEFAULT_MAX_WAIT_SECONDS", 1e6)
    model = Model()

    async def steps(batcher):
        await together(batcher, model, most=2)
        one = asked(batcher, model, rows(1.0), most=2, wait=None)
        await asyncio.sleep(0)  # it is in the line
        await asyncio.gather(one, asked(batcher, model, rows(1.0), most=2, wait=None))

    run(steps)
    assert model.batches == [1, 2, 2]


def test_who_did_not_come_in_time_is_not_waited_for_again(monkeypatch):
    model = Model()

    async def steps(batcher):
        await together(batcher, model, most=2)
        monkeypatch.setattr(batching, "DEFAULT_MAX_WAIT_SECONDS", 0.01)
        await asked(batcher, model, rows(1.0), wait=None)
        monkeypatch.setattr(batching, "DEFAULT_MAX_WAIT_SECONDS", 1e6)
        await asked(batcher, model, rows(1.0), wait=None)

    run(steps)
    assert model.batches == [1, 2, 1, 1]


def test_workers_compute_at_the_same_time():
    together = threading.Barrier(2, timeout=60)

    def model(arrays):
        together.wait()  # passed only where two are computed at once
        return arrays

    async def steps(batcher):
        both = [asked(batcher, model, rows(float(n)), key=n) for n in range(2)]
        return [each[0].tolist() for each in await asyncio.gather(*both)]

    assert run(steps, workers=2) == [[0.0], [1.0]]


def test_too_many_are_refused():
    model = Model()

    async def steps(batcher):
        first = await busy(batcher, model)
        second = asked(batcher, model, rows(1.0))
        await asyncio.sleep(0)
        with pytest.raises(ServeError, match="2 requests are waiting, which is the limit") as many:
            await asked(batcher, model, rows(2.0))
        model.go.set()
        await asyncio.gather(first, second)
        return many.value.status

    assert run(steps, max_queue=2) == 429


def test_too_late_is_said(monkeypatch):
    model = Model()

    async def steps(batcher):
        loop = asyncio.get_running_loop()
        later, limits = loop.call_later, []

        def noted(
            seconds, *call
        ):  # the limits pass when both are where they should be, however long that took
            limits.append((seconds, call))
            return later(3600, *call)

        monkeypatch.setattr(loop, "call_later", noted)
        first = await busy(batcher, model)
        second = asked(batcher, model, rows(1.0))
        await asyncio.sleep(0)
        for seconds, (call, *given) in limits:
            assert seconds == 0.2
            call(*given)
        ended = await asyncio.gather(first, second, return_exceptions=True)
        model.go.set()
        return [(each.status, str(each)) for each in ended]

    assert run(steps, timeout=0.2) == [
        (504, "the request computed for 0.2 s, the limit"),
        (504, "the request waited for its turn for 0.2 s, the limit"),
    ]
    assert model.batches == [1]  # nobody waits for the second any more: it is not computed


def test_a_model_that_mixes_rows_up_is_found_out():
    async def steps(batcher):
        model = Model()
        first = await busy(batcher, model)
        others = [
            asked(batcher, lambda arrays: [arrays[0].sum(keepdims=True)], rows(1.0), key="sum") for _ in "ab"
        ]
        await asyncio.sleep(0)
        model.go.set()
        return (await asyncio.gather(first, *others))[1:]

    assert [each[0].tolist() for each in run(steps)] == [[1.0], [1.0]]
