"""Planted faults: each of the five situations, at random speeds, through the real feed; the verdict names it."""

from __future__ import annotations

import pytest

from millrace._src.core.errors import DataError, SinkEnded, SinkStopped
from millrace._src.observe.transfer_diagnosis import IDLE, SITUATIONS

from .simulated_clock import PLANTED, Run, drawn, step_slow

TIMES = 10
STEPS = 60
MORE = 60


def check_planted(situation, seed, count=STEPS):
    draw, unit = drawn(seed)
    with Run(*PLANTED[situation](draw, unit, count)) as run:
        run.steps()
        verdict = run.feed.diagnosis()
        assert verdict.situation == situation, (str(verdict), run.feed.channel.to_dict())
        assert verdict.evidence
        assert verdict.advice
        assert verdict.stage
        assert (run.feed.channel.wait_share < IDLE) == (situation == "step slow")


@pytest.mark.parametrize("seed", range(TIMES))
@pytest.mark.parametrize("situation", PLANTED)
def test_the_planted_situation_is_named(situation, seed):
    check_planted(situation, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(TIMES, MORE))
@pytest.mark.parametrize("situation", PLANTED)
def test_the_planted_situation_is_named_many_times(situation, seed):
    check_planted(situation, seed, 3 * STEPS)


def check_ended(side, seed, count=STEPS):
    draw, unit = drawn(seed)
    times = step_slow(draw, unit, count)
    stop = draw.randint(1, count - 10)
    with Run(*times, fails_at=stop if side == "a row" else None) as run:
        if side == "the data":
            run.steps()
            assert run.feed.take(timeout=60) is None  # the end of the epoch
            with pytest.raises(SinkEnded, match=f"the data ended after {count} batches"):
                run.feed.take(timeout=60)
            verdict = run.feed.diagnosis()
            assert (verdict.situation, verdict.stage) == ("ended early", "the data")
            assert f"{count} of them used, and a step requested another batch" in verdict.evidence
            return
        run.steps(stop)
        if side == "a row":
            with pytest.raises(DataError, match="is bad"):
                run.feed.take(timeout=60)
        run.feed.close()
        verdict = run.feed.diagnosis()
        assert verdict.situation == "ended early", str(verdict)
        if side == "a row":
            assert f"row {2 * stop} is bad" in verdict.evidence
            assert f"after {stop} batches" in verdict.evidence
        else:
            assert f"the steps ended after {stop} batches" in verdict.evidence
            assert verdict.stage == "the step"


SIDES = ("the data", "the steps", "a row")


@pytest.mark.parametrize("seed", range(TIMES))
@pytest.mark.parametrize("side", SIDES)
def test_the_side_that_ended_early_is_named(side, seed):
    check_ended(side, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(TIMES, MORE))
@pytest.mark.parametrize("side", SIDES)
def test_the_side_that_ended_early_is_named_many_times(side, seed):
    check_ended(side, seed, 3 * STEPS)


def test_the_same_run_comes_out_the_same_to_the_last_digit():
    def seconds():
        draw, unit = drawn(3)
        with Run(*PLANTED["data slow now and then"](draw, unit, STEPS)) as run:
            run.steps()
            channel = run.feed.channel
            return channel.waited, channel.stepping, channel.data, channel.moving, list(channel.waits)

    assert seconds() == seconds()


def test_sunk_time_is_that_of_the_longest_part():
    """Q12: data, transfer and steps overlap."""
    for situation, longest in (("data slow", 0), ("transfer slow", 1), ("step slow", 2)):
        draw, unit = drawn(1)
        times = PLANTED[situation](draw, unit, STEPS)
        with Run(*times) as run:
            run.steps()
            took, parts = run.clock.now(), [sum(part) for part in times]
        assert max(parts) <= took < max(parts) + 3 * (max(parts) + sum(parts)) / STEPS
        assert parts.index(max(parts)) == longest


def test_all_five_situations_are_planted():
    assert {*PLANTED, "ended early"} == set(SITUATIONS)


def test_a_step_that_asks_after_a_shutdown_is_told_so():
    with Run(*step_slow(*drawn(2), STEPS)) as run:
        run.steps(3)
        run.feed.close()
        with pytest.raises(SinkStopped, match="it was stopped after"):
            run.feed.take(timeout=60)
