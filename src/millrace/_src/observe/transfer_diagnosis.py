"""Diagnosis of a host-to-device transfer: data, transfer or step is the bottleneck, with evidence and advice."""

from __future__ import annotations

import dataclasses
import statistics

from millrace._src.core.public import public
from millrace._src.core.transfer_statistics import ENDED, TransferStatistics

from .transfer_stages import Stage, slowest, waited_for

__all__ = ["SITUATIONS", "TOO_EARLY", "TransferDiagnosis", "diagnose_transfer"]

SITUATIONS = ("data slow", "data slow now and then", "transfer slow", "step slow", "ended early")
TOO_EARLY = "too early to say"

# Below this share of waiting, data is not the bottleneck.
IDLE = 0.05
# The minimum number of steps: the first ones wait while the ring buffers fill.
FEW = 4
# A wait that is many times the median is a hiccup; if hiccups make up most of the waiting time, they are the cause.
HICCUP, MOSTLY = 5.0, 0.6

FASTER = "Make data faster: more workers for that stage, a cache, or cheaper transforms"


@public("transfer")
@dataclasses.dataclass(frozen=True)
class TransferDiagnosis:
    """The situation of a transfer, its evidence, the stage, and the advice.

    ``situation`` is one of ``"data slow"``, ``"data slow now and then"``, ``"transfer slow"``, ``"step slow"``,
    ``"ended early"``, and ``"too early to say"`` before enough steps have run.

    >>> print(
    ...     TransferDiagnosis(
    ...         "step slow", "steps waited 0.1% of the time", "Only a faster step helps", "the step"
    ...     )
    ... )
    step slow (the step): steps waited 0.1% of the time. Only a faster step helps.
    """

    situation: str
    evidence: str
    advice: str
    stage: str = ""

    def __str__(self) -> str:
        about = f" ({self.stage})" if self.stage else ""
        return f"{self.situation}{about}: {self.evidence}. {self.advice}."

    def to_dict(self) -> dict[str, str]:
        """As plain values."""
        return dataclasses.asdict(self)


@public("transfer")
def diagnose_transfer(channel: TransferStatistics, waiting: float = 0.0) -> TransferDiagnosis:
    """Diagnose a transfer from its counters; `waiting` is how long a step has been waiting, in seconds.

    >>> channel = TransferStatistics("train")
    >>> for _ in range(20):
    ...     channel.begin_transfer(host=0)
    ...     channel.end_transfer(device=1)
    ...     channel.record_step(waited=0.001, stepped=0.1)
    >>> diagnose_transfer(channel).situation
    'step slow'
    """
    if channel.error is not None or channel.stopped_early or channel.exhausted or (channel.ended and waiting):
        return _ended(channel)
    if not channel.sent:
        return _nothing(channel, waiting)
    if channel.taken < FEW and not waiting:
        return TransferDiagnosis(TOO_EARLY, f"{channel.taken} steps have run", "Look again after some more")
    waits = [*channel.waits, *([waiting] if waiting else [])]
    usual = channel.waited + waiting
    share = usual / max(usual + channel.stepping, 1e-9)
    if share < IDLE and not waiting:
        return TransferDiagnosis(
            "step slow",
            f"steps waited for data {share:.1%} of the time, and took {_each(channel.stepping, channel.taken)} each",
            "The device has all the data it can use; only a faster step helps",
            "the step",
        )
    if channel.moving > channel.data:
        return TransferDiagnosis(
            "transfer slow",
            f"steps waited {share:.0%} of the time; moving a batch took {_each(channel.moving, channel.sent)}, "
            f"making it {_each(channel.data, channel.sent)}",
            "Send fewer bytes: keep images uint8 and normalise them on the device, or send a smaller type",
            _transfer(channel),
        )
    held, times, middle = _hiccups(waits)
    stage = slowest(channel)
    if held > MOSTLY and times < len(waits) / 2:
        return TransferDiagnosis(
            "data slow now and then",
            f"{times} of the last {len(waits)} steps hold {held:.0%} of the waiting, up to {max(waits):.3g} s; "
            f"the usual one waited {middle:.3g} s",
            "Look for rows that take long (dataset.report() names the stage) and prefetch more: "
            "config.set_prefetch_size, or a larger ring",
            stage.name,
        )
    return TransferDiagnosis(
        "data slow",
        f"steps waited {share:.0%} of the time; the pipeline took {_each(channel.data, channel.sent)} a batch, a "
        f"step {_each(channel.stepping, channel.taken)}{_share_of(stage)}",
        stage.advice or FASTER,
        stage.name,
    )


def _ended(channel: TransferStatistics) -> TransferDiagnosis:
    counted = f"{channel.sent} batches" + (
        "" if channel.total_batches is None else f" of {channel.total_batches}"
    )
    if channel.error is not None:
        failed = f"{type(channel.error).__name__}: {channel.error}"
        return TransferDiagnosis(
            "ended early",
            f"{channel.ended} after {counted}: {failed}",
            "Fix the cause of the error; steps that waited failed because of it",
            "the data",
        )
    if channel.stopped_early:
        return TransferDiagnosis(
            "ended early",
            f"the steps ended after {channel.taken} batches, while the data had more: {counted} were sent",
            "If that was not meant, make the number of steps and the number of batches agree: "
            "dataset.get_dataset_size(), sink_size, num_epochs; or look for the error that ended the steps",
            "the step",
        )
    who = "the data" if channel.ended == ENDED else "whoever stopped it"
    return TransferDiagnosis(
        "ended early",
        f"{channel.ended} after {counted}, {channel.taken} of them used, and a step requested another batch",
        "Make the number of steps and the number of batches agree: dataset.get_dataset_size(), sink_size, num_epochs",
        who,
    )


def _nothing(channel: TransferStatistics, waiting: float) -> TransferDiagnosis:
    if channel.last:
        return TransferDiagnosis(
            "transfer slow",
            "the transfer of a batch to the device has started, but has not ended",
            "The device does not take it: look for its own errors, and for memory that is used up",
            _transfer(channel),
        )
    if not waiting:
        return TransferDiagnosis(TOO_EARLY, "no step has requested a batch", "Check again after some steps")
    return TransferDiagnosis(
        "data slow",
        f"the pipeline has produced no batch in the {waiting:.3g} s since the request",
        "Loop over the dataset alone to see whether rows come: `for row in dataset: ...`, or `dataset.report()`",
        waited_for(channel),
    )


def _transfer(channel: TransferStatistics) -> str:
    return f"the way to {channel.device}"


def _share_of(stage: Stage) -> str:
    return f"; of its work, {stage.share:.0%} is there" if stage.share else ""


def _hiccups(waits: list[float]) -> tuple[float, int, float]:
    """The share of hiccups in the total waiting time, their number, and the median wait."""
    middle = statistics.median(waits)
    floor = max(HICCUP * middle, statistics.fmean(waits))
    large = [wait for wait in waits if wait > floor]
    whole = sum(waits)
    return (sum(large) / whole if whole else 0.0), len(large), middle


def _each(seconds: float, count: int) -> str:
    average = seconds / max(count, 1)
    return f"{1000 * average:.3g} ms" if average < 1 else f"{average:.3g} s"
