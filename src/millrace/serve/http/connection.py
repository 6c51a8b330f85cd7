"""Connections under the server's limits. uvicorn waits for a client as long as the client likes; this does not."""

from __future__ import annotations

import asyncio
from typing import Any

from millrace.core.optional import require

__all__ = ["MOST_HEAD", "impatient"]

# A head is the request's first line and its headers: some hundred bytes, a few thousand with a long token.
MOST_HEAD = 64 << 10
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def impatient(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol that lets go of clients that take more than `seconds`.

    A head has to come within that time, from the connection or from its first byte on, and may have `MOST_HEAD` bytes;
    an answer has to be fetched within it. Who closes a connection for sending alone gets the answer, too. (A body has
    its limits where it is read; between two requests uvicorn's own timer runs.)
    """
    found: Any = require("uvicorn.protocols.http.httptools_impl", extra="serve", purpose="serving a model")
    base: Any = found.HttpToolsProtocol

    class Impatient(base):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._since = 0  # bytes that came and were neither the end of a head nor of a body
            self._ends = False  # the client sends no more
            self._for_head: asyncio.TimerHandle | None = None
            self._for_fetching: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            for timer in (self._for_head, self._for_fetching):
                if timer is not None:
                    timer.cancel()

        def data_received(self, data: bytes) -> None:
            self._since += len(data)
            super().data_received(data)
            if self._since > MOST_HEAD:
                self._end_long_head()
            self._watch()

        def on_headers_complete(self) -> None:
            self._since = 0
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._since = 0
            super().on_body(body)

        def eof_received(self) -> bool:
            """Whether the connection stays: a request that has come whole is answered first. TLS cannot stay so."""
            self._ends = self._answers() and not self.cycle.more_body and self.scheme == "http"
            return self._ends

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self._ends and not self._answers():
                self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            # not close(), which would wait until all has been fetched
            self._for_fetching = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._for_fetching is not None:
                self._for_fetching.cancel()
                self._for_fetching = None

        def _answers(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _watch(self) -> None:
            """Run the timer while a head is waited for: no request is being answered, and uvicorn's timer rests."""
            if self._answers() or self.timeout_keep_alive_task is not None:
                if self._for_head is not None:
                    self._for_head.cancel()
                    self._for_head = None
            elif self._for_head is None:
                self._for_head = self.loop.call_later(seconds, self.transport.close)

        def _end_long_head(self) -> None:
            if self._answers():  # the answer before it is not to be mixed with this one
                self.transport.abort()
            elif not self.transport.is_closing():
                self.transport.write(_TOO_LONG)
                self.transport.close()

    return Impatient
