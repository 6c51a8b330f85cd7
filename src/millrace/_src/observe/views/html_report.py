"""HTML report of a run: diagnosis, history, time per stage, and the plan.

The page is self-contained: no scripts, fonts or requests. Names come from the user and are escaped.
"""

from __future__ import annotations

import platform
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millrace._src.data.plan.bind import Plan
from millrace._src.data.plan.explain import describe
from millrace._src.data.plan.node import Node, walk
from millrace._src.data.plan.nodes.physical import Segment

from .formatting import (
    count,
    file_and_line,
    format_cache_stats,
    format_count,
    format_workers,
    megabytes,
    per_second,
    plain_name,
    seconds,
)
from .svg import Box, line_chart, strip, tree

if TYPE_CHECKING:
    from millrace._src.observe.report import Report

__all__ = ["page"]


def page(report: Report, plan: Plan, title: str) -> str:
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_style()}</style></head><body><main>",
        f"<header><h1>{escape(title)}</h1><small>{_when()}</small></header>",
        _diagnosis_section(report),
        _tiles(report),
        _tuned(report),
        _over_time(report),
        _stages(report),
        _plans(report, plan),
        f"<footer>{escape(report.headline())}.</footer></main></body></html>\n",
    ]
    return "\n".join(parts)


def _style() -> str:
    return (Path(__file__).parent / "style.css").read_text(encoding="utf-8")


def _when() -> str:
    return escape(f"{time.strftime('%Y-%m-%d %H:%M')} · Python {platform.python_version()}")


def _tuned(report: Report) -> str:
    """The changes of autotune, if it is on."""
    if not report.tuned:
        return ""
    head, *lines = report.tuned
    listed = "".join(f"<li>{escape(line.strip())}</li>" for line in lines)
    return f'<section class="card"><h2>{escape(head[:1].upper() + head[1:])}</h2><ul>{listed}</ul></section>'


# diagnosis ----------------------------------------------------------------------------------------


def _diagnosis_section(report: Report) -> str:
    diagnosis = report.verdict
    if not diagnosis.stage:
        return f'<section class="card verdict fine"><h2>{escape(diagnosis.evidence[0])}.</h2></section>'
    fine = "" if diagnosis.change is not None or diagnosis.bottleneck == "cores full" else " fine"
    where = file_and_line(diagnosis.where)
    badge = _BOTTLENECK_NAMES.get(diagnosis.bottleneck, diagnosis.bottleneck)
    parts = [
        f'<section class="card verdict{fine}"><span class="badge">{escape(badge)}</span>',
        f"<h2>The bottleneck is {escape(plain_name(diagnosis.stage))}",
        f" <small>{escape(where)}</small></h2><ul>" if where else "</h2><ul>",
        *(f"<li>{escape(line)}</li>" for line in diagnosis.evidence),
        "</ul>",
    ]
    if diagnosis.change is None:
        parts.append(f"<p>{escape(diagnosis.advice)}</p>")
    else:
        parts.append(
            f"<p>{escape(diagnosis.advice.partition(':')[0])}:</p><pre><code>{escape(diagnosis.change.call)}</code></pre>"
        )
        now, then = diagnosis.rate / diagnosis.predicted_rate, 1.0
        parts.append('<div class="race">')
        for name, share, rows, css_class in (
            ("now", now, diagnosis.rate, ""),
            ("predicted", then, diagnosis.predicted_rate, "next"),
        ):
            gain = f" ({diagnosis.gain:.1f}x)" if css_class else ""
            parts.append(
                f'<span>{name}</span><div class="rail"><i class="{css_class}" style="width:{share:.1%}"></i></div>'
                f"<b>{escape(per_second(rows, 'row'))}{gain}</b>"
            )
        parts.append("</div>")
    return "".join(parts) + "</section>"


_BOTTLENECK_NAMES = {"gil": "Python holds the GIL", "nothing": "no single bottleneck"}


