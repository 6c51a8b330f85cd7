"""Run a server: HTTP on uvicorn, gRPC, signals, graceful shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from millrace._src.core.errors import ServeError
from millrace._src.core.log import get_logger
from millrace._src.core.optional import require
from millrace._src.core.public import public

from .config import Config
from .http.app import App, make_app
from .http.connection_limits import limited_http_protocol
from .sockets import bind_socket, url_of

__all__ = ["BackgroundServer", "run", "start"]

log = get_logger(__name__)

# Thread switch interval in seconds.
SWITCH_INTERVAL = 0.001
# Blocks of at least this size are returned to the system. Activations of most models are smaller.
LARGE_BLOCK = 8 << 20
_M_MMAP_THRESHOLD = -3  # of malloc.h


class ModelServer:
    """A server. `stop` may be called from any thread; SIGTERM stops it, SIGHUP reloads the models."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.socket = bind_socket(config.host, config.port)
        self.socket.set_inheritable(True)
        try:
            self.app: App = make_app(config)
            self._uvicorn = _create_uvicorn_server(config, self.app)
        except BaseException:
            self.socket.close()
            raise
        self.port: int = self.socket.getsockname()[1]
        self.grpc_port: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_event: asyncio.Event | None = None
        self._reloads: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """URL of the server."""
        return url_of(self.config, self.port)

    async def serve(self, started: Callable[[], None]) -> None:
        """Run until `stop`; `started` is called when the server is ready."""
        self._loop, self._stop_event = asyncio.get_running_loop(), asyncio.Event()
        service = self.app.service
        try:
            # before uvicorn starts, which ends the process if a model cannot be loaded
            await service.start()
        except BaseException:
            await asyncio.to_thread(service.close)
            raise
        serving = asyncio.create_task(self._uvicorn.serve(sockets=[self.socket]))
        remote: Any = None
        try:
            await self._up(serving)
            if self.config.grpc_port is not None:
                from .grpc.server import start_grpc

                remote, self.grpc_port = await start_grpc(self.app.service)
            started()
            stop_task = asyncio.create_task(self._stop_event.wait())
            await asyncio.wait((stop_task, serving), return_when=asyncio.FIRST_COMPLETED)
            stop_task.cancel()
            await self._left()
        finally:
            if remote is not None:
                await remote.stop(self.config.timeout)
            self._uvicorn.should_exit = True
            await serving

    async def _up(self, serving: asyncio.Task[None]) -> None:
        while not self._uvicorn.started:
            if serving.done():
                serving.result()
                raise ServeError("the server did not start; see the log", 500)
            await asyncio.sleep(0.005)

    async def _left(self) -> None:
        """Report that the server is not ready, and serve for `drain` more seconds: load balancers notice."""
        self.app.service.draining = True
        if self.config.drain:
            await asyncio.sleep(self.config.drain)

    def stop(self) -> None:
        """Complete the pending requests, then stop. A second call has no effect."""
        if self._loop is not None and self._stop_event is not None:
            with contextlib.suppress(RuntimeError):  # the event loop has already ended
                self._loop.call_soon_threadsafe(self._stop_event.set)

    def reload(self) -> None:
        """Reload every model while the current ones serve."""
        task = asyncio.ensure_future(self._reload())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def _reload(self) -> None:
        for name in self.config.models:
            try:
                await self.app.service.reload(name)
            except Exception as error:
                log.error(
                    "model '%s' could not be reloaded; its current version is still served: %s", name, error
                )


def _create_uvicorn_server(config: Config, app: App) -> Any:
    uvicorn: Any = require("uvicorn", extra="serve", purpose="serving a model")

    class Quiet(uvicorn.Server):
        """uvicorn's server without its signal handlers."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Quiet(
        uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="on", ws="none", server_header=False,
            http=limited_http_protocol(config.timeout, config.max_connections),
            ssl_certfile=config.certificate, ssl_keyfile=config.key, backlog=1024, log_config=None,
            timeout_graceful_shutdown=max(1, round(config.timeout)), timeout_keep_alive=75,
        )
    )  # fmt: skip


def _shorten_pauses() -> None:
    """Set process-wide options that keep other threads from blocking the event loop.

    A full garbage collection walks all objects of the imported modules and stops every thread for 0.1 s: they are
    frozen. The models are loaded afterwards, so that a reload frees them. The event loop waits for the GIL while a
    thread decodes a large body, several times for each request: the interval is shorter than Python's 5 ms.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_INTERVAL)


def _return_large_blocks() -> None:
    """Make glibc return freed blocks of `LARGE_BLOCK` bytes to the system, so that old bodies do not keep memory.

    By default glibc raises this size to 32 MB when such blocks are freed, and its heap grows with each burst of bodies.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK)


def run(config: Config, started: Callable[[ModelServer], None]) -> None:
    """Run a server in this process, in its main thread, until SIGTERM or SIGINT."""
    server = ModelServer(config)
    _shorten_pauses()
    _return_large_blocks()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.stop)
        loop.add_signal_handler(signal.SIGHUP, server.reload)
        await server.serve(lambda: started(server))

    try:
        asyncio.run(main())
    finally:
        server.socket.close()


class BackgroundServer:
    """A server in a thread of this process; as a context manager it stops at the end.

    ``start(Config(...))`` creates one. `url` is its address; `grpc_port` is the port that the system chose for 0.
    """

    def __init__(self, config: Config) -> None:
        self.server = ModelServer(config)
        self._ready = threading.Event()
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="millrace-server", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failed:
            self._thread.join()
            raise self._failed[0]

    def _run(self) -> None:
        try:
            asyncio.run(self.server.serve(self._ready.set))
        except BaseException as error:  # raised in the thread that started it
            self._failed.append(error)
        finally:
            self.server.socket.close()
            self._ready.set()

    @property
    def url(self) -> str:
        """URL of the server."""
        return self.server.url

    @property
    def grpc_port(self) -> int | None:
        """The gRPC port; None without gRPC."""
        return self.server.grpc_port

    def stop(self) -> None:
        """Complete the pending requests, then stop."""
        self.server.stop()
        self._thread.join()

    def __enter__(self) -> BackgroundServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@public("serve")
def start(config: Config) -> BackgroundServer:
    """Start a server in a thread, and return when it is ready.

    >>> import numpy as np
    >>> from millrace import Tensor, export, float32, nn
    >>> from millrace.serve import Client
    >>> net = nn.Dense(2, 1, weight_init="ones", has_bias=False)
    >>> export(net, Tensor(shape=[None, 2], dtype=float32), file_name="sum", file_format="MINDIR")
    >>> with start(Config({"sum": "sum.mindir"}, port=0)) as server, Client(server.url) as client:
    ...     client.infer("sum", np.array([[1, 2], [3, 4]], np.float32)).tolist()
    [[3.0], [7.0]]
    """
    return BackgroundServer(config)
