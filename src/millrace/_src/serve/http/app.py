"""``make_app``: the server as an ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from millrace._src.core.errors import ServeError
from millrace._src.core.log import get_logger
from millrace._src.core.optional import require
from millrace._src.core.public import public
from millrace._src.serve import metrics
from millrace._src.serve.config import Config
from millrace._src.serve.inference_service import InferenceService, ModelVersion
from millrace._src.serve.limits import INLINE
from millrace._src.serve.protocols.registry import HttpProtocol, http_protocols
from millrace._src.serve.security import Guard

from .request_body import Receive, Scope, Send, read_body, send_error, send_response

__all__ = ["App", "make_app"]

log = get_logger(__name__)


@public("serve")
def make_app(config: Config) -> App:
    """Create the ASGI application of a server. It loads its models at startup and stops its threads at shutdown.

    Any ASGI server and Ray Serve can run it; ``millrace serve`` uses uvicorn.
    """
    return App(config)


class App:
    """The application. It matches inference requests itself, which is the hot path; Starlette routes the rest."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.service = InferenceService(config)
        self.guard = Guard(config)
        # a host of several applications replaces these by functions for all of them
        self.reload: Callable[[str], Awaitable[list[int]]] = self.service.reload
        self.counters: Callable[[], Awaitable[bytes]] = self._counters
        self._protocols = http_protocols()
        self._router = _router(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope_type = scope["type"]
        if scope_type == "lifespan":
            await self._router(scope, receive, send)
            return
        if scope_type != "http":
            raise ServeError(f"expected an HTTP request, got {scope_type}", 400)
        error_key = "error"
        try:
            self.guard.check_request(scope)
            if scope["method"] == "POST":
                for protocol in self._protocols:
                    if (model := protocol.match(scope["path"])) is not None:
                        error_key = protocol.error_key
                        await self._infer(protocol, model, scope, receive, send)
                        return
            await self._router(scope, receive, send)
        except ServeError as error:
            await send_error(send, error, error_key)
        except Exception:
            log.exception("a request to %s failed inside the server", scope["path"])
            await send_error(send, ServeError("internal server error; see the log of the server", 500))

    async def _counters(self) -> bytes:
        return await asyncio.to_thread(self.service.metrics.text)

    async def _infer(
        self, protocol: HttpProtocol, model: tuple[str, str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve an inference request of any protocol."""
        began = time.perf_counter()
        version: ModelVersion | None = None
        config, service = self.config, self.service
        status = 500
        try:
            version = service.find(*model)
            with service.bodies.lease() as held:
                body = await read_body(scope, receive, config.max_body, config.timeout, held, service.turns)
                size, work = protocol.request_size(scope, body, version)
                if work <= INLINE:  # like `convert`, without its overhead
                    request, inputs = protocol.decode(body, size, version, service)
                else:
                    decode = functools.partial(protocol.decode, body, size, version, service)
                    request, inputs = await service.convert(work, decode)
                    del decode
                del body
                outputs = await protocol.infer(service, version, inputs, held)
                del inputs
            size, work = protocol.response_size(request, version, outputs)
            with service.lease_response(size):
                if work <= INLINE:
                    response = protocol.encode(request, version, outputs)
                else:
                    encode = functools.partial(protocol.encode, request, version, outputs)
                    response = await service.convert(work, encode)
                    del encode
                if (size := sum(map(len, response.parts))) > config.max_response:
                    raise service.too_large(size)
                del outputs
                status = 200
                await send_response(send, response.parts, 200, response.content_type, response.headers)
        except ServeError as error:
            status = error.status
            raise
        finally:
            service.record_request(version, protocol.name, status, began)


def _router(app: App) -> Any:
    routing: Any = require("starlette.routing", extra="serve", purpose="serving a model")
    responses: Any = require("starlette.responses", extra="serve", purpose="serving a model")
    service = app.service

    async def counters(request: Any) -> Any:
        return responses.Response(await app.counters(), media_type=metrics.CONTENT_TYPE)

    async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
        raise ServeError(f"there is nothing at {unquote(scope['path'])[:80]!r}", 404)

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        try:
            await service.start()
            yield
        finally:
            await asyncio.to_thread(service.close)

    routes = [routing.Route("/metrics", counters)]
    for protocol in http_protocols():
        routes += protocol.routes(app)
    return routing.Router(routes, default=nothing, lifespan=lifespan, redirect_slashes=False)
