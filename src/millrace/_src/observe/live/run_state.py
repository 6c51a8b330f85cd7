"""State of a run from the lines of its event log: current numbers and texts for all views.

The terminal, the page and the metrics show the result of ``RunState.snapshot()``; they compute no numbers.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from millrace._src.observe.views.formatting import count, megabytes, per_second

from .event_validation import check_description, check_diagnosis, check_point, number_in, text_in

__all__ = ["RunState"]

Line = dict[str, Any]

# Rates are computed from the points of the last seconds.
WINDOW = 3.0
# The maximum number of series of one type; a file with more is invalid.
MOST = 256
# A smaller gain is not shown.
WORTH = 1.1


class SeriesWindow:
    """The points of one series in the last seconds, for its rates."""

    def __init__(self) -> None:
        self.points: deque[Line] = deque()
        self.diagnosis: Line | None = None
        self.description: Line = {}
        self.ended = False

    def add(self, point: Line) -> None:
        points = self.points
        if points and set(_lengths(points[-1])) != set(_lengths(point)):
            points.clear()  # another pipeline with the same number
        points.append(point)
        while len(points) > 2 and points[1]["t"] <= point["t"] - WINDOW:
            points.popleft()

    @property
    def last(self) -> Line:
        return self.points[-1]

    def since(self, name: str) -> float:
        """The increase of a counter in the last seconds."""
        return float(max(0.0, self.last[name] - self.points[0][name]))

    def since_each(self, name: str) -> list[float]:
        return [max(0.0, b - a) for a, b in zip(self.points[0][name], self.last[name], strict=True)]

    def since_ops(self) -> list[list[float]]:
        """Busy time of each op of each stage in the last seconds."""
        pairs = zip(self.points[0]["op_busy"], self.last["op_busy"], strict=True)
        return [[max(0.0, b - a) for a, b in zip(one, two, strict=False)] for one, two in pairs]

    @property
    def took(self) -> float:
        return float(self.last["t"] - self.points[0]["t"])


def _lengths(point: Line) -> list[tuple[str, int]]:
    return [(name, len(value)) for name, value in point.items() if isinstance(value, list)]


class RunState:
    """Applies lines; invalid lines are counted and ignored."""

    def __init__(self) -> None:
        self.damaged = 0
        self.head: Line = {}
        self.at = 0.0
        self.over: str | None = None
        self.curves: dict[str, dict[int, SeriesWindow]] = {"pipeline": {}, "channel": {}, "training": {}}

    def apply(self, line: Line) -> bool:
        """Apply one line; return whether it was valid."""
        try:
            self._take(line)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            self.damaged += 1
            return False
        return True

    def _take(self, line: Line) -> None:
        if "is" not in line:
            self.head = {
                "program": text_in(line["program"]),
                "pid": int(number_in(line["pid"])),
                "host": text_in(line["host"]),
                "rank": None if line["rank"] is None else int(number_in(line["rank"])),
                "started": number_in(line["started"]),
            }
            return
        at, event_type = number_in(line["t"]), line["is"]
        if event_type == "over":
            self.over = text_in(line["why"])
        elif event_type == "point":
            check_point(line)
            curve = self._curve(line)
            curve.add(line)
            curve.ended = bool(line.get("over") or line.get("ended"))
        elif event_type == "pipeline":
            check_description(line)
            self._curve(line).description = line
        elif event_type == "verdict":
            check_diagnosis(line)
            self._curve(line).diagnosis = line
        elif event_type == "end":
            self._curve(line).ended = True
        else:
            raise ValueError(event_type)
        self.at = max(self.at, at)

    def _curve(self, line: Line) -> SeriesWindow:
        series_type = next((series_type for series_type in self.curves if series_type in line), "")
        number = line[series_type]
        if not isinstance(number, int) or not 0 < number <= MOST:
            raise ValueError(number)
        return self.curves[series_type].setdefault(number, SeriesWindow())

    # snapshot ---------------------------------------------------------------------------------------

    def snapshot(self, ended: bool) -> dict[str, Any]:
        """All values for views; ``ended`` is whether the writer of the file has ended."""
        over = ended or self.over is not None
        pipelines = [
            _pipeline(number, curve, over or curve.ended)
            for number, curve in sorted(self.curves["pipeline"].items())
            if curve.points and len(curve.description.get("stages", ())) == len(curve.last["given"])
        ]
        return {
            **self.head,
            "elapsed": self.at,
            "when": _moment(self.head.get("started")),
            "status": _status(ended, self.over),
            "why": self.over or "",
            "pipelines": pipelines,
            "channels": [
                _channel(number, curve, over or curve.ended)
                for number, curve in sorted(self.curves["channel"].items())
                if curve.points
            ],
            "trainings": [
                _training(number, curve, over or curve.ended)
                for number, curve in sorted(self.curves["training"].items())
                if curve.points
            ],
            "damaged": self.damaged,
        }


def _status(ended: bool, over: str | None) -> str:
    if over is not None:
        return "failed" if over else "finished"
    return "gone" if ended else "live"


def _moment(started: Any) -> str:
    return "" if started is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(started))


def _pipeline(number: int, curve: SeriesWindow, over: bool) -> dict[str, Any]:
    last, description = curve.last, curve.description
    # the whole time of a finished run, the last seconds of an active one
    took = last["waited"] + last["between"] if over else curve.took
    rows = last["rows"] if over else curve.since("rows")
    outputs = last["given"] if over else curve.since_each("given")
    busy = last["busy"] if over else curve.since_each("busy")
    cpu = last["cpu"] if over else curve.since_each("cpu")
    wait_in = last["wait_in"] if over else curve.since_each("wait_in")
    op_busy = last["op_busy"] if over else curve.since_ops()
    wait_out = last["wait_out"] if over else curve.since_each("wait_out")
    waited = last["waited"] if over else curve.since("waited")
    between = last["between"] if over else curve.since("between")
    diagnosis = curve.diagnosis
    guilty, guilty_op = (diagnosis["guilty"], diagnosis["op"]) if diagnosis else ([], None)
    stages = []
    for index, stage in enumerate(description["stages"]):
        whole = took * stage["working"]
        share = _share(busy[index], whole)
        stages.append(
            {
                **{name: stage[name] for name in ("name", "place", "on", "unit", "feeds")},
                "ops": [
                    {
                        "name": name,
                        # its share of the time of the stage
                        "share": _share(spent, sum(op_busy[index])),
                        "guilty": index in guilty and number == guilty_op,
                    }
                    for number, (name, spent) in enumerate(zip(stage["ops"], op_busy[index], strict=False))
                ],
                "rate": _ratio(outputs[index], took),
                "rate_words": per_second(_ratio(outputs[index], took), stage["unit"]),
                "given": last["given"][index],
                "busy": share,
                "computing": min(share, _share(cpu[index], whole)),
                "fill": last["fill"][index] if stage["queue"] else None,
                "wait_in": _share(wait_in[index], took),
                "wait_out": _share(wait_out[index], took),
                "guilty": index in guilty,
            }
        )
    rate = _ratio(rows, took)
    return {
        "number": number,
        "title": " → ".join(_short_names(description["stages"])),
        "live": not over,
        "rows": last["rows"],
        "batches": last["batches"],
        "epochs": last["epochs"],
        "rate": rate,
        "rate_words": per_second(rate, "row"),
        "wait_share": _share(waited, waited + between),
        "held": last["held"],
        "peak": last["peak"],
        "limit": description["limit"],
        "held_words": f"{'held at most' if over else 'holds'} {megabytes(last['peak' if over else 'held'])} of "
        f"{megabytes(description['limit'])}",
        "stages": stages,
        "verdict": None if diagnosis is None else _diagnosis_state(diagnosis),
    }


def _short_names(stages: list[Line]) -> list[str]:
    """Names for the title: the first and the last stages."""
    names = [stage["name"].partition("(")[0].strip() for stage in stages]
    return names if len(names) <= 6 else [*names[:2], "…", *names[-3:]]


def _diagnosis_state(diagnosis: Line) -> dict[str, Any]:
    gain = _ratio(diagnosis["predicted"], diagnosis["now"]) or 1.0
    gain_text = ""
    if diagnosis["call"] and gain >= WORTH:
        gain_text = f"from {count(diagnosis['now'])} to about {per_second(diagnosis['predicted'], 'row')} ({gain:.1f}x)"
    names = ("kind", "stage", "place", "evidence", "advice", "call", "now", "predicted")
    return {**{name: diagnosis[name] for name in names}, "gain": gain, "gain_words": gain_text}


def _channel(number: int, curve: SeriesWindow, over: bool) -> dict[str, Any]:
    last = curve.last
    waited = last["waited"] if over else curve.since("waited")
    stepping = last["stepping"] if over else curve.since("stepping")
    moved = last["bytes"] if over else curve.since("bytes")
    took = last["waited"] + last["stepping"] if over else curve.took
    diagnosis = curve.diagnosis
    names = (
        "name",
        "device",
        "of",
        "sent",
        "taken",
        "bytes",
        "host",
        "host_slots",
        "ring",
        "ring_slots",
        "ended",
    )
    seconds = ("data", "moving", "full", "waited", "stepping")
    return {
        "number": number,
        "live": not over,
        **{name: last[name] for name in names},
        "seconds": {name: last[name] for name in seconds},
        "wait_share": _share(waited, waited + stepping),
        "rate": _ratio(moved, took),
        "rate_words": f"{megabytes(_ratio(moved, took))}/s",
        "verdict": None
        if diagnosis is None
        else {name: diagnosis[name] for name in ("situation", "evidence", "advice", "stage")},
    }


def _training(number: int, curve: SeriesWindow, over: bool) -> dict[str, Any]:
    last = curve.last
    steps = last["steps"] if over else curve.since("steps")
    seconds = last["seconds"] if over else curve.since("seconds")
    waited = last["waited"] if over else curve.since("waited")
    step_seconds = _ratio(seconds - min(waited, seconds), steps)
    share = _share(waited, seconds)
    names = (
        "network",
        "of",
        "step",
        "steps",
        "epoch",
        "epochs",
        "steps_in_epoch",
        "seconds",
        "waited",
        "loss",
        "rate",
    )
    return {
        "number": number,
        "live": not over,
        **{name: last[name] for name in names},
        "steps_rate": _ratio(steps, seconds),
        "step_seconds": step_seconds,
        "step_words": f"{step_seconds * 1e3:.3g} ms" if step_seconds < 1 else f"{step_seconds:.3g} s",
        "wait_share": share,
        # the speedup without waiting for data
        "gain": 1 / (1 - share) if share < 0.99 else 100.0,
    }


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0 else 0.0


def _share(a: float, b: float) -> float:
    return min(1.0, max(0.0, _ratio(a, b)))
