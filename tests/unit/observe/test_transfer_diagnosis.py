"""The verdict over channels whose times are worked out, so that no machine's load can change them.

The model is that of the feed: one batch is made after the other, moved after it was made, and taken by a step when it
is there and the step before is over; rings hold a number of batches.
"""

from __future__ import annotations

import random

import pytest

from millrace._src.observe.transfer_diagnosis import IDLE
from millrace._src.transfer import TransferStatistics, diagnose_transfer

SLOTS = 4


def run(making, moving, stepping):
    """The counters of a channel after these times (one each per batch)."""
    channel = TransferStatistics("planted")
    made = sent = over = 0.0
    taken = []
    for number, (make, move, step) in enumerate(zip(making, moving, stepping, strict=True)):
        room = taken[number - SLOTS] if number >= SLOTS else 0.0
        made = max(made, room) + make
        channel.data += make
        began = max(made, sent)
        sent = began + move
        channel.moving += move
        channel.begin_transfer(host=0)
        channel.end_transfer(device=1)
        got = max(sent, over)
        channel.record_step(waited=got - over if number else 0.0, stepped=over - taken[-1] if taken else 0.0)
        taken.append(got)
        over = got + step
    return channel


def steady(draw, middle, count=200):
    return [middle * draw.uniform(0.8, 1.2) for _ in range(count)]


def data_slow(draw, unit):
    return steady(draw, unit * draw.uniform(1.3, 20)), steady(draw, unit / 50), steady(draw, unit)


def now_and_then(draw, unit):
    making = steady(draw, unit / 10)
    for place in draw.sample(range(SLOTS, len(making)), draw.randint(4, 12)):
        making[place] = unit * draw.uniform(20, 60)
    return making, steady(draw, unit / 50), steady(draw, unit)


def transfer_slow(draw, unit):
    return steady(draw, unit / 5), steady(draw, unit * draw.uniform(1.3, 20)), steady(draw, unit)


def step_slow(draw, unit):
    return steady(draw, unit * draw.uniform(0.02, 0.7)), steady(draw, unit / 50), steady(draw, unit)


PLANTED = {
    "data slow": data_slow,
    "data slow now and then": now_and_then,
    "transfer slow": transfer_slow,
    "step slow": step_slow,
}


@pytest.mark.parametrize("situation", PLANTED)
@pytest.mark.parametrize("seed", range(10))
def test_the_planted_situation_is_named(situation, seed):
    draw = random.Random(seed)
    channel = run(*PLANTED[situation](draw, 10 ** draw.uniform(-4, 1)))
    verdict = diagnose_transfer(channel)
    assert verdict.situation == situation, (str(verdict), channel.wait_share)
    assert verdict.evidence
    assert verdict.advice
    if situation == "step slow":
        assert channel.wait_share < IDLE


@pytest.mark.parametrize("seed", range(10))
def test_data_that_ends_early_is_named(seed):
    draw = random.Random(seed)
    channel = run(*step_slow(draw, 10 ** draw.uniform(-4, 1)))
    channel.end("the data ended")
    verdict = diagnose_transfer(channel, waiting=0.001)
    assert verdict.situation == "ended early"
    assert f"after {channel.sent} batches" in verdict.evidence


def test_the_first_error_is_the_one_that_is_told():
    channel = TransferStatistics("planted")
    channel.end("the pipeline failed", ValueError("row 7 is bad"))
    channel.end("it was stopped")
    assert "row 7 is bad" in str(diagnose_transfer(channel))
    assert channel.ended == "the pipeline failed"


def test_a_batch_that_never_arrives_is_a_slow_transfer():
    channel = TransferStatistics("planted")
    channel.begin_transfer(host=1)
    assert diagnose_transfer(channel, waiting=5).situation == "transfer slow"


def test_before_there_is_anything_to_go_by_nothing_is_said():
    assert diagnose_transfer(TransferStatistics("planted")).situation == "too early to say"


def test_the_status_reads_as_mindspore_writes_it():
    channel = TransferStatistics("train")
    assert str(channel).splitlines() == [
        "channel_name: train",
        "have_sent: 0;",
        "host_queue: ;",
        "device_queue: ;",
        "      push_first_start_time -> push_first_end_time",
        "                         -1 -> -1",
        "            push_start_time -> push_end_time",
    ]
    channel.begin_transfer(host=1)
    lines = str(channel).splitlines()
    assert lines[2] == "host_queue: 1;"
    assert lines[5].endswith("-> -1")
    assert lines[7].endswith("-> ")
    for _ in range(14):
        channel.end_transfer(device=2)
        channel.begin_transfer(host=0)
    assert len(str(channel).splitlines()) == 17  # the last ten
    assert channel.to_dict()["have_sent"] == 14
