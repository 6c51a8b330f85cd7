"""Merge the metrics of all replicas into one page with a replica label."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["merge_metrics"]


def merge_metrics(pages: Mapping[str, str]) -> str:
    r"""Merge Prometheus pages of replicas by name; the lines of a metric stay together.

    >>> print(merge_metrics({"a": '# TYPE n counter\nn{x="1"} 2\n', "b": "# TYPE n counter\nn 3\n"}), end="")
    # TYPE n counter
    n{replica="a",x="1"} 2
    n{replica="b"} 3
    """
    heads: dict[str, list[str]] = {}
    lines: dict[str, list[str]] = {}
    for replica, page in pages.items():
        metric = ""
        for line in page.splitlines():
            if line.startswith("# "):
                metric = line.split(" ", 3)[2]
                head = heads.setdefault(metric, [])
                if line not in head:
                    head.append(line)
            elif line:
                lines.setdefault(metric, []).append(_add_replica_label(line, replica))
    merged = [line for metric, head in heads.items() for line in (*head, *lines.get(metric, ()))]
    return "".join(f"{line}\n" for line in merged)


def _add_replica_label(line: str, replica: str) -> str:
    name, open_, rest = line.partition("{")
    if open_:
        return f'{name}{{replica="{replica}",{rest}'
    name, _, value = line.partition(" ")
    return f'{name}{{replica="{replica}"}} {value}'
