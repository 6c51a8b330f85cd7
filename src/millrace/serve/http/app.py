"""``make_app``: a server as an ASGI application, from its configuration."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from millrace.core.errors import MillraceError, ServeError
from millrace.core.log import get_logger
from millrace.core.optional import require
from millrace.serve import metrics
from millrace.serve.config import Config
from millrace.serve.servable import refused
from millrace.serve.service import Service, Version

from . import mindspore, v2
from .body import Receive, Scope, Send, answer, header, read, refuse

__all__ = ["App", "make_app"]

log = get_logger(__name__)

_INFER = re.compile(r"/v2/models/([^/]+)(?:/versions/([^/]+))?/infer")
_PREDICT = re.compile(r"/model/([^/:]+)(?:/version/([^/:]+))?:[^/:]+")
# what may be asked without a token: whether the server lives and is ready
_OPEN = ("/v2/health/live", "/v2/health/ready")


def make_app(config: Config) -> App:
    """The server's ASGI application. It loads its models when it starts and ends its threads when it stops.

    Any ASGI server can run it, and so can Ray Serve; ``millrace serve`` runs it with uvicorn.
    """
    return App(config)


class App:
    """The application. The one hot path, a request to a model, is matched by hand; the rest is Starlette's router."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.service = Service(config)
        # whoever hosts several of these applications as one server puts in what does it for all of them
        self.reload: Callable[[str], Awaitable[list[int]]] = self.service.reload
        self.counters: Callable[[], Awaitable[bytes]] = self._counters
        self._router = _router(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "lifespan":
            await self._router(scope, receive, send)
            return
        if kind != "http":
            raise ServeError(f"only HTTP is served, not {kind}", 400)
        try:
            self._admit(scope)
            found = _INFER.fullmatch(scope["path"]) if scope["method"] == "POST" else None
            if found is not None:
                await self._infer(found[1], found[2] or "", scope, receive, send)
            elif scope["method"] == "POST" and (found := _PREDICT.fullmatch(scope["path"])) is not None:
                await self._predict(found[1], found[2] or "", scope, receive, send)
            else:
                await self._router(scope, receive, send)
        except ServeError as error:
            await refuse(send, error)
        except Exception:
            log.exception("a request to %s failed inside the server", scope["path"])
            await refuse(send, ServeError("the server failed on this request; its log says why", 500))

    async def _counters(self) -> bytes:
        return await asyncio.to_thread(self.service.metrics.text)

    def _admit(self, scope: Scope) -> None:
        token = self.config.token
        if token is None or scope["path"] in _OPEN:
            return
        given = header(scope, b"authorization") or ""
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            what = "another one" if given else "none"
            raise ServeError(
                f"expected the header 'Authorization: Bearer TOKEN' with the server's token, got {what}", 401
            )

    async def _infer(self, name: str, number: str, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        version: Version | None = None
        config = self.config
        status = 500
        try:
            version = self.service.find(name, number)
            body = await read(scope, receive, config.max_body, config.timeout)
            head = header(scope, b"inference-header-content-length")
            request, arrays = v2.decoded(body, head, version, config.max_body)
            made = await self.service.infer(version, arrays)
            data, more, kind = v2.encoded(request, version, made)
            status = 200
            await answer(send, data, 200, kind, more)
        except ServeError as error:
            status = error.status
            raise
        finally:
            self.service.ended(version, "v2-http", status, began)

    async def _predict(self, name: str, number: str, scope: Scope, receive: Receive, send: Send) -> None:
        """MindSpore Serving's REST; its errors have another name."""
        began = time.perf_counter()
        version: Version | None = None
        status = 500
        try:
            version = self.service.find(name, number)
            body = await read(scope, receive, self.config.max_body, self.config.timeout)
            made = await mindspore.predicted(self.service, version, body)
            status = 200
            await answer(send, made)
        except ServeError as error:
            status = error.status
            await refuse(send, error, "error_msg")
        finally:
            self.service.ended(version, "mindspore-http", status, began)


def _router(app: App) -> Any:
    routing: Any = require("starlette.routing", extra="serve", purpose="serving a model")
    responses: Any = require("starlette.responses", extra="serve", purpose="serving a model")
    service = app.service

    def said(body: Any, status: int = 200) -> Any:
        return responses.JSONResponse(body, status)

    async def about(request: Any) -> Any:
        extensions = ["binary_tensor_data", "model_repository"]
        return said({"name": "millrace", "version": _version(), "extensions": extensions})

    async def live(request: Any) -> Any:
        return said({"live": True})

    async def ready(request: Any) -> Any:
        return said({"ready": service.ready}, 200 if service.ready else 503)

    async def model(request: Any) -> Any:
        version = service.find(request.path_params["name"], request.path_params.get("version", ""))
        return said(v2.metadata(version, list(service.models[version.model])))

    async def model_ready(request: Any) -> Any:
        version = service.find(request.path_params["name"], request.path_params.get("version", ""))
        body = {"name": version.model, "ready": service.ready}
        return said(body, 200 if service.ready else 503)

    async def index(request: Any) -> Any:
        return said(
            [
                {"name": name, "version": str(number), "state": "READY"}
                for name, versions in service.models.items()
                for number in sorted(versions)
            ]
        )

    async def load(request: Any) -> Any:
        name = request.path_params["name"]
        try:
            numbers = await app.reload(name)
        except ServeError:
            raise
        except MillraceError as error:
            raise refused(error) from error
        return said({"name": name, "versions": [str(number) for number in numbers]})

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
