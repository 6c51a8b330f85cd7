"""Turns of requests with much work in small steps: a bounded number in one iteration of the event loop."""

import asyncio
from collections import Counter

import pytest

from millrace._src.serve.thread_offload import Turns


async def count_iterations(counted):
    """Increment ``counted[0]`` in each iteration of the event loop, until cancelled."""
    while True:
        counted[0] += 1
        await asyncio.sleep(0)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_steps_of_one_iteration_are_bounded_and_all_requests_end(most):
    iteration, steps, ended = [0], Counter(), []

    async def request(number, turns):
        for _ in range(7):
            await turns.wait()
            steps[iteration[0]] += 1
        ended.append(number)

    async def main():
        clock = asyncio.ensure_future(count_iterations(iteration))
        turns = Turns(most)
        await asyncio.gather(*(request(number, turns) for number in range(20)))
        clock.cancel()

    asyncio.run(main())
    assert sorted(ended) == list(range(20))
    assert sum(steps.values()) == 140
    # the count of iterations changes between two steps of one iteration at most
    assert max(steps.values()) <= 2 * most


def test_turns_come_in_the_order_in_which_they_were_requested():
    order = []

    async def request(number, turns):
        for _ in range(3):
            await turns.wait()
            order.append(number)

    async def main():
        turns = Turns(1)
        await asyncio.gather(*(request(number, turns) for number in range(4)))

    asyncio.run(main())
    # the first step of request 0 needs no wait
    assert order == [0, *[0, 1, 2, 3] * 2, 1, 2, 3]


def test_a_cancelled_request_takes_no_turn():
    async def main():
        turns = Turns(1)
        first, left, stays = (asyncio.ensure_future(turns.wait()) for _ in range(3))
        await first
        left.cancel()
        await asyncio.wait_for(stays, 30)
        assert left.cancelled()

    asyncio.run(main())


def test_an_idle_object_schedules_nothing():
    async def main():
        turns = Turns(1)
        await turns.wait()
        for _ in range(4):
            await asyncio.sleep(0)
        assert not turns._scheduled

    asyncio.run(main())
