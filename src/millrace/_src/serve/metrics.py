"""Prometheus metrics of a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.core.optional import require

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Metrics: requests by status, latency, batch sizes, compute time, loads, waiting requests."""

    def __init__(self, waiting: Callable[[], int]) -> None:
        client: Any = require("prometheus_client", extra="serve", purpose="serving a model")
        self._registry = client.CollectorRegistry()
        self._text = client.generate_latest
        shared = {"registry": self._registry}
        model = ("model", "version")
        self._requests = client.Counter(
            "millrace_serve_requests", "Requests by model, protocol and status", (*model, "protocol", "status"),
            **shared,
        )  # fmt: skip
        self._seconds = client.Histogram(
            "millrace_serve_request_seconds", "Latency from the complete request to its response", model,
            buckets=_SECONDS, **shared,
        )  # fmt: skip
        self._rows = client.Histogram(
            "millrace_serve_batch_rows", "Rows that were computed together", model, buckets=_ROWS, **shared
        )
        self._compute = client.Counter(
            "millrace_serve_compute_seconds", "Seconds in which batches were computed", model, **shared
        )
        self._loads = client.Counter(
            "millrace_serve_loads", "Loads of models, by their end", ("model", "status"), **shared
        )
        client.Gauge("millrace_serve_waiting", "Requests that wait or are computed", **shared).set_function(
            waiting
        )
        # cached: looking up a label takes longer than counting
        self._children: dict[tuple[Any, ...], Any] = {}

    def _of(self, metric: Any, *labels: str) -> Any:
        key = (id(metric), *labels)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = metric.labels(*labels)
        return child

    def request(self, model: str, version: str, protocol: str, status: int, seconds: float) -> None:
        """Count a finished request."""
        self._of(self._requests, model, version, protocol, str(status)).inc()
        self._of(self._seconds, model, version).observe(seconds)

    def batch(self, model: str, version: str) -> Callable[[int, int, float], None]:
        """Function that records a computed batch of this model."""
        rows_of, compute = self._of(self._rows, model, version), self._of(self._compute, model, version)

        def seen(requests: int, rows: int, seconds: float) -> None:
            rows_of.observe(rows)
            compute.inc(seconds)

        return seen

    def loaded(self, model: str, well: bool) -> None:
        """Count a load of a model, successful or failed."""
        self._of(self._loads, model, "ok" if well else "failed").inc()

    def text(self) -> bytes:
        """All metrics in Prometheus text format."""
        page: bytes = self._text(self._registry)
        return page
