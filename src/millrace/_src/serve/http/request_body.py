"""Read request bodies and send responses under limits on size and time."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from millrace._src.core.errors import ServeError
from millrace._src.serve.limits import INLINE, Lease, parse_length
from millrace._src.serve.thread_offload import Turns

__all__ = ["Receive", "Scope", "Send", "send_response", "header", "read_body", "send_error"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_CLOSING = (408, 413)  # the rest of such a request is not read: the connection is closed after the response
_LINGER = 2.0
_PART = 256 << 10
_encode = msgspec.json.Encoder().encode


def header(scope: Scope, name: bytes) -> str | None:
    """Value of the first header of this name; None without one."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value.decode("latin-1"))
    return None


async def read_body(
    scope: Scope, receive: Receive, most: int, seconds: float, lease: Lease, turns: Turns
) -> bytes:
    """Read a body. A too large one is refused before it is read, a too slow one while it is read.

    Bytes are reserved in `lease` when they arrive, not when they are announced. Large bodies are read in `turns`.
    """
    declared = header(scope, b"content-length")
    if declared is not None:
        length = parse_length(declared)
        if length is None:
            raise ServeError(f"Content-Length: expected a number of bytes, got {declared[:20]!r}")
        if length > most:
            await _discard_rest(scope, receive, turns)
            raise _too_large(length, most)
    coding = header(scope, b"content-encoding")
    if coding not in (None, "", "identity"):
        raise ServeError(f"expected a body without content-encoding, got {coding[:40]!r}", 415)
    try:
        async with asyncio.timeout(seconds):
            message = await receive()
            data = _body_part(message)
            if not message.get("more_body"):
                if len(data) > most:
                    raise _too_large(len(data), most)
                lease.grow(len(data))
                return data
            # its buffer grows in place and becomes the result without a copy
            whole = io.BytesIO()
            while True:
                size = whole.tell() + len(data)
                if size > most:
                    if message.get("more_body"):
                        await _discard_rest(scope, receive, turns)
                    raise _too_large(size, most)
                lease.grow(len(data))
                whole.write(data)
                if not message.get("more_body"):
                    return whole.getvalue()
                if size > INLINE:
                    await turns.wait()
                message = await receive()
                data = _body_part(message)
    except TimeoutError:
        raise ServeError(f"the body did not arrive within {seconds:g} s", 408) from None


def _body_part(message: MutableMapping[str, Any]) -> bytes:
    if message["type"] == "http.disconnect":
        raise ServeError("the client has disconnected", 499)
    data: bytes = message.get("body", b"")
    return data


async def _discard_rest(scope: Scope, receive: Receive, turns: Turns) -> None:
    """Read and discard a too large body for a limited time.

    Closing the connection while the client is sending would also discard the response.
    """
    if header(scope, b"expect") is not None:  # the client waits for a response before it sends
        return
    try:
        async with asyncio.timeout(_LINGER):
            while (await receive()).get("more_body"):
                await turns.wait()
    except TimeoutError:
        pass


def _too_large(size: int, most: int) -> ServeError:
    return ServeError(f"body: expected at most {most} bytes, got {size} or more", 413)


async def send_response(
    send: Send,
    body: Any,
    status: int = 200,
    content_type: bytes = b"application/json",
    extra_headers: Any = (),
) -> None:
    """Send a response; returns when almost all of it has been sent.

    `body` is bytes, or a list of buffers that follow each other.
    """
    parts = [body] if isinstance(body, bytes) else body
    size = sum(map(len, parts))
    headers = [(b"content-type", content_type), (b"content-length", b"%d" % size), *extra_headers]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if size > _PART:
        for part in parts:
            for start in range(
                0, len(part), _PART
            ):  # each part waits until the client has fetched the previous ones
                data = bytes(part[start : start + _PART])
                await send({"type": "http.response.body", "body": data, "more_body": True})
        parts = [b""]
    await send({"type": "http.response.body", "body": parts[0] if len(parts) == 1 else b"".join(parts)})


async def send_error(send: Send, error: ServeError, key: str = "error") -> None:
    """Send an error response."""
    extra_headers = [(b"connection", b"close")] if error.status in _CLOSING else []
    if error.status == 401:
        extra_headers.append((b"www-authenticate", b"Bearer"))
    if error.status in (429, 503):
        extra_headers.append((b"retry-after", b"1"))
    status = 400 if error.status == 499 else error.status
    await send_response(send, _encode({key: str(error)}), status, extra_headers=extra_headers)
