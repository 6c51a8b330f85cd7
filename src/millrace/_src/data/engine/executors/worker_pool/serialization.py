"""Serialization of Python objects between a process and its workers: cloudpickle with out-of-band buffers.

Only for the unnamed socket pair to a worker that this process started itself: loading a pickle runs code. The parent
pickles objects of ``__main__`` by value, because a worker never imports the user's script. On the way back, a class
that came from the parent is sent as a reference to the parent's class: rebuilding it by value would overwrite the
methods of the original.
"""

from __future__ import annotations

import io
import pickle
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import cloudpickle
from cloudpickle import cloudpickle as _inside

from millrace._src.data.engine.transport.chunk_codec import ObjectCodec

__all__ = ["PickleByReference", "PickleByValue", "WorkerPickle", "flat_dumps", "flat_loads"]


class PickleByValue:
    """The parent's side: objects that a fresh interpreter could not import are pickled by value."""

    def dumps(self, value: Any) -> tuple[bytes, list[memoryview]]:
        buffers: list[pickle.PickleBuffer] = []
        data = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        return data, _raw_buffers(buffers)

    def loads(self, data: Any, buffers: Sequence[Any] = ()) -> Any:
        return pickle.loads(data, buffers=buffers)


class PickleByReference(PickleByValue):
    """Both sides of a forked worker, which has the parent's modules including ``__main__``."""

    def dumps(self, value: Any) -> tuple[bytes, list[memoryview]]:
        buffers: list[pickle.PickleBuffer] = []
        try:
            data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        except (pickle.PicklingError, AttributeError, TypeError):
            return super().dumps(value)  # lambdas, classes inside functions
        return data, _raw_buffers(buffers)


class WorkerPickle(PickleByValue):
    """The side of a worker with a separate ``__main__``."""

    def dumps(self, value: Any) -> tuple[bytes, list[memoryview]]:
        buffers: list[pickle.PickleBuffer] = []
        out = io.BytesIO()
        _WorkerPickler(out, protocol=5, buffer_callback=buffers.append).dump(value)
        return out.getvalue(), _raw_buffers(buffers)


# cloudpickle numbers each class it sends by value; the receiver keeps the number. The tables are private, so
# without them the worker falls back to the class's name, and then to sending it by value.
_ids_by_class: Any = getattr(_inside, "_DYNAMIC_CLASS_TRACKER_BY_CLASS", {})
_classes_by_id: Any = getattr(_inside, "_DYNAMIC_CLASS_TRACKER_BY_ID", {})
_local_classes: weakref.WeakSet[type] = weakref.WeakSet()


class _WorkerPickler(cloudpickle.Pickler):  # type: ignore[misc]
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and obj not in _local_classes:
            number = _ids_by_class.get(obj)
            if number is not None:
                return original_class, (number, obj.__module__, obj.__qualname__)
            _local_classes.add(obj)  # sent by value now, it gets an id that does not come from the parent
        return super().reducer_override(obj)


def original_class(number: str, module: str, name: str) -> type:
    """The parent's original class for one that came back from a worker."""
    target: Any = _classes_by_id.get(number)
    if target is None:
        target = sys.modules[module]
        for part in name.split("."):
            target = getattr(target, part)
    if not isinstance(target, type):
        raise pickle.UnpicklingError(f"{module}.{name} is not a class here")
    return target


def flat_dumps(objects: ObjectCodec, value: Any) -> bytes:
    """Pickle and buffers as one byte string, for small objects such as reports and errors. None is the empty string."""
    if value is None:
        return b""
    data, buffers = objects.dumps(value)
    parts = [memoryview(data), *buffers]
    sizes = b"".join(part.nbytes.to_bytes(8, "little") for part in parts)
    return b"".join([len(parts).to_bytes(4, "little"), sizes, *parts])


def flat_loads(objects: ObjectCodec, data: bytes) -> Any:
    if not data:
        return None
    count = int.from_bytes(data[:4], "little")
    offset, parts = 4 + 8 * count, []
    for i in range(count):
        size = int.from_bytes(data[4 + 8 * i : 12 + 8 * i], "little")
        parts.append(bytearray(data[offset : offset + size]))
        offset += size
    return objects.loads(parts[0], parts[1:])


def _raw_buffers(buffers: list[pickle.PickleBuffer]) -> list[memoryview]:
    return [buffer.raw() for buffer in buffers]
