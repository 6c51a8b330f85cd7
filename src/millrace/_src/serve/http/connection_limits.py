"""Connections under the server's limits. uvicorn waits for a client as long as the client likes; this does not."""

from __future__ import annotations

import asyncio
from typing import Any

from millrace._src.core.optional import require
from millrace._src.serve.limits import MAX_CHUNKS, MAX_HEAD, MAX_PIPELINED, MIN_CHUNK

__all__ = ["limited_http_protocol"]

_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def limited_http_protocol(seconds: float, connections: int) -> type[asyncio.Protocol]:
    """uvicorn's protocol that lets go of clients that take more than `seconds`.

    A head has to come within that time, from the connection or from its first byte on, and may have `MAX_HEAD` bytes;
    an answer has to be fetched within it. With more than `connections` at once, the one that has waited longest for a
    request is closed. Who closes a connection for sending alone gets the answer, too. (A body has its limits where it
    is read; between two requests uvicorn's own timer runs.)
    """
    implementation: Any = require(
        "uvicorn.protocols.http.httptools_impl", extra="serve", purpose="serving a model"
    )
    base: Any = implementation.HttpToolsProtocol

    idle: dict[Any, None] = {}  # connections without a request, the oldest first

    class Impatient(base):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._since = 0  # bytes that came and were neither the end of a head nor of a body
            self._ends = False  # the client sends no more
            self._chunks = self._chunked = 0  # of this body: chunks, and bytes in them
            self._for_head: asyncio.TimerHandle | None = None
            self._for_fetching: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            idle[self] = None
            if len(self.connections) > connections:
                next(iter(idle)).transport.abort()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            idle.pop(self, None)
            for timer in (self._for_head, self._for_fetching):
                if timer is not None:
                    timer.cancel()

        def data_received(self, data: bytes) -> None:
            self._since += len(data)
            super().data_received(data)
            if self._since > MAX_HEAD:
                self._end_long_head()
            self._watch()

        def on_headers_complete(self) -> None:
            self._since = self._chunks = self._chunked = 0
            if len(self.pipeline) >= MAX_PIPELINED:
                raise ValueError(
                    "too many requests before a response"
                )  # the parser stops, uvicorn answers 400
            super().on_headers_complete()
            idle.pop(self, None)

        def on_chunk_header(self) -> None:
            self._chunks += 1
            if self._chunks > MAX_CHUNKS and self._chunked < self._chunks * MIN_CHUNK:
                raise ValueError("the body comes in too small chunks")

        def on_body(self, body: bytes) -> None:
            self._since = 0
            self._chunked += len(body)
            super().on_body(body)

        def eof_received(self) -> bool:
            """Whether the connection stays: a request that has come whole is answered first. TLS cannot stay so."""
            self._ends = self._is_responding() and not self.cycle.more_body and self.scheme == "http"
            return self._ends

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self._is_responding():
                idle[self] = None
                if not self.flow.write_paused:
                    self._fetched()
            if self._ends and not self._is_responding():
                self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            if (
                self._for_fetching is None
            ):  # it runs for the whole response, however often a part of it is fetched
                # not close(), which would wait until all has been fetched
                self._for_fetching = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if not self._is_responding():
                self._fetched()

        def _fetched(self) -> None:
            if self._for_fetching is not None:
                self._for_fetching.cancel()
                self._for_fetching = None

        def _is_responding(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _watch(self) -> None:
            """Run the timer while a head is waited for: no request is being answered, and uvicorn's timer rests."""
            if self._is_responding() or self.timeout_keep_alive_task is not None:
                if self._for_head is not None:
                    self._for_head.cancel()
                    self._for_head = None
            elif self._for_head is None:
                self._for_head = self.loop.call_later(seconds, self.transport.close)

        def _end_long_head(self) -> None:
            if self._is_responding():  # the answer before it is not to be mixed with this one
                self.transport.abort()
            elif not self.transport.is_closing():
                self.transport.write(_TOO_LONG)
                self.transport.close()

    return Impatient
