"""Limits on HTTP connections: time, head size, number. uvicorn itself waits for clients without a limit."""

from __future__ import annotations

import asyncio
from typing import Any

from millrace._src.core.optional import require
from millrace._src.serve.limits import MAX_CHUNKS, MAX_HEAD, MAX_PIPELINED, MIN_CHUNK

__all__ = ["limited_http_protocol"]

_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def limited_http_protocol(seconds: float, connections: int) -> type[asyncio.Protocol]:
    """Create a protocol class of uvicorn that closes connections of clients slower than `seconds`.

    A request head must arrive within that time after the connection or its first byte, with at most `MAX_HEAD` bytes;
    the client must fetch a response within it. Beyond `connections` connections, the longest idle one is closed. A
    client that has shut down its sending side still gets the response. (`read_body` limits bodies; between requests
    uvicorn's timer runs.)
    """
    implementation: Any = require(
        "uvicorn.protocols.http.httptools_impl", extra="serve", purpose="serving a model"
    )
    base: Any = implementation.HttpToolsProtocol

    idle: dict[Any, None] = {}  # idle connections, oldest first

    class Impatient(base):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._since = 0  # bytes received since the last end of a head or body
            self._ends = False  # the client has shut down its sending side
            self._chunks = self._chunked = 0  # chunks of this body, and their bytes
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
                )  # the parser stops, uvicorn responds with 400
            super().on_headers_complete()
            idle.pop(self, None)

        def on_chunk_header(self) -> None:
            self._chunks += 1
            if self._chunks > MAX_CHUNKS and self._chunked < self._chunks * MIN_CHUNK:
                raise ValueError("the chunks of the body are too small")

        def on_body(self, body: bytes) -> None:
            self._since = 0
            self._chunked += len(body)
            super().on_body(body)

        def eof_received(self) -> bool:
            """Whether the connection stays open: a complete request gets its response first. Impossible with TLS."""
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
            if self._for_fetching is None:  # the timer covers the whole response, not its parts
                # not close(), which waits until the client has fetched everything
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
            """Run the timer while waiting for a head: no response is in progress, uvicorn's timer is stopped."""
            if self._is_responding() or self.timeout_keep_alive_task is not None:
                if self._for_head is not None:
                    self._for_head.cancel()
                    self._for_head = None
            elif self._for_head is None:
                self._for_head = self.loop.call_later(seconds, self.transport.close)

        def _end_long_head(self) -> None:
            if self._is_responding():  # the previous response must not be mixed with this one
                self.transport.abort()
            elif not self.transport.is_closing():
                self.transport.write(_TOO_LONG)
                self.transport.close()

    return Impatient
