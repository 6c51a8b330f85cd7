"""The gRPC server; it runs in the event loop of the HTTP server."""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from millrace._src.core.errors import ResourceError, ServeError
from millrace._src.core.log import get_logger
from millrace._src.core.optional import require
from millrace._src.serve.inference_service import InferenceService, ModelVersion
from millrace._src.serve.limits import INLINE, MAX_STREAMS, BudgetError
from millrace._src.serve.protocols.registry import Call, GrpcInference, grpc_services
from millrace._src.serve.security import Guard

from .receive import Receiver, parse

__all__ = ["start_grpc"]

log = get_logger(__name__)

_CODES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    413: "RESOURCE_EXHAUSTED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
# bytes of a message besides its tensors
_AROUND = 1 << 20
# A connection is closed after this time when its calls have ended: a client that does not fetch a response cannot
# hold it forever.
_AGE = 60.0


async def start_grpc(service: InferenceService) -> tuple[Any, int]:
    """Start the server; returns it (it has ``stop(seconds)``) and its port."""
    grpc: Any = require("grpc", extra="serve", purpose="serving over gRPC")
    aio: Any = require("grpc.aio", extra="serve", purpose="serving over gRPC")
    config = service.config
    server = aio.server(
        options=[
            ("grpc.max_receive_message_length", config.max_body),
            ("grpc.max_send_message_length", config.max_response + _AROUND),
            ("grpc.max_concurrent_streams", MAX_STREAMS),
            ("grpc.max_connection_age_ms", round(1000 * max(_AGE, 2 * config.timeout))),
            ("grpc.max_connection_age_grace_ms", round(1000 * config.timeout)),
            ("grpc.so_reuseport", 0),
        ],
        maximum_concurrent_rpcs=config.max_queue + MAX_STREAMS,
    )
    guard, receiver = Guard(config), Receiver(config)
    for protocol in grpc_services():
        # clients send one message; as a stream it is read only after the checks, under a time limit
        handlers = {
            name: grpc.stream_unary_rpc_method_handler(
                _guard_call(
                    grpc,
                    service,
                    guard,
                    receiver,
                    functools.partial(parse, protocol.package, method.message),
                    _inference_call(protocol.name, service, method.call)
                    if isinstance(method.call, GrpcInference)
                    else method.call,
                    method.admin,
                )
            )
            for name, method in protocol.methods(service).items()
        }
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(protocol.service_name, handlers),)
        )
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


def _inference_call(protocol: str, service: InferenceService, method: GrpcInference) -> Call:
    """The call of an inference method of any protocol."""

    async def infer(request: Any, size: int, reserve: Callable[[int], None]) -> bytes:
        began, status = time.perf_counter(), 500
        version: ModelVersion | None = None
        try:
            version = service.find(*method.model(request))
            checked = method.check(request, version)
            if size <= INLINE:  # like `convert`, without its overhead
                inputs = method.decode(request, version)
            else:
                inputs = await service.convert(size, functools.partial(method.decode, request, version))
            outputs = await method.infer(version, inputs)
            response = method.response_size(checked, outputs)
            reserve(response)
            if response <= INLINE:
                data = method.encode(request, version, checked, outputs)
            else:
                encode = functools.partial(method.encode, request, version, checked, outputs)
                data = await service.convert(response, encode)
            status = 200
            return data
        except ServeError as error:
            status = error.status
            reply = method.encode_error(request, error)
            if reply is None:
                raise
            return reply
        finally:
            service.record_request(version, protocol, status, began)

    return infer


def _guard_call(
    grpc: Any,
    service: InferenceService,
    guard: Guard,
    receiver: Receiver,
    parse_message: Callable[[bytes], Any],
    call: Call,
    admin: bool,
) -> Callable[..., Awaitable[bytes]]:
    async def respond(context: Any) -> bytes:
        guard.check_metadata(context.invocation_metadata())
        if admin:
            guard.check_admin_peer(context.peer())
        data = await receiver.read(context)

        def reserve(response: int) -> None:
            """Reserve the bytes of a response until the call has ended; small ones are bounded by their number."""
            lease = service.lease_response(response)
            if response > INLINE:
                context.add_done_callback(lambda _: lease.close())
            else:
                lease.close()

        size = len(data)
        with service.bodies.lease(size):
            if size <= INLINE:  # like `convert`, without its overhead
                request = parse_message(data)
            else:
                request = await service.convert(size, functools.partial(parse_message, data))
            del data
            return await call(request, size, reserve)

    async def handle(_: Any, context: Any) -> bytes:
        try:
            return await respond(context)
        except BudgetError as error:
            code, text = grpc.StatusCode.RESOURCE_EXHAUSTED, str(error)
        except ServeError as error:
            code, text = getattr(grpc.StatusCode, _CODES.get(error.status, "INTERNAL")), str(error)
        except Exception:
            log.exception("a gRPC request failed inside the server")
            code, text = grpc.StatusCode.INTERNAL, "internal server error; see the log of the server"
        await context.abort(code, text)
        return b""

    return handle
