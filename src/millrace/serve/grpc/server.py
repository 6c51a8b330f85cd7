"""The gRPC server, in the event loop of the HTTP one."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from millrace.core.errors import ResourceError, ServeError
from millrace.core.log import get_logger
from millrace.core.optional import require
from millrace.serve.service import Service

from . import mindspore, v2
from .messages import INFERENCE, SERVING, messages

__all__ = ["start_grpc"]

log = get_logger(__name__)

_CODES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 413: "RESOURCE_EXHAUSTED",
    429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip


async def start_grpc(service: Service) -> tuple[Any, int]:
    """Start it; the server, which has ``stop(seconds)``, and its port."""
    grpc: Any = require("grpc", extra="serve", purpose="serving over gRPC")
    aio: Any = require("grpc.aio", extra="serve", purpose="serving over gRPC")
    config = service.config
    most = config.max_body
    server = aio.server(
        options=[
            ("grpc.max_receive_message_length", most),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),
        ]
    )
    for package, name, methods in (
        (INFERENCE, v2.SERVICE, v2.methods(service)),
        (SERVING, mindspore.SERVICE, mindspore.methods(service)),
    ):
        classes = messages(package)
        handlers = {
            method: grpc.unary_unary_rpc_method_handler(
                _guarded(grpc, config.token, call),
                request_deserializer=classes[taken].FromString,
                response_serializer=lambda message: message.SerializeToString(),
            )
            for method, (taken, call) in methods.items()
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    host = f"[{config.host}]" if ":" in config.host else config.host
    where = f"{host}:{config.grpc_port}"
    try:
        if config.certificate is not None and config.key is not None:
            pair = (Path(config.key).read_bytes(), Path(config.certificate).read_bytes())
            port = server.add_secure_port(where, grpc.ssl_server_credentials([pair]))
        else:
            port = server.add_insecure_port(where)
    except RuntimeError as error:
        raise ResourceError(f"cannot listen on {where} for gRPC: {error}") from error
    await server.start()
    return server, int(port)


def _guarded(
    grpc: Any, token: str | None, call: Callable[[Any], Awaitable[Any]]
) -> Callable[..., Awaitable[Any]]:
    async def handle(request: Any, context: Any) -> Any:
        try:
            if token is not None:
                given = dict(context.invocation_metadata() or ()).get("authorization", "")
                if not hmac.compare_digest(str(given).encode(), f"Bearer {token}".encode()):
                    raise ServeError(
                        "expected the metadata 'authorization: Bearer TOKEN' with the server's token", 401
                    )
            return await call(request)
        except ServeError as error:
            code = _CODES.get(error.status, "INTERNAL")
            await context.abort(getattr(grpc.StatusCode, code), str(error))
        except Exception as error:
            if isinstance(error, grpc.aio.AbortError):
                raise
            log.exception("a gRPC request failed inside the server")
            await context.abort(
                grpc.StatusCode.INTERNAL, "the server failed on this request; its log says why"
            )

    return handle
