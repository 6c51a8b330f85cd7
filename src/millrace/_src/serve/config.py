"""Server configuration: models, addresses, limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public

from .limits import MAX_BODY, MAX_CONNECTIONS, MAX_RESPONSE, TOTAL_FACTOR
from .security import check_host_name, check_origin

__all__ = ["BATCHING", "RUNTIMES", "Config"]

RUNTIMES = ("auto", "onnxruntime")
BATCHING = ("auto", "on", "off")


@public("serve")
@dataclasses.dataclass(frozen=True)
class Config:
    """Configuration of a server; ``make_app(Config(...))`` returns its ASGI application.

    `models` maps names to a file (``.mindir`` or ``.onnx``), a folder with one numbered folder per version, or a
    ``Servable``. Requests that arrive during a computation form the next batch, up to `max_batch` rows. On an idle
    server a request waits `max_wait_ms` for others; None waits up to one millisecond, and only if requests were
    concurrent recently. A request may wait and compute for `timeout` seconds. The server rejects requests beyond
    `max_queue` waiting ones, and bodies over `max_body` bytes before it reads them. A response has at most
    `max_response` bytes. All bodies together have at most `max_body_total` bytes, all responses `max_response_total`;
    None is 8 times the largest one. Without a `token` the Host header must be a loopback name, `host`, or one of
    `allowed_hosts`. Web pages of other origins may send requests only if `allowed_origins` lists them. `batching`
    "auto" batches requests to a model only if its rows are independent; "on" rejects a model for which that is not
    shown, "off" computes each request alone. `runtime` is the runtime of ONNX files: "onnxruntime", or "auto", which
    uses MNN where it gives the same results faster.

    >>> Config({"digits": "digits.mindir"}, max_batch=16).max_batch
    16
    """

    models: Mapping[str, Any]
    host: str = "127.0.0.1"
    port: int = 8000
    # 0: any free port; None: no gRPC
    grpc_port: int | None = None
    max_batch: int = 32
    max_wait_ms: float | None = None
    batching: str = "auto"
    max_queue: int = 1000
    max_body: int = MAX_BODY
    timeout: float = 30.0
    # compute threads per batch; 0: the cores divided by the workers
    threads: int = 0
    runtime: str = "auto"
    # batches computed in parallel: more give higher throughput and higher latency
    workers: int = 1
    token: str | None = None
    certificate: str | None = None
    key: str | None = None
    # seconds for which a stopping server still serves requests while it reports that it is not ready
    drain: float = 0.0
    max_response: int = MAX_RESPONSE
    # None: TOTAL_FACTOR times the largest one
    max_body_total: int | None = None
    max_response_total: int | None = None
    # maximum HTTP connections; beyond it the longest idle one is closed
    max_connections: int = MAX_CONNECTIONS
    # additional names in the Host header, for a server without a token; "*" is any name
    allowed_hosts: Sequence[str] = ()
    # other origins whose web pages may send requests, as "https://app.example.com"; "*" is any origin
    allowed_origins: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.models:
            raise ArgumentValueError("a server needs a model: Config({'name': 'file.mindir'})")
        for name in self.models:
            if not name or name in (".", "..") or set(name) & set("/:?#%\n\r ") or not name.isprintable():
                raise ArgumentValueError(
                    f"the name of a model is part of an address, and may not hold '/', ':', '?', '#', '%' or "
                    f"spaces, but got {name!r}"
                )
        least = {
            "max_batch": 1,
            "max_wait_ms": 0,
            "max_queue": 1,
            "max_body": 1,
            "max_response": 1,
            "max_connections": 1,
            "workers": 1,
            "threads": 0,
            "drain": 0,
        }
        if self.max_wait_ms is None:  # None: adaptive
            del least["max_wait_ms"]
        for field, smallest in least.items():
            if not getattr(self, field) >= smallest:
                raise ArgumentValueError(f"{field} is at least {smallest}, but got {getattr(self, field)}")
        for total, largest in (("max_body_total", "max_body"), ("max_response_total", "max_response")):
            size = getattr(self, total)
            if size is not None and size < getattr(self, largest):
                raise ArgumentValueError(
                    f"{total}: expected at least {largest}, {getattr(self, largest)}, got {size}. "
                    f"Raise {total}, or lower {largest}"
                )
        for field, check in (("allowed_hosts", check_host_name), ("allowed_origins", check_origin)):
            if isinstance(getattr(self, field), str):
                raise ArgumentTypeError(
                    f"{field}: expected a list of texts, got the text {getattr(self, field)!r}. Write it as a list"
                )
            object.__setattr__(self, field, tuple(check(text) for text in getattr(self, field)))
        if self.runtime not in RUNTIMES:
            raise ArgumentValueError(f"runtime is one of {', '.join(RUNTIMES)}, but got {self.runtime!r}")
        if self.batching not in BATCHING:
            raise ArgumentValueError(f"batching is one of {', '.join(BATCHING)}, but got {self.batching!r}")
        if not self.timeout > 0:
            raise ArgumentValueError(f"timeout is a number of seconds above 0, but got {self.timeout}")
        if (self.certificate is None) != (self.key is None):
            raise ArgumentValueError("TLS needs both 'certificate' and 'key'")
        if self.token == "":
            raise ArgumentValueError("the token is empty. Omit it to serve without a token")

    @property
    def body_budget(self) -> int:
        """Maximum bytes of all request bodies together."""
        return TOTAL_FACTOR * self.max_body if self.max_body_total is None else self.max_body_total

    @property
    def response_budget(self) -> int:
        """Maximum bytes of all responses together."""
        return (
            TOTAL_FACTOR * self.max_response if self.max_response_total is None else self.max_response_total
        )
