"""Metrics of a run in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["CONTENT_TYPE", "prometheus_text"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = dict[str, Any]
Sample = tuple[Labels, float]


def prometheus_text(now: dict[str, Any]) -> str:
    """Format the result of ``RunState.snapshot()``.

    >>> print(
    ...     prometheus_text(
    ...         {"status": "live", "elapsed": 2.5, "pipelines": [], "channels": [], "trainings": []}
    ...     )
    ... )
    # HELP millrace_up Whether the run is active.
    # TYPE millrace_up gauge
    millrace_up 1
    # HELP millrace_elapsed_seconds Seconds since the run began.
    # TYPE millrace_elapsed_seconds gauge
    millrace_elapsed_seconds 2.5
    <BLANKLINE>
    """
    lines = []
    for name, metric_type, help_text, samples in _families(now):
        rendered = [f"{name}{_labels(labels)} {_value(value)}" for labels, value in samples]
        if rendered:
            lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {metric_type}", *rendered]
    return "".join(f"{line}\n" for line in lines)


def _families(now: dict[str, Any]) -> Iterator[tuple[str, str, str, list[Sample]]]:
    yield "millrace_up", "gauge", "Whether the run is active.", [({}, now["status"] == "live")]
    yield "millrace_elapsed_seconds", "gauge", "Seconds since the run began.", [({}, now["elapsed"])]
    for name, key, metric_type, help_text in _PIPELINE:
        yield (
            name,
            metric_type,
            help_text,
            [({"pipeline": entry["number"]}, entry[key]) for entry in now["pipelines"]],
        )
    for name, key, metric_type, help_text in _STAGE:
        yield (
            name,
            metric_type,
            help_text,
            [
                (_stage_labels(entry, index, stage), stage[key])
                for entry in now["pipelines"]
                for index, stage in enumerate(entry["stages"])
                if stage[key] is not None
            ],
        )
    yield (
        "millrace_predicted_gain_ratio",
        "gauge",
        "How many times as fast the advised change would be.",
        [
            ({"pipeline": entry["number"]}, entry["verdict"]["gain"])
            for entry in now["pipelines"]
            if entry["verdict"]
        ],
    )
    for name, key, metric_type, help_text in _CHANNEL:
        yield (
            name,
            metric_type,
            help_text,
            [(_channel_labels(entry), entry[key]) for entry in now["channels"]],
        )
    yield (
        "millrace_channel_seconds_total",
        "counter",
        "Seconds by activity of a channel.",
        [
            ({**_channel_labels(entry), "part": part}, value)
            for entry in now["channels"]
            for part, value in entry["seconds"].items()
        ],
    )
    for suffix, help_text in (
        ("", "Batches in a ring buffer."),
        ("_slots", "Slots of a ring buffer."),
    ):
        yield (
            f"millrace_ring_batches{suffix}",
            "gauge",
            help_text,
            [
                ({**_channel_labels(entry), "ring": ring}, entry[f"{key}{suffix}"])
                for entry in now["channels"]
                for ring, key in (("host", "host"), ("device", "ring"))
                if entry[f"{key}_slots"]
            ],
        )
    for name, key, metric_type, help_text in _TRAINING:
        yield (
            name,
            metric_type,
            help_text,
            [
                ({"training": entry["number"], "network": entry["network"]}, float(entry[key]))
                for entry in now["trainings"]
                if entry[key] is not None
            ],
        )


_PIPELINE = (
    ("millrace_rows_total", "rows", "counter", "Rows that were delivered."),
    (
        "millrace_batches_total",
        "batches",
        "counter",
        "Batches, or rows where there are none, that were delivered.",
    ),
    ("millrace_epochs_total", "epochs", "counter", "Epochs that came to their end."),
    ("millrace_rows_per_second", "rate", "gauge", "Rows in a second, over the last seconds."),
    (
        "millrace_consumer_wait_ratio",
        "wait_share",
        "gauge",
        "Share of the time in which the consumer waited for rows.",
    ),
    ("millrace_held_bytes", "held", "gauge", "Bytes that the pipeline holds."),
    ("millrace_held_limit_bytes", "limit", "gauge", "Bytes that the pipeline may hold."),
)
_STAGE = (
    ("millrace_stage_given_total", "given", "counter", "Rows or batches that a stage produced."),
    (
        "millrace_stage_busy_ratio",
        "busy",
        "gauge",
        "Share of the time in which the workers of a stage were busy.",
    ),
    ("millrace_stage_queue_fill_ratio", "fill", "gauge", "How full the queue behind a stage is."),
)
_CHANNEL = (
    ("millrace_channel_sent_total", "sent", "counter", "Batches that reached the device."),
    ("millrace_channel_taken_total", "taken", "counter", "Batches that steps took."),
    ("millrace_channel_bytes_total", "bytes", "counter", "Bytes that were sent."),
    (
        "millrace_channel_wait_ratio",
        "wait_share",
        "gauge",
        "Share of the time in which steps waited for a batch.",
    ),
)
_TRAINING = (
    ("millrace_steps_total", "steps", "counter", "Steps that were made."),
    ("millrace_step", "step", "gauge", "The number of the step."),
    ("millrace_epoch", "epoch", "gauge", "The number of the epoch."),
    ("millrace_steps_per_second", "steps_rate", "gauge", "Steps in a second, over the last seconds."),
    ("millrace_step_seconds", "step_seconds", "gauge", "Seconds of a step without its waiting."),
    ("millrace_step_wait_ratio", "wait_share", "gauge", "Share of the time in which steps waited for data."),
    ("millrace_step_wait_seconds_total", "waited", "counter", "Seconds in which steps waited for data."),
    ("millrace_loss", "loss", "gauge", "The loss."),
    ("millrace_learning_rate", "rate", "gauge", "The learning rate."),
)


def _stage_labels(pipeline: dict[str, Any], index: int, stage: dict[str, Any]) -> Labels:
    # two stages may have the same name: the number distinguishes them
    return {"pipeline": pipeline["number"], "stage": f"{index} {stage['name']}", "unit": stage["unit"]}


def _channel_labels(channel: dict[str, Any]) -> Labels:
    return {"channel": channel["number"], "device": channel["device"]}


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _value(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