def _tiles(report: Report) -> str:
    waited = report.consumer_wait + report.consumer_busy
    slowest = max(
        ((op, stage) for stage in report.stages for op in stage["ops"]),
        key=lambda pair: pair[0]["cpu" if 2 * pair[1]["cpu"] > pair[1]["busy"] else "busy"],
        default=None,
    )
    tiles = [
        (count(report.rate), f"rows per second{', after the start-up' * report.start_left_out}"),
        (count(report.rows), f"rows in {seconds(report.elapsed)}"),
        *([(count(report.delivered), "batches")] if report.unit == "batch" else []),
        ("-" if report.first_batch is None else seconds(report.first_batch), "to the first batch"),
        (megabytes(report.peak_bytes), f"held at most, of {megabytes(report.budget_bytes)}"),
        (f"{report.cores_used:.2f} of {report.cores}", "cores used"),
        (f"{report.consumer_wait / waited:.0%}" if waited else "-", "of the time the consumer waited"),
    ]
    rendered = [
        f'<div class="card tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
        for value, name in tiles
    ]
    if slowest is not None and slowest[0]["busy"]:
        op = slowest[0]
        seconds_per_row = op["busy"] / max(1, op["rows"])
        cost = (
            f"{seconds_per_row * 1e3:.2f} ms"
            if seconds_per_row >= 1e-3
            else f"{seconds_per_row * 1e6:.1f} µs"
        )
        rendered.append(
            f'<div class="card tile"><b class="name" title="{escape(op["name"])}">{escape(plain_name(op["name"]))}</b>'
            f"<span>slowest op, {cost} for each row</span></div>"
        )
    return f'<div class="tiles">{"".join(rendered)}</div>'


# over time ----------------------------------------------------------------------------------------


