"""``make_app``: a server as an ASGI application, from its configuration."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from millrace._src.core.errors import MillraceError, ServeError
from millrace._src.core.log import get_logger
from millrace._src.core.optional import require
from millrace._src.core.public import public
from millrace._src.serve import metrics
from millrace._src.serve.config import Config
from millrace._src.serve.inference_service import InferenceService, ModelVersion
from millrace._src.serve.limits import INLINE
from millrace._src.serve.protocols import mindspore_rest as mindspore
from millrace._src.serve.protocols import open_inference_http as v2
from millrace._src.serve.protocols.mindspore_instances import infer_instances
from millrace._src.serve.security import Guard
from millrace._src.serve.servable import model_load_error

from .request_body import Receive, Scope, Send, header, read_body, send_error, send_response

__all__ = ["App", "make_app"]

log = get_logger(__name__)

_INFER = re.compile(r"/v2/models/([^/]+)(?:/versions/([^/]+))?/infer")
_PREDICT = re.compile(r"/model/([^/:]+)(?:/version/([^/:]+))?:[^/:]+")


@public("serve")
def make_app(config: Config) -> App:
    """The server's ASGI application. It loads its models when it starts and ends its threads when it stops.

    Any ASGI server can run it, and so can Ray Serve; ``millrace serve`` runs it with uvicorn.
    """
    return App(config)


class App:
    """The application. The one hot path, a request to a model, is matched by hand; the rest is Starlette's router."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.service = InferenceService(config)
        self.guard = Guard(config)
        # whoever hosts several of these applications as one server puts in what does it for all of them
        self.reload: Callable[[str], Awaitable[list[int]]] = self.service.reload
        self.counters: Callable[[], Awaitable[bytes]] = self._counters
        self._router = _router(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope_type = scope["type"]
        if scope_type == "lifespan":
            await self._router(scope, receive, send)
            return
        if scope_type != "http":
            raise ServeError(f"only HTTP is served, not {scope_type}", 400)
        try:
            self.guard.check_request(scope)
            match = _INFER.fullmatch(scope["path"]) if scope["method"] == "POST" else None
            if match is not None:
                await self._infer(match[1], match[2] or "", scope, receive, send)
            elif scope["method"] == "POST" and (match := _PREDICT.fullmatch(scope["path"])) is not None:
                await self._predict(match[1], match[2] or "", scope, receive, send)
            else:
                await self._router(scope, receive, send)
        except ServeError as error:
            await send_error(send, error)
        except Exception:
            log.exception("a request to %s failed inside the server", scope["path"])
            await send_error(send, ServeError("the server failed on this request; its log says why", 500))

    async def _counters(self) -> bytes:
        return await asyncio.to_thread(self.service.metrics.text)

    async def _infer(self, name: str, number: str, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        version: ModelVersion | None = None
        config, service = self.config, self.service
        status = 500
        try:
            version = service.find(name, number)
            with service.bodies.lease() as held:
                body = await read_body(scope, receive, config.max_body, config.timeout, held, service.turns)
                size = v2.json_length(header(scope, b"inference-header-content-length"), len(body))
                work = len(body) if version.takes_bytes else size
                if work <= INLINE:  # as `convert`, without its cost
                    request, indexes, arrays = v2.decode_request(body, size, version, config.max_body)
                else:
                    decode = functools.partial(v2.decode_request, body, size, version, config.max_body)
                    request, indexes, arrays = await service.convert(work, decode)
                    del decode
                del body
                extra_bytes = sum(array.nbytes for array in arrays) - held.size
                if extra_bytes > 0:  # JSON of small numbers
                    held.grow(extra_bytes)
                outputs = await service.infer(version, arrays)
                del arrays
            size, work = v2.response_size(request, version, indexes, outputs)
            with service.lease_response(size):
                if work <= INLINE:
                    data, headers, content_type = v2.encode_response(request, version, indexes, outputs)
                else:
                    encode = functools.partial(v2.encode_response, request, version, indexes, outputs)
                    data, headers, content_type = await service.convert(work, encode)
                    del encode
                    if (size := sum(map(len, data))) > config.max_response:
                        raise service.too_large(size)
                del outputs
                status = 200
                await send_response(send, data, 200, content_type, headers)
        except ServeError as error:
            status = error.status
            raise
        finally:
            service.record_request(version, "v2-http", status, began)

    async def _predict(self, name: str, number: str, scope: Scope, receive: Receive, send: Send) -> None:
        """MindSpore Serving's REST; its errors have another name."""
        began = time.perf_counter()
        version: ModelVersion | None = None
        config, service = self.config, self.service
        status = 500
        try:
            version = service.find(name, number)
            with service.bodies.lease() as held:
                body = await read_body(scope, receive, config.max_body, config.timeout, held, service.turns)
                decode = functools.partial(mindspore.decode_request, version, body, config)
                prepared = await service.convert(len(body), decode)
                del body, decode
                results = await infer_instances(service, version, prepared)
                del prepared
            size = mindspore.response_size(results)
            with service.lease_response(size):
                data = await service.convert(size, functools.partial(mindspore.encode_response, results))
                if len(data) > config.max_response:
                    raise service.too_large(len(data))
                del results
                status = 200
                await send_response(send, data)
        except ServeError as error:
            status = error.status
            await send_error(send, error, "error_msg")
        finally:
            service.record_request(version, "mindspore-http", status, began)


def _router(app: App) -> Any:
    routing: Any = require("starlette.routing", extra="serve", purpose="serving a model")
    responses: Any = require("starlette.responses", extra="serve", purpose="serving a model")
    service = app.service

    def json_response(body: Any, status: int = 200) -> Any:
        return responses.JSONResponse(body, status)

    async def about(request: Any) -> Any:
        extensions = ["binary_tensor_data", "model_repository"]
        return json_response({"name": "millrace", "version": _version(), "extensions": extensions})

    async def live(request: Any) -> Any:
        return json_response({"live": True})

    async def ready(request: Any) -> Any:
        return json_response({"ready": service.ready}, 200 if service.ready else 503)

    async def model(request: Any) -> Any:
        version = service.find(request.path_params["name"], request.path_params.get("version", ""))
        return json_response(v2.metadata(version, list(service.models[version.model])))

    async def model_ready(request: Any) -> Any:
        version = service.find(request.path_params["name"], request.path_params.get("version", ""))
        body = {"name": version.model, "ready": service.ready}
        return json_response(body, 200 if service.ready else 503)

    async def index(request: Any) -> Any:
        return json_response(
            [
                {"name": name, "version": str(number), "state": "READY"}
                for name, versions in service.models.items()
                for number in sorted(versions)
            ]
        )

    async def load(request: Any) -> Any:
        app.guard.check_admin(request.scope)
        name = request.path_params["name"]
        try:
            numbers = await app.reload(name)
        except ServeError:
            raise
        except MillraceError as error:
            raise model_load_error(error) from error
        return json_response({"name": name, "versions": [str(number) for number in numbers]})

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

    route = routing.Route
    named = "/v2/models/{name}"
    routes = [
        route("/v2", about),
        route("/v2/health/live", live),
        route("/v2/health/ready", ready),
        route("/metrics", counters),
        route("/v2/repository/index", index, methods=["GET", "POST"]),
        route("/v2/repository/models/{name}/load", load, methods=["POST"]),
    ]
    for base in (named, named + "/versions/{version}"):
        routes += [route(base, model), route(base + "/ready", model_ready)]
    return routing.Router(routes, default=nothing, lifespan=lifespan, redirect_slashes=False)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("millrace")
    except PackageNotFoundError:
        return "0"
