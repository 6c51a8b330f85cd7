"""Autotune configuration file in MindSpore's format: tuned parameters stored by plan fingerprint.

The file name is ``PREFIX_RANK.json``. It holds MindSpore's remark, summary and tree. The tree is the pipeline as JSON
with its tuned workers, which ``deserialize`` reads. Next to it the tuned values are stored by the fingerprint of their
plan, so that a training pipeline and its evaluation pipeline can share a file without mixing values.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from millrace._src.core.log import get_logger
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.tuned import AutotuneRecord
from millrace._src.data.plan.bind import Plan
from millrace._src.data.plan.fingerprint.plan_fingerprint import Fingerprint
from millrace._src.data.plan.node import Node
from millrace._src.data.plan.serialize import to_json

from .knobs import Knobs

__all__ = ["AutotuneFile"]

log = get_logger(__name__)

KEY, VERSION = "millrace", 1
# Number of plans that a file keeps (the latest), and the largest file size in bytes that is read.
MAX_PLANS = 32
MAX_BYTES = 16 << 20
# Environment variables in which launchers give the rank of this process.
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK_ID", "MS_NODE_ID")

UNCHANGED = "The pipeline was not the bottleneck, or no change made it faster: no value was changed."


def _rank() -> str:
    return next((os.environ[name] for name in RANKS if os.environ.get(name, "").isdigit()), "0")


class AutotuneFile:
    """The tuned values of one plan in one file."""

    def __init__(self, prefix: str, plan: Plan, fingerprint: Fingerprint) -> None:
        self.path = f"{prefix}_{_rank()}.json"
        self.plan, self.fingerprint = plan, fingerprint

    # reading ---------------------------------------------------------------------------------------

    def load(self, knobs: Knobs) -> dict[str, int]:
        """Values by knob from an earlier run of this plan; empty, with a log message, where there are none."""
        plans = self._plans()
        entry = plans.get(self.fingerprint.text) or plans.get(self.fingerprint.of_0_2_0().text)
        if entry is None:
            if plans:
                log.warning("%s", self._describe_mismatch(plans))
            return {}
        values: dict[str, int] = {}
        limits = {knob.name: knob for knob in knobs.knobs}
        for number in entry["numbers"]:
            knob = limits.get(number["knob"])
            if knob is not None and number["of"] == knobs.owner(knob):
                values[knob.name] = min(knob.maximum, max(knob.minimum, number["value"]))
        log.info("autotune starts with %d values from %s", len(values), self.path)
        return values

    def _describe_mismatch(self, plans: dict[str, Any]) -> str:
        latest = list(plans.values())[-1]
        differs = self.fingerprint.differences(latest["marks"])
        return (
            f"autotune: {self.path} holds values for another pipeline ({differs}); they are not used, and those of "
            "this one are added. Use a separate file for each pipeline to keep them separate."
        )

    def _plans(self) -> dict[str, Any]:
        """The entries of the file; empty for a file that cannot be read."""
        return _parse_plans(self._read())

    def _read(self) -> Any:
        file = Path(self.path)
        try:
            if not file.exists():
                return None
            if file.stat().st_size > MAX_BYTES:
                raise ValueError(f"it holds more than {MAX_BYTES} bytes")
            return json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            log.warning(
                "autotune: %s cannot be read and is ignored; it will be overwritten: %s", self.path, error
            )
            return None

    # writing ---------------------------------------------------------------------------------------

    def save(self, knobs: Knobs, values: dict[str, int], record: AutotuneRecord) -> bool:
        """Write the values and keep those of other plans. Returns False, with a log message, if writing fails."""
        numbers = [
            {"knob": knob.name, "of": knobs.owner(knob), "value": values[knob.name]}
            for knob in knobs.knobs
            if not knobs.is_adaptive(knob, values[knob.name])
        ]
        entry = {
            "marks": self.fingerprint.marks(),
            "cores": available_cores(),
            "rows_per_second": [record.first_rate, record.rate],
            "numbers": numbers,
        }
        plans = self._plans()
        plans.pop(self.fingerprint.text, None)
        plans.pop(self.fingerprint.of_0_2_0().text, None)
        kept = dict(list(plans.items())[-(MAX_PLANS - 1) :])
        tree, lines = self._tree(knobs, values)
        document = {
            "remark": f"Written by autotune. {_remark(record)}",
            "summary": lines,
            "tree": tree,
            KEY: {"version": VERSION, "plans": {**kept, self.fingerprint.text: entry}},
        }
        try:
            _write_atomically(self.path, json.dumps(document, indent=4))
        except OSError as error:
            log.warning("autotune: the tuned values could not be written to %s: %s", self.path, error)
            return False
        return True

    def _tree(self, knobs: Knobs, values: dict[str, int]) -> tuple[dict[str, Any], list[str]]:
        """The user's pipeline tree with the tuned values at each op, and a summary line for each op."""
        numbers = knobs.by_op(values)
        lines: list[str] = []
        tree = to_json(self.plan.logical)
        _fill_tuned_settings(self.plan.logical, tree, numbers, lines)
        return tree, lines


def _fill_tuned_settings(
    node: Node, tree: dict[str, Any], numbers: dict[int, tuple[int | None, int]], lines: list[str]
) -> None:
    for child, subtree in zip(node.inputs, tree["children"], strict=True):
        _fill_tuned_settings(child, subtree, numbers, lines)
    workers, ahead = numbers.get(node.op_id, (None, None))
    if workers is not None and "num_parallel_workers" in tree:
        tree["num_parallel_workers"] = workers
    if ahead is not None and "connector_queue_size" in tree:
        tree["connector_queue_size"] = ahead
    queue = tree.get("connector_queue_size", "NA")
    name = f"{node.label}(ID:{node.op_id})"
    lines.append(f"{name:20}(num_parallel_workers: {workers or 'NA'}, prefetch_size: {queue})")


def _remark(record: AutotuneRecord) -> str:
    changed = [f"{s.stage}: {s.knob} {s.before} -> {s.now}" for s in record.changed]
    if not changed:
        return UNCHANGED
    return f"{record.first_rate:.4g} -> {record.rate:.4g} rows/s; " + "; ".join(changed)


def _parse_plans(loaded: Any) -> dict[str, Any]:
    """Valid entries of a loaded file; everything else is ignored."""
    section = loaded.get(KEY) if isinstance(loaded, dict) else None
    plans = section.get("plans") if isinstance(section, dict) and section.get("version") == VERSION else None
    return {str(k): v for k, v in plans.items() if _is_entry(v)} if isinstance(plans, dict) else {}


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    marks, numbers = entry.get("marks"), entry.get("numbers")
    return (
        isinstance(marks, list)
        and all(isinstance(mark, str) for mark in marks)
        and isinstance(numbers, list)
        and all(
            isinstance(n, dict)
            and isinstance(n.get("knob"), str)
            and isinstance(n.get("of"), str)
            and type(n.get("value")) is int
            for n in numbers
        )
    )


def _write_atomically(path: str, text: str) -> None:
    """Write the file atomically: another process may read it at any time."""
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), suffix=".json.tmp")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