def _over_time(report: Report) -> str:
    head = "<h2>Over time</h2>"
    history = report.history
    if history is None or len(history["at"]) < 3:
        return (
            f'{head}<p class="card dim">No history was kept. Iterate inside <code>with ds.monitor():</code>, '
            "or set <code>MILLRACE_MONITOR=1</code>, to show throughput, queues and memory here.</p>"
        )
    at, rows = history["at"], history["rows"]
    # a batch is delivered at one moment: each rate is computed over several points
    back = max(2, len(at) // 30)
    starts = [max(0, i - back) for i in range(1, len(at))]
    rates = [(at[i], (rows[i] - rows[s]) / max(1e-9, at[i] - at[s])) for i, s in enumerate(starts, 1)]
    held = list(zip(at, history["bytes_held"], strict=True))
    near = max(history["bytes_held"]) > 0.2 * report.budget_bytes
    limit = float(report.budget_bytes) if near else None
    memory = line_chart(held, megabytes, label="bytes held over time", limit=limit, limit_name="budget")
    note = "" if near else f" <small>of a budget of {megabytes(report.budget_bytes)}</small>"
    fills = []
    for number, stage in enumerate(report.stages):
        fill = [(t, f[number]) for t, f in zip(at, history["queue_fill"], strict=True)]
        if any(share for _, share in fill):
            name = plain_name(stage["name"])
            chart = strip(fill, label=f"queue of {name}")
            fills.append(
                f'<span title="{escape(name)}">{escape(name)}</span>{chart}<b>{stage["queue_fill"]:.0%}</b>'
            )
    queues = (
        f'<div class="card wide"><h3>Queues, how full <small>(empty: it is waited for)</small></h3>'
        f'<div class="fills">{"".join(fills)}</div></div>'
        if fills
        else ""
    )
    return (
        f'{head}<div class="two"><div class="card"><h3>Rows per second</h3>'
        f"{line_chart(rates, count, label='rows per second over time')}</div>"
        f'<div class="card"><h3>Bytes held{note}</h3>{memory}</div>{queues}</div>'
    )


# where the time went ------------------------------------------------------------------------------


def _stages(report: Report) -> str:
    rows = "".join(_stage(report, stage) for stage in report.stages)
    legend = (
        '<p class="legend"><i style="background:var(--accent)"></i>computing<i style="background:var(--wait)"></i>'
        'waiting (disk, network, GIL)<i style="background:var(--rule)"></i>idle</p>'
    )
    return f'<h2>Where the time went</h2><div class="card">{legend}{rows}</div>'


def _stage(report: Report, stage: dict[str, Any]) -> str:
    guilty = report.verdict.stage in [stage["name"], *(op["name"] for op in stage["ops"])]
    on = format_workers(stage["workers"], stage["kind"]) if stage["ops"] else stage["kind"]
    chunks = f" in {format_count(stage['chunks'], 'chunk')}" if stage["chunks"] else ""
    facts = [f"{format_count(stage['given'], stage['unit'])}{chunks}"]
    facts.append(f"waited for {seconds(stage['wait_in'])}")
    if stage["wait_out"]:
        facts.append(f"waited for queue space {seconds(stage['wait_out'])}")
    if stage["working"] < stage["workers"]:
        facts.append(
            f"{stage['working']} of {stage['workers']} threads work: more would be in each other's way"
        )
    if stage["budget_waits"]:
        facts.append(
            f"held back by the memory budget at {stage['budget_waits'] / max(1, stage['chunks']):.0%} of its chunks"
        )
    if stage["cache"]:
        facts.append(f"cache: {format_cache_stats(stage['cache'])}")
    if stage["spilled_bytes"]:
        facts.append(f"{megabytes(stage['spilled_bytes'])} of rows waited on disk")
    ops = ""
    if len(stage["ops"]) > 1:
        most = max(op["busy"] for op in stage["ops"]) or 1.0
        ops = "".join(
            f'<span title="{escape(op["name"])}">{escape(plain_name(op["name"]))} '
            f"<small>{escape(file_and_line(op['where']))}</small></span>"
            f"{_bar(op['busy'], op['cpu'], most)}<em>{seconds(op['busy'])}</em>"
            for op in stage["ops"]
        )
        ops = f'<div class="ops">{ops}</div>'
    return (
        f'<div class="stage{" guilty" if guilty else ""}"><div class="top"><b>{escape(plain_name(stage["name"]))}</b>'
        f"<small>{escape(file_and_line(stage['where']))}</small><small>{escape(on)}</small>"
        f"<span>{per_second(stage['rate'], stage['unit'])}</span></div>"
        f"{_share_bar(stage)}"
        f'<div class="facts">{"".join(f"<span>{escape(fact)}</span>" for fact in facts)}</div>{ops}</div>'
    )


def _share_bar(stage: dict[str, Any]) -> str:
    """A bar with the busy time of the workers, divided into computing and waiting."""
    computing = stage["cpu"] / stage["busy"] if stage["busy"] else 0.0
    return _bar(stage["utilisation"], stage["utilisation"] * computing, 1.0)


def _bar(busy: float, cpu: float, whole: float) -> str:
    """A bar with computing and waiting as shares of the whole."""
    if whole <= 0 or busy <= 0:
        return '<div class="bar"></div>'
    work, wait = min(1.0, min(cpu, busy) / whole), min(1.0, max(0.0, busy - cpu) / whole)
    return (
        f'<div class="bar" title="computing {work:.0%}, waiting {wait:.0%}">'
        f'<i class="work" style="width:{work:.1%}"></i><i class="wait" style="width:{wait:.1%}"></i></div>'
    )


# the plan -----------------------------------------------------------------------------------------


def _plans(report: Report, plan: Plan) -> str:
    # stages are made inputs first, as walk goes; a stage of row numbers costs nothing and is not counted
    stages = dict(zip((id(node) for node in walk(plan.root)), report.stages, strict=False))

    def written(node: Node) -> Box:
        return Box(
            plain_name(describe(node)), _lines(node), is_bottleneck=describe(node) == report.verdict.stage
        )

    def run(node: Node) -> Box:
        stage = stages.get(id(node))
        if stage is None:
            return Box(node.label, _lines(node))
        guilty = report.verdict.stage in [stage["name"], *(op["name"] for op in stage["ops"])]
        share = stage["utilisation"] if stage["ops"] else None
        lines = (
            [f"{format_workers(stage['workers'], stage['kind'])}, {per_second(stage['rate'], stage['unit'])}"]
            if stage["ops"]
            else []
        )
        if isinstance(node, Segment) and len(node.ops) > 1:
            lines += [f"{i + 1}. {plain_name(op['name'])}" for i, op in enumerate(stage["ops"])]
        title = " + ".join(op.label for op in node.ops) if isinstance(node, Segment) else node.label
        return Box(title, tuple(lines) or _lines(node), share, guilty)

    trees = (
        ("As you wrote it", tree(plan.logical, lambda n: n.inputs, written, label="the plan as written")),
        ("As it ran", tree(plan.root, lambda n: n.inputs, run, label="the plan as run")),
    )
    sections = "".join(f'<div class="card"><h3>{name}</h3>{svg}</div>' for name, svg in trees)
    return f'<h2>The plan</h2><div class="two">{sections}</div>'


# arguments that are in the title already, or that are not informative
_OMITTED = ("order", "operations", "predicate", "drop_remainder", "reset_each_epoch")


def _lines(node: Node) -> tuple[str, ...]:
    shown = [
        f"{k}={v}"
        for k, v in node.details().items()
        if v not in (None, [], {}, "", False) and k not in _OMITTED
    ]
    where = file_and_line(node.call_site)
    return tuple(filter(None, (", ".join(shown), where)))
