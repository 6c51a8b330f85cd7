"""What a history says, line by line: how everything stands now, as numbers and words for any view.

The terminal, the page and the metrics show what ``State.now()`` gives; none of them computes a number of its own.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from millrace._src.observe.views.formatting import count, megabytes, per_second

from .event_validation import check_description, check_point, check_verdict, number_in, text_in

__all__ = ["RunState"]

Line = dict[str, Any]

# A rate is that of the last seconds; points before them are left out of it.
WINDOW = 3.0
# Things of one kind in a file; more are no history of ours.
MOST = 256
# A gain below this is not worth a word.
WORTH = 1.1


class SeriesWindow:
    """The points of one thing that its rates come from: the last seconds."""

    def __init__(self) -> None:
        self.points: deque[Line] = deque()
        self.verdict: Line | None = None
        self.said: Line = {}
        self.ended = False

    def add(self, point: Line) -> None:
        points = self.points
        if points and set(_lengths(points[-1])) != set(_lengths(point)):
            points.clear()  # another pipeline under the same number
        points.append(point)
        while len(points) > 2 and points[1]["t"] <= point["t"] - WINDOW:
            points.popleft()

    @property
    def last(self) -> Line:
        return self.points[-1]

    def since(self, name: str) -> float:
        """How much was counted in the last seconds."""
        return float(max(0.0, self.last[name] - self.points[0][name]))

    def since_each(self, name: str) -> list[float]:
        return [max(0.0, b - a) for a, b in zip(self.points[0][name], self.last[name], strict=True)]

    def since_ops(self) -> list[list[float]]:
        """Of each op of each stage: seconds busy in the last seconds."""
        pairs = zip(self.points[0]["op_busy"], self.last["op_busy"], strict=True)
        return [[max(0.0, b - a) for a, b in zip(one, two, strict=False)] for one, two in pairs]

    @property
    def took(self) -> float:
        return float(self.last["t"] - self.points[0]["t"])


def _lengths(point: Line) -> list[tuple[str, int]]:
    return [(name, len(value)) for name, value in point.items() if isinstance(value, list)]


class RunState:
    """Reads lines; a line that is none of a history's is counted and left out."""

    def __init__(self) -> None:
        self.damaged = 0
        self.head: Line = {}
        self.at = 0.0
        self.over: str | None = None
        self.curves: dict[str, dict[int, SeriesWindow]] = {"pipeline": {}, "channel": {}, "training": {}}

    def apply(self, line: Line) -> bool:
        """Read one line; whether it was one."""
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
        at, kind = number_in(line["t"]), line["is"]
        if kind == "over":
            self.over = text_in(line["why"])
        elif kind == "point":
            check_point(line)
            curve = self._curve(line)
            curve.add(line)
            curve.ended = bool(line.get("over") or line.get("ended"))
        elif kind == "pipeline":
            check_description(line)
            self._curve(line).said = line
        elif kind == "verdict":
            check_verdict(line)
            self._curve(line).verdict = line
        elif kind == "end":
            self._curve(line).ended = True
        else:
            raise ValueError(kind)
        self.at = max(self.at, at)

    def _curve(self, line: Line) -> SeriesWindow:
        word = next((word for word in self.curves if word in line), "")
        number = line[word]
        if not isinstance(number, int) or not 0 < number <= MOST:
            raise ValueError(number)
        return self.curves[word].setdefault(number, SeriesWindow())

    # how it stands ----------------------------------------------------------------------------------

    def snapshot(self, ended: bool) -> dict[str, Any]:
        """Everything that views show; ``ended``: nobody writes to the file any more."""
        over = ended or self.over is not None
        pipelines = [
            _pipeline(number, curve, over or curve.ended)
            for number, curve in sorted(self.curves["pipeline"].items())
            if curve.points and len(curve.said.get("stages", ())) == len(curve.last["given"])
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
    last, said = curve.last, curve.said
    # all of one that has ended, the last seconds of one that goes on
    took = last["waited"] + last["between"] if over else curve.took
    rows = last["rows"] if over else curve.since("rows")
    given = last["given"] if over else curve.since_each("given")
    busy = last["busy"] if over else curve.since_each("busy")
    cpu = last["cpu"] if over else curve.since_each("cpu")
    waits = last["wait_in"] if over else curve.since_each("wait_in")
    op_busy = last["op_busy"] if over else curve.since_ops()
    room = last["wait_out"] if over else curve.since_each("wait_out")
    waited = last["waited"] if over else curve.since("waited")
    between = last["between"] if over else curve.since("between")
    verdict = curve.verdict
    guilty, guilty_op = (verdict["guilty"], verdict["op"]) if verdict else ([], None)
    stages = []
    for place, stage in enumerate(said["stages"]):
        whole = took * stage["working"]
        share = _share(busy[place], whole)
        stages.append(
            {
                **{name: stage[name] for name in ("name", "place", "on", "unit", "feeds")},
                "ops": [
                    {
                        "name": name,
                        # its part of what the stage did
                        "share": _share(spent, sum(op_busy[place])),
                        "guilty": place in guilty and number == guilty_op,
                    }
                    for number, (name, spent) in enumerate(zip(stage["ops"], op_busy[place], strict=False))
                ],
                "rate": _ratio(given[place], took),
                "rate_words": per_second(_ratio(given[place], took), stage["unit"]),
                "given": last["given"][place],
                "busy": share,
                "computing": min(share, _share(cpu[place], whole)),
                "fill": last["fill"][place] if stage["queue"] else None,
                "wait_in": _share(waits[place], took),
                "wait_out": _share(room[place], took),
                "guilty": place in guilty,
            }
        )
    rate = _ratio(rows, took)
    return {
        "number": number,
        "title": " → ".join(_short_names(said["stages"])),
        "live": not over,
        "rows": last["rows"],
        "batches": last["batches"],
        "epochs": last["epochs"],
        "rate": rate,
        "rate_words": per_second(rate, "row"),
        "wait_share": _share(waited, waited + between),
        "held": last["held"],
        "peak": last["peak"],
        "limit": said["limit"],
        "held_words": f"{'held at most' if over else 'holds'} {megabytes(last['peak' if over else 'held'])} of "
        f"{megabytes(said['limit'])}",
        "stages": stages,
        "verdict": None if verdict is None else _told(verdict),
    }


def _short_names(stages: list[Line]) -> list[str]:
    """The last stages say most; sources come first."""
    names = [stage["name"].partition("(")[0].strip() for stage in stages]
    return names if len(names) <= 6 else [*names[:2], "…", *names[-3:]]


def _told(verdict: Line) -> dict[str, Any]:
    gain = _ratio(verdict["predicted"], verdict["now"]) or 1.0
    words = ""
    if verdict["call"] and gain >= WORTH:
        words = (
            f"from {count(verdict['now'])} to about {per_second(verdict['predicted'], 'row')} ({gain:.1f}x)"
        )
    names = ("kind", "stage", "place", "evidence", "advice", "call", "now", "predicted")
    return {**{name: verdict[name] for name in names}, "gain": gain, "gain_words": words}


def _channel(number: int, curve: SeriesWindow, over: bool) -> dict[str, Any]:
    last = curve.last
    waited = last["waited"] if over else curve.since("waited")
    stepping = last["stepping"] if over else curve.since("stepping")
    moved = last["bytes"] if over else curve.since("bytes")
    took = last["waited"] + last["stepping"] if over else curve.took
    verdict = curve.verdict
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
        if verdict is None
        else {name: verdict[name] for name in ("situation", "evidence", "advice", "stage")},
    }


def _training(number: int, curve: SeriesWindow, over: bool) -> dict[str, Any]:
    last = curve.last
    made = last["steps"] if over else curve.since("steps")
    seconds = last["seconds"] if over else curve.since("seconds")
    waited = last["waited"] if over else curve.since("waited")
    each = _ratio(seconds - min(waited, seconds), made)
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
        "steps_rate": _ratio(made, seconds),
        "step_seconds": each,
        "step_words": f"{each * 1e3:.3g} ms" if each < 1 else f"{each:.3g} s",
        "wait_share": share,
        # with data always at hand
        "gain": 1 / (1 - share) if share < 0.99 else 100.0,
    }


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0 else 0.0


def _share(a: float, b: float) -> float:
    return min(1.0, max(0.0, _ratio(a, b)))
