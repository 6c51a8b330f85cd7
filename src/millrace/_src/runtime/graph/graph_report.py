"""Report of Graph mode: captured, replayed and eager calls, and the reasons of graph breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millrace._src.core.public import public

from .replay import CachedProgram, CaptureCache, all_capture_caches

__all__ = ["GraphReport", "graph_report", "save_graphs"]


class GraphReport:
    """A line for each function or Cell that ran as a graph; ``to_dict`` returns the data."""

    def __init__(self, graphs: list[CaptureCache]) -> None:
        self.rows: list[dict[str, Any]] = [
            {
                "name": each.name,
                "recordings": sum(isinstance(entry, CachedProgram) for entry in each.entries.values()),
                "calls": sum(
                    len(e.program.calls) for e in each.entries.values() if isinstance(e, CachedProgram)
                ),
                "recorded": each.recorded,
                "replayed": each.replayed,
                "fell_back": each.eager_calls,
                "seconds": each.seconds,
                "why": [f"{reason.cause} at {reason.source_line}" for reason in each.graph_breaks()],
                "uncaptured": [
                    e.program.cuda_graph_failure
                    for e in each.entries.values()
                    if isinstance(e, CachedProgram) and e.program.cuda_graph_failure
                ],
            }
            for each in graphs
            if each.recorded or each.eager_calls
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """The report as plain values."""
        return self.rows

    def __str__(self) -> str:
        if not self.rows:
            return "No graph ran: set_context(mode=GRAPH_MODE), or decorate a function with @jit."
        lines = [f"{'graph':32} {'captured':>8} {'replayed':>8} {'eager':>8} {'calls':>6} {'capture':>10}"]
        for row in self.rows:
            lines.append(
                f"{row['name'][:32]:32} {row['recorded']:8,} {row['replayed']:8,} {row['fell_back']:8,} "
                f"{row['calls']:6,} {row['seconds'] * 1000:7.0f} ms"
            )
            lines += [f"  runs operation by operation: {why}" for why in row["why"]]
            lines += [f"  no CUDA Graph: {why}" for why in row["uncaptured"]]
        return "\n".join(lines)

    __repr__ = __str__


@public("millrace")
def graph_report() -> GraphReport:
    """The report of Graph mode for this process.

    >>> isinstance(graph_report().to_dict(), list)
    True
    """
    return GraphReport(all_capture_caches())


def save_graphs(folder: str) -> list[Path]:
    """Write every captured program as readable Python, one file each, with the user's source lines."""
    paths = []
    directory = Path(folder)
    directory.mkdir(parents=True, exist_ok=True)
    for number, graphs in enumerate(all_capture_caches()):
        entries = [entry for entry in graphs.entries.values() if isinstance(entry, CachedProgram)]
        for index, entry in enumerate(entries):
            name = "".join(letter if letter.isalnum() else "_" for letter in graphs.name)
            path = directory / f"{number:02}_{name}_{index}.py"
            path.write_text(entry.program.source, encoding="utf-8")
            paths.append(path)
    return paths
