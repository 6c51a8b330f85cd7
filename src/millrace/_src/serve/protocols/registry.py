"""Registry of serving protocols.

A protocol is a module of this package that registers an `HttpProtocol` or a `GrpcService`. The servers iterate over
the registered objects: routing, limits, access checks, error responses and metrics are common to all protocols.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from millrace._src.core.errors import ServeError
from millrace._src.serve.inference_service import InferenceService, ModelVersion
from millrace._src.serve.limits import Lease

__all__ = [
    "Call",
    "GrpcInference",
    "GrpcMethod",
    "GrpcService",
    "HttpProtocol",
    "HttpResponse",
    "grpc_services",
    "http_protocols",
    "register_grpc",
    "register_http",
]

# The modules of this package that register protocols. HTTP protocols are matched in this order.
MODULES = ("open_inference_http", "mindspore_rest", "open_inference_grpc", "mindspore_grpc")

Scope = MutableMapping[str, Any]
# A call takes the request, its size, and a function that reserves the bytes of the response; it returns these bytes.
# The size is an argument because a message computes it by serializing itself.
Call = Callable[[Any, int, Callable[[int], None]], Awaitable[bytes]]


class HttpResponse(NamedTuple):
    """An encoded response: the parts of its body, additional headers, and the content type."""

    parts: list[Any]
    headers: Iterable[tuple[bytes, bytes]] = ()
    content_type: bytes = b"application/json"


class HttpProtocol(ABC):
    """An HTTP protocol: which requests it serves, and how they are decoded and encoded."""

    # the label of the protocol in the metrics, and the key of the message in an error response
    name: ClassVar[str]
    error_key: ClassVar[str] = "error"

    @abstractmethod
    def match(self, path: str) -> tuple[str, str] | None:
        """Model and version of the inference request at this path, "" for the default version; None for others."""

    @abstractmethod
    def request_size(self, scope: Scope, body: bytes, version: ModelVersion) -> tuple[int, int]:
        """A size that `decode` needs, and the number of bytes to convert, which decides about a thread."""

    @abstractmethod
    def decode(
        self, body: bytes, size: int, version: ModelVersion, service: InferenceService
    ) -> tuple[Any, Any]:
        """The request, and its inputs for `infer`."""

    @abstractmethod
    def infer(
        self, service: InferenceService, version: ModelVersion, inputs: Any, lease: Lease
    ) -> Awaitable[Any]:
        """Compute the outputs. `lease` holds the bytes of the request; it grows if the inputs are larger."""

    @abstractmethod
    def response_size(self, request: Any, version: ModelVersion, outputs: Any) -> tuple[int, int]:
        """Upper bounds of the size of the response, and of its bytes to convert."""

    @abstractmethod
    def encode(self, request: Any, version: ModelVersion, outputs: Any) -> HttpResponse:
        """Encode the response."""

    def routes(self, app: Any) -> list[Any]:
        """Further routes of the protocol, for Starlette's router."""
        return []


class GrpcInference(ABC):
    """The inference method of a gRPC service: how its requests are decoded, and its responses encoded."""

    def __init__(self, service: InferenceService) -> None:
        self.service = service

    @abstractmethod
    def model(self, request: Any) -> tuple[str, str | int]:
        """Model and version of a request, "" or 0 for the default version."""

    @abstractmethod
    def check(self, request: Any, version: ModelVersion) -> Any:
        """Check a request before it is decoded; the result goes to `response_size` and `encode`."""

    @abstractmethod
    def decode(self, request: Any, version: ModelVersion) -> Any:
        """The inputs for `infer`."""

    @abstractmethod
    def infer(self, version: ModelVersion, inputs: Any) -> Awaitable[Any]:
        """Compute the outputs."""

    @abstractmethod
    def response_size(self, checked: Any, outputs: Any) -> int:
        """Upper bound of the size of the response."""

    @abstractmethod
    def encode(self, request: Any, version: ModelVersion, checked: Any, outputs: Any) -> bytes:
        """Encode the response."""

    def encode_error(self, request: Any, error: ServeError) -> bytes | None:
        """A response with the error, for protocols that have one; None for a gRPC status."""
        return None


class GrpcMethod(NamedTuple):
    """A method: its request message, its implementation, and whether it needs administrative rights."""

    message: str
    call: Call | GrpcInference
    admin: bool = False


class GrpcService(ABC):
    """A gRPC service: its methods by name."""

    # the label of the protocol in the metrics, the full name of the service, and the package of its messages
    name: ClassVar[str]
    service_name: ClassVar[str]
    package: ClassVar[str]

    @abstractmethod
    def methods(self, service: InferenceService) -> dict[str, GrpcMethod]:
        """The methods of the service by name."""


_http: list[HttpProtocol] = []
_grpc: list[GrpcService] = []

H = TypeVar("H", bound=HttpProtocol)
G = TypeVar("G", bound=GrpcService)


def register_http(protocol: type[H]) -> type[H]:
    """Register an HTTP protocol. A class decorator."""
    _http.append(protocol())
    return protocol


def register_grpc(service: type[G]) -> type[G]:
    """Register a gRPC service. A class decorator."""
    _grpc.append(service())
    return service


@functools.cache
def _load() -> None:
    """Import the modules of `MODULES`: each registers its protocols."""
    from . import mindspore_grpc, mindspore_rest, open_inference_grpc, open_inference_http  # noqa: F401


def _position(protocol: HttpProtocol | GrpcService) -> int:
    return MODULES.index(type(protocol).__module__.rpartition(".")[2])


def http_protocols() -> tuple[HttpProtocol, ...]:
    """The registered HTTP protocols, in the order of `MODULES`."""
    _load()
    return tuple(sorted(_http, key=_position))


def grpc_services() -> tuple[GrpcService, ...]:
    """The registered gRPC services, in the order of `MODULES`."""
    _load()
    return tuple(sorted(_grpc, key=_position))
