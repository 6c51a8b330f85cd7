"""Diagnosis of a pipeline run: bottleneck, evidence, recommended change and predicted throughput."""

from __future__ import annotations

import dataclasses
from typing import Any

from millrace._src.core.executor_traits import executor_traits
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.statistics import RunStats, StageStats

from .performance_model import PerformanceModel
from .recommendations import Candidate, list_candidates, slowest_op
from .views.formatting import count, format_count, per_second, plain_name, seconds, short_name

__all__ = ["Recommendation", "Diagnosis", "diagnose"]

# A smaller gain is not worth a change, and is within the error of the model.
WORTH = 1.1
# Changes with gains this close to the best are equivalent; the first one in the list below is the easiest.
CLOSE = 0.9
EASIEST = (
    "num_parallel_workers", "memory_budget", "chunk_rows", "python_multiprocessing", "batch_size", "random_access"
)  # fmt: skip
# A shorter run is not diagnosed, nor one whose start-up took a larger share of the measured time than this.
MIN_SECONDS, MIN_BATCHES, MAX_START = 0.2, 5, 0.25
# Start-up is reported if it took this share of the run and this many seconds.
START_SHARE, START_SECONDS = 0.4, 0.5
# A worker computes if at least this share of its busy time is processor time.
COMPUTES = 0.5


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """A recommended change: ``call`` for people, ``knob``, ``value`` and ``arguments`` for programs."""

    knob: str
    value: Any
    arguments: dict[str, Any]
    op: str
    where: str
    call: str


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """The bottleneck of a run. Rates are rows per second; without a recommended change they are equal.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset(list(range(1000))).batch(10)
    >>> for row in data.create_tuple_iterator(num_epochs=1):
    ...     pass
    >>> verdict = data.report().verdict
    >>> verdict.predicted >= verdict.rate > 0
    True
    """

    bottleneck: str
    stage: str
    where: str
    evidence: tuple[str, ...]
    advice: str
    change: Recommendation | None
    rate: float
    predicted_rate: float

    @property
    def gain(self) -> float:
        """The expected speedup of the change."""
        return self.predicted_rate / self.rate if self.rate else 1.0

    @property
    def kind(self) -> str:
        """The name of `bottleneck` in version 0.2.0."""
        return self.bottleneck

    @property
    def predicted(self) -> float:
        """The name of `predicted_rate` in version 0.2.0."""
        return self.predicted_rate

    def at(self, rate: float) -> Diagnosis:
        """The same gain for another rate: that of the whole run, if the start-up could not be excluded."""
        return dataclasses.replace(self, rate=rate, predicted_rate=rate * self.gain)

    def __str__(self) -> str:
        text = (
            f"The bottleneck is {short_name(self.stage)}: {'; '.join(self.evidence)}."
            if self.stage
            else self.evidence[0] + "."
        )
        text += f" {self.advice}" if self.advice else ""
        if self.change is not None:
            text += f" From {count(self.rate)} to about {per_second(self.predicted_rate, 'row')} ({self.gain:.1f}x)."
        return text

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values.

        >>> Diagnosis("nothing", "", "", ("Nothing was delivered yet",), "", None, 0.0, 0.0).to_dict()["kind"]
        'nothing'
        """
        names = {"bottleneck": "kind", "predicted_rate": "predicted"}  # the keys of version 0.2.0
        values = {names.get(name, name): value for name, value in dataclasses.asdict(self).items()}
        return {**values, "evidence": list(self.evidence), "gain": self.gain}


def diagnose(run: RunStats, budget: int, cores: int | None = None) -> Diagnosis:
    """Diagnose a run from its counters; ``budget`` is its memory budget in bytes."""
    cores = cores or available_cores()
    model = PerformanceModel.of(run, cores)
    if model is None:
        text = "Nothing was delivered yet, so there is no bottleneck to name"
        return Diagnosis("nothing", "", "", (text,), "", None, 0.0, 0.0)
    slow_start = _slow_start(run)
    if _is_short(model, run):
        return slow_start or _too_short(model, run)
    best = _best(list(list_candidates(model, run, budget)))
    if slow_start is not None and (best is None or best.predicted < WORTH * model.measured):
        return slow_start
    if best is not None and best.predicted > WORTH * model.measured:
        return _with_change(model, run, best)
    return _without_change(model, run)


def _best(candidates: list[Candidate]) -> Candidate | None:
    most = max((candidate.predicted for candidate in candidates), default=0.0)
    near = [candidate for candidate in candidates if candidate.predicted >= CLOSE * most]
    return min(near, key=lambda candidate: EASIEST.index(candidate.knob), default=None)


# with a recommended change --------------------------------------------------------------------------


def _with_change(model: PerformanceModel, run: RunStats, best: Candidate) -> Diagnosis:
    stage = run.stages[best.stage] if best.stage >= 0 else None
    name = best.op.name if best.op else stage.name if stage else "the hand-over of single rows"
    where = best.op.where if best.op else stage.where if stage else ""
    bottleneck, evidence, advice = _explain_change(model, run, best, stage)
    call = _call(best, name)
    change = Recommendation(best.knob, best.value, best.arguments, name, where, call)
    advice = f"{advice}: {call}."
    return Diagnosis(bottleneck, name, where, evidence, advice, change, model.measured, best.predicted)


def _explain_change(
    model: PerformanceModel, run: RunStats, best: Candidate, stage: StageStats | None
) -> tuple[str, tuple[str, ...], str]:
    """(bottleneck, evidence, advice) of a change."""
    if best.knob == "batch_size":
        consumer = model.part(-1)
        assert consumer is not None
        rows = model.sums.rows / max(1, model.sums.delivered)
        cost = (consumer.per_batch + consumer.per_chunk) * rows * 1e6
        few = "1 row at a time is" if rows < 1.5 else f"{rows:.0f} rows at a time are"
        explanation = f"{few} handed out, which costs {cost:.0f} us each time"
        return "small chunks", (explanation,), "Let more rows share it"
    assert stage is not None
    sums = model.sums.stages[best.stage]
    if best.knob == "chunk_rows":
        rows = sums.rows_in / max(1, sums.chunks)
        text = f"a setting cuts the rows into chunks of {rows:.0f}, and the hand-over of chunks takes most of the time"
        return "small chunks", (text,), "Let the engine choose the size of chunks"
    if best.knob == "memory_budget":
        refused, chunks = max((s.refused / max(1, s.chunks), s.chunks) for s in model.sums.stages)
        text = f"at {min(1.0, refused):.0%} of {chunks} chunks the memory budget let no other one start"
        return "memory budget", (text, _busy_text(model, best.stage, stage)), "Increase it"
    if best.knob == "random_access":
        return (
            "slow source",
            ("it is read in one pass, by one thread", _row_cost_text(model, best.stage)),
            "A source with __getitem__ and __len__ can be read by several workers",
        )
    evidence = (_busy_text(model, best.stage, stage), _row_cost_text(model, best.stage))
    assert best.op is not None
    part = model.part(best.stage)
    computes = part is None or part.block < part.cpu
    if best.knob == "python_multiprocessing":
        held = "it is Python, which one thread at a time can run"
        if stage.working < stage.workers:
            held = f"its {stage.workers} threads only took turns at the GIL, so one of them works alone"
        return "gil", (held, *evidence), "Worker processes have a GIL each"
    if best.op.node_type == "Read":
        return "slow source", evidence, "Let more workers read"
    if computes:
        text = f"{model.cores} cores are there and {stage.workers} work{'s' * (stage.workers == 1)} on it"
        return "too few workers", (*evidence, text), "Let every core work on it"
    return "slow map", evidence, "While one row waits, other workers can continue"


def _busy_text(model: PerformanceModel, number: int, stage: StageStats) -> str:
    share = min(1.0, model.sums.stages[number].busy / (model.seconds * max(1, stage.working)))
    one = executor_traits(stage.stage_type).worker
    who = f"its {stage.working} {stage.stage_type} were" if stage.working > 1 else f"its one {one} was"
    return f"{who} busy {share:.0%} of the time"


def _row_cost_text(model: PerformanceModel, number: int) -> str:
    """The time per row in a stage, and whether it is spent computing or waiting."""
    sums, part = model.sums.stages[number], model.part(number)
    share = min(1.0, sums.cpu / sums.busy) if sums.busy else 0.0
    doing = "computing" if share > COMPUTES else "waiting"
    if doing == "waiting" and part is not None and not part.block:
        doing += " for a core or the GIL"
    return f"{_short(sums.busy / max(1, model.sums.rows))} for each row, {max(share, 1 - share):.0%} of it {doing}"


def _short(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


def _call(best: Candidate, name: str) -> str:
    """The call as the user would write it."""
    arguments = ", ".join(f"{key}={value!r}" for key, value in best.arguments.items())
    if best.knob == "memory_budget":
        return f'ds.config.set_memory_budget("{-(-best.value // 10**6)}MB")'
    if best.knob == "chunk_rows":
        return "leave chunk_rows unset"
    if best.knob == "batch_size":
        return f".batch({best.value})"
    head = plain_name(name)
    if best.op is None or best.op.node_type == "Read":
        return f"{head}(..., {arguments})"
    return (
        f".{head.removesuffix(')')}, ..., {arguments})"
        if head.endswith(")")
        else f".{head}(..., {arguments})"
    )


# too short to diagnose ------------------------------------------------------------------------------


def _is_short(model: PerformanceModel, run: RunStats) -> bool:
    whole = model.seconds >= run.consumer_wait + run.consumer_busy
    starting = (run.first_batch or 0.0) if whole else 0.0
    return (
        model.seconds < MIN_SECONDS
        or model.sums.delivered < MIN_BATCHES
        or starting > MAX_START * model.seconds
    )


def _too_short(model: PerformanceModel, run: RunStats) -> Diagnosis:
    what = "batch" if any(stage.batches for stage in run.stages) else "row"
    text = f"Too short to judge: {format_count(run.delivered, what)} in {seconds(run.elapsed)}"
    return Diagnosis("too short", "", "", (text,), "", None, model.measured, model.measured)


# without a recommended change -----------------------------------------------------------------------


def _slow_start(run: RunStats) -> Diagnosis | None:
    """A diagnosis if the first batch took a large part of the run."""
    first, total = run.first_batch or 0.0, run.elapsed
    if first < START_SECONDS or first < START_SHARE * total:
        return None
    rate = run.rows / total
    timing = f"{first:.1f} of {total:.1f} seconds had gone by when the first batch was there"
    shuffle = next((stage for stage in run.stages if stage.buffer is not None), None)
    if shuffle is None or shuffle.buffer is None:
        name = "the time to the first batch"
        advice = "It is paid once: more epochs from one iterator (num_epochs) share it."
        return Diagnosis("first batch", name, "", (timing,), advice, None, rate, rate)
    size = max(1, shuffle.buffer // 4)
    call = f".shuffle({size})"
    change = Recommendation("buffer_size", size, {"buffer_size": size}, shuffle.name, shuffle.where, call)
    filled = f"it gathers {shuffle.buffer} rows before one leaves"
    advice = f"A smaller buffer starts sooner: {call}; a source with random access needs none at all."
    predicted = run.rows / (total - first + first / 4)
    return Diagnosis(
        "shuffle buffer", shuffle.name, shuffle.where, (timing, filled), advice, change, rate, predicted
    )


def _without_change(model: PerformanceModel, run: RunStats) -> Diagnosis:
    """A diagnosis without a recommended change, with the reason."""
    sums = model.sums
    rate = model.measured
    theirs = sums.consumer_busy - sums.hand_out / max(1, sums.hand_outs) * sums.delivered
    if theirs > COMPUTES * model.seconds:
        share = sums.consumer_wait / model.seconds
        text = f"it waited for data only {share:.0%} of the time"
        advice = "A faster pipeline would change nothing."
        return Diagnosis("slow consumer", "the consumer", "", (text,), advice, None, rate, rate)
    busy = [(i, stage) for i, stage in enumerate(run.stages) if stage.ops]
    if not busy:
        text = "no part of the pipeline was busy for long, and the consumer took most of what there was"
        return Diagnosis("nothing", "the consumer", "", (text,), "", None, rate, rate)
    number, stage = max(busy, key=lambda pair: sums.stages[pair[0]].cpu)
    op = max(stage.ops, key=lambda op: op.cpu)
    spent = sums.stages[number].ops[stage.ops.index(op)][2] / sums.rows
    share = spent / model.cpu if model.cpu else 0.0
    if model.taken:
        text = f"they take {model.external_cores:.1f} of the {model.cores} cores, and this run uses the rest"
        advice = "Measure again without them before you change anything."
        return Diagnosis("other programs", "other programs", "", (text,), advice, None, rate, rate)
    if model.cores_saturated:
        half = model.cpu / (model.cpu - spent / 2)
        text = f"all {model.cores} cores are in use, and it takes {share:.0%} of the run's processor time"
        advice = (
            f"Only more cores or less work per row would help; at half its cost: {half:.1f} times the rate."
        )
        return Diagnosis("cores full", op.name, op.where, (text,), advice, None, rate, rate)
    op = slowest_op(stage, model.part(number))
    evidence = (_busy_text(model, number, stage), _row_cost_text(model, number))
    advice = "No single change that is known here would make it much faster."
    return Diagnosis("nothing", op.name, op.where, evidence, advice, None, rate, rate)
