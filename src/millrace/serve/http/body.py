"""Bodies that come in and answers that go out, under the server's limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from millrace.core.errors import ServeError

__all__ = ["Receive", "Scope", "Send", "answer", "header", "read", "refuse"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_CLOSING = (408, 413)  # the rest of such a request is not read: the connection ends with the answer
_LINGER = 2.0
_encode = msgspec.json.Encoder().encode


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of this name."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value.decode("latin-1"))
    return None


async def read(scope: Scope, receive: Receive, most: int, seconds: float) -> bytes:
    """The whole body; too large a one is refused before it is read, too slow a one while it is."""
    said = header(scope, b"content-length")
    if said is not None and said.isdecimal() and int(said) > most:
        await _left(scope, receive)
        raise _large(int(said), most)
    coding = header(scope, b"content-encoding")
    if coding not in (None, "", "identity"):
        raise ServeError(f"a body is taken as it is, got content-encoding {coding[:40]!r}", 415)
    try:
        message = await asyncio.wait_for(receive(), seconds) if said != "0" else await receive()
        data: bytes = message.get("body", b"")
        if message["type"] == "http.disconnect":
            raise ServeError("the client has left", 499)
        if not message.get("more_body"):
            return data if len(data) <= most else _refuse(len(data), most)
        parts, total = [data], len(data)
        async with asyncio.timeout(seconds):
            while message.get("more_body"):
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ServeError("the client has left", 499)
                data = message.get("body", b"")
                total += len(data)
                if total > most:
                    if message.get("more_body"):
                        await _left(scope, receive)
                    raise _large(total, most)
                parts.append(data)
    except TimeoutError:
        raise ServeError(f"the body did not come within {seconds:g} s", 408) from None
    return b"".join(parts)


async def _left(scope: Scope, receive: Receive) -> None:
    """Let a body that is too large go by for a while, and keep nothing of it.

    A connection that is closed on what a client still sends would take the answer with it.
    """
    if header(scope, b"expect") is not None:  # the client waits to be told
        return
    try:
        async with asyncio.timeout(_LINGER):
            while (await receive()).get("more_body"):
                pass
    except TimeoutError:
        pass


def _large(size: int, most: int) -> ServeError:
    return ServeError(f"the body is {size} bytes or more, the server's limit is {most}", 413)


def _refuse(size: int, most: int) -> bytes:
    raise _large(size, most)


async def answer(
    send: Send, body: Any, status: int = 200, kind: bytes = b"application/json", more: Any = ()
) -> None:
    """Send an answer; what is not bytes becomes JSON."""
    data = body if isinstance(body, (bytes, bytearray)) else _encode(body)
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(data)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})


async def refuse(send: Send, error: ServeError, word: str = "error") -> None:
    """Say what was wrong."""
    more = [(b"connection", b"close")] if error.status in _CLOSING else []
    if error.status == 401:
        more.append((b"www-authenticate", b"Bearer"))
    if error.status in (429, 503):
        more.append((b"retry-after", b"1"))
    status = 400 if error.status == 499 else error.status
    await answer(send, {word: str(error)}, status, more=more)
