"""Receive messages of gRPC calls under limits on time and number of fields."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

from millrace._src.core.errors import ServeError
from millrace._src.core.optional import require
from millrace._src.serve.config import Config
from millrace._src.serve.limits import INLINE, MAX_FIELDS, BudgetError
from millrace._src.serve.protobuf_messages import fields_of, messages

__all__ = ["Receiver", "parse"]

# A message that has not arrived after this many seconds needs one of a few slots. gRPC does not report how much of
# it has arrived. Bandwidth bounds the messages within this time, the number of slots bounds the slower ones.
QUICK = 0.25


class Receiver:
    """Reader of call messages. It belongs to one event loop."""

    def __init__(self, config: Config) -> None:
        self.timeout = config.timeout
        self.slots = max(1, config.body_budget // config.max_body // 2)
        self._end: Any = require("grpc.aio", extra="serve", purpose="serving over gRPC").EOF

    async def read(self, context: Any) -> bytes:
        """Read the bytes of a message."""
        waiting = _Waiting(self)
        try:
            data = await context.read()
        except asyncio.CancelledError:
            if waiting.error is None:
                raise
            waiting.task.uncancel()
            raise waiting.error from None
        finally:
            waiting.close()
        if data is self._end:
            raise ServeError("the call: expected a message, got none")
        message: bytes = data
        return message


class _Waiting:
    """A message that is being received, with one timer: it needs a slot if it takes long."""

    __slots__ = ("_has_slot", "_receiver", "_timer", "error", "task")

    def __init__(self, receiver: Receiver) -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        self.task, self._receiver = task, receiver
        self.error: ServeError | None = None
        self._has_slot = False
        self._timer = loop.call_later(QUICK, self._take_slot)

    def _take_slot(self) -> None:
        receiver = self._receiver
        if receiver.slots <= 0:
            self._stop(BudgetError("too many slow messages at the same time. Try again later"))
            return
        receiver.slots -= 1
        self._has_slot = True
        error = ServeError(f"the message did not arrive within {receiver.timeout:g} s", 504)
        self._timer = self.task.get_loop().call_later(max(0.0, receiver.timeout - QUICK), self._stop, error)

    def _stop(self, error: ServeError) -> None:
        self.error = error
        self.task.cancel()

    def close(self) -> None:
        self._timer.cancel()
        if self._has_slot:
            self._has_slot = False
            self._receiver.slots += 1


def parse(package: str, name: str, data: bytes) -> Any:
    """Parse a message."""
    if len(data) > INLINE:
        check_fields(package, name, data)
    try:
        return messages(package)[name].FromString(data)
    except Exception as error:  # protobuf's DecodeError, whose module differs between versions
        raise ServeError(f"the message is not a valid {name}: {error}") from None


@functools.cache
def _nested_fields(package: str, name: str) -> dict[int, str]:
    """Nested message fields of a message type: number -> type."""
    fields: dict[int, str] = {}
    for number, field_type in fields_of(package, name):
        key, is_map, value = field_type.partition(">")
        if is_map:
            fields[number] = f"map of {value}"
        elif key[0].isupper():
            fields[number] = key
    return fields


def check_fields(package: str, name: str, data: bytes) -> None:
    """Refuse a message with more than MAX_FIELDS fields before it is parsed: each field takes memory."""
    left = MAX_FIELDS
    stack = [(0, len(data), name)]
    while stack:
        at, end, what = stack.pop()
        inner = (
            {2: what.removeprefix("map of ")} if what.startswith("map of ") else _nested_fields(package, what)
        )
        while at < end:
            left -= 1
            if left < 0:
                raise ServeError(
                    f"the message: expected at most {MAX_FIELDS} fields, got more. Send tensors in raw_input_contents",
                    413,
                )
            tag, at = _read_varint(data, at, end)
            wire = tag & 7
            if wire == 0:
                _, at = _read_varint(data, at, end)
            elif wire == 1:
                at += 8
            elif wire == 5:
                at += 4
            elif wire == 2:
                size, at = _read_varint(data, at, end)
                nested = inner.get(tag >> 3, "")
                if nested[:1].isupper() or nested.startswith("map of "):
                    stack.append((at, min(end, at + size), nested))
                at += size


def _read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return value, at
