"""The Open Inference Protocol, version 2, over HTTP: JSON, with tensors as JSON or as bytes behind it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from millrace.core.errors import ServeError
from millrace.serve.service import Version, chosen
from millrace.serve.tensors import DATATYPES, Array, Spec, cells, from_bytes, join_bytes

__all__ = ["bytes_of", "decoded", "encoded", "metadata"]


class Input(msgspec.Struct):
    name: str
    shape: list[int]
    datatype: str
    parameters: dict[str, Any] = {}
    data: msgspec.Raw = msgspec.Raw()


class Output(msgspec.Struct):
    name: str
    parameters: dict[str, Any] = {}


class Request(msgspec.Struct):
    inputs: list[Input]
    outputs: list[Output] = []
    id: str = ""
    parameters: dict[str, Any] = {}


_decode = msgspec.json.Decoder(Request).decode
_encode = msgspec.json.Encoder().encode
_NUMBERS: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "O": str}


def decoded(body: bytes, head: str | None, version: Version, most: int) -> tuple[Request, list[Array]]:
    """A request, and its tensors in the order of the model's inputs.

    `head` is how many bytes of the body are JSON; the tensors that say a ``binary_data_size`` follow behind.
    """
    size = len(body)
    if head is not None:
        if not head.isdecimal() or int(head) > size:
            raise ServeError(
                f"Inference-Header-Content-Length says {head[:20]!r} bytes of JSON, the body has {size} bytes"
            )
        size = int(head)
    view = memoryview(body)
    try:
        request = _decode(view[:size])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServeError(f"the request is not the protocol's: {error}") from None
    except RecursionError:
        raise ServeError("the request's JSON is nested too deeply") from None
    specs = {spec.name: spec for spec in version.inputs}
    found: dict[str, Array] = {}
    at = size
    for given in request.inputs:
        spec = specs.get(given.name)
        if spec is None or given.name in found:
            what = "is there twice" if spec else "is none of the model's"
            raise ServeError(f"input {given.name[:80]!r} {what}; it takes {', '.join(specs)}")
        count = spec.check(given.datatype, given.shape, most)
        length = given.parameters.get("binary_data_size")
        if length is None:
            found[given.name] = _from_json(spec, count, given)
            continue
        if type(length) is not int or length < 0 or length > len(body) - at:
            raise ServeError(
                f"input '{spec.name}': binary_data_size is {str(length)[:40]}, but {len(body) - at} bytes are left"
            )
        found[given.name] = from_bytes(spec, count, view[at : at + length], given.shape)
        at += length
    if at != len(body):
        raise ServeError(f"{len(body) - at} bytes are left over behind the tensors")
    if len(found) != len(specs):
        missing = [name for name in specs if name not in found]
        raise ServeError(f"the request has no input '{missing[0]}'; the model takes {', '.join(specs)}")
    return request, [found[name] for name in specs]


@functools.lru_cache(256)
def _lists(kind: str, depth: int) -> Any:
    made: Any = _NUMBERS[kind]
    for _ in range(depth):
        made = list[made]
    return msgspec.json.Decoder(made)


def _from_json(spec: Spec, count: int, given: Input) -> Array:
    text = bytes(given.data)
    if not text:
        raise ServeError(f"input '{spec.name}' has neither data nor a binary_data_size")
    depth = 0
    for letter in text:
        if letter == 0x5B:  # [
            depth += 1
        elif letter not in b" \t\r\n":
            break
    axes = len(given.shape)
    if depth not in (1, axes):
        raise ServeError(
            f"input '{spec.name}': data is a flat list, or nested {axes} deep as its shape; got {depth}"
        )
    try:
        values = _lists(DATATYPES[spec.datatype].kind, depth).decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ServeError(f"input '{spec.name}': data is not what {spec.datatype} takes: {error}") from None
    if depth > 1:
        values = _flat(spec, values, given.shape)
    if len(values) != count:
        raise ServeError(
            f"input '{spec.name}': shape {given.shape} asks for {count} elements, got {len(values)}"
        )
    return cells(spec, count, values, given.shape)


def _flat(spec: Spec, values: list[Any], shape: Sequence[int]) -> list[Any]:
    """The numbers of nested lists, each of which has the length that the shape says."""
    level: list[Any] = [values]
    for axis, length in enumerate(shape):
        for each in level:
            if len(each) != length:
                raise ServeError(
                    f"input '{spec.name}': a list of axis {axis} has {len(each)} elements, its shape {list(shape)} "
                    f"says {length}"
                )
        level = [one for each in level for one in each]
    return level


def encoded(
    request: Request, version: Version, made: Sequence[Array]
) -> tuple[bytes, list[tuple[bytes, bytes]], bytes]:
    """The body of an answer, headers that belong to it, and its content type."""
    places = chosen(version.outputs, [each.name for each in request.outputs])
    usual = request.parameters.get("binary_data_output") is True
    binary = {each.name: each.parameters.get("binary_data", usual) is True for each in request.outputs}
    outputs: list[dict[str, Any]] = []
    tail: list[Any] = []
    for place in places:
        spec, array = version.outputs[place], made[place]
        said: dict[str, Any] = {"name": spec.name, "datatype": spec.datatype, "shape": list(array.shape)}
        if binary.get(spec.name, usual):
            data = bytes_of(array)
            said["parameters"] = {"binary_data_size": len(data)}
            tail.append(data)
        else:
            said["data"] = plain(array)
        outputs.append(said)
    head: dict[str, Any] = {
        "model_name": version.model,
        "model_version": str(version.number),
        "outputs": outputs,
    }
    if request.id:
        head["id"] = request.id
    text = _encode(head)
    if not tail:
        return text, [], b"application/json"
    more = [(b"inference-header-content-length", b"%d" % len(text))]
    return b"".join([text, *tail]), more, b"application/octet-stream"


def bytes_of(array: Array) -> Any:
    """A tensor as it travels."""
    if array.dtype.kind in "SUO":
        return join_bytes(array.reshape(-1))
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    return memoryview(flat).cast("B") if array.size else b""


def plain(array: Array) -> list[Any]:
    """A tensor as JSON has it: one flat list. What is no number becomes null."""
    flat = array.reshape(-1)
    if array.dtype.kind in "SUO":
        return [each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in flat]
    made: list[Any] = flat.tolist()
    return made


def metadata(version: Version, numbers: Sequence[int]) -> dict[str, Any]:
    """What the protocol says of a model."""
    return {
        "name": version.model,
        "versions": [str(number) for number in sorted(numbers)],
        "platform": version.loaded.runner.platform,
        "inputs": [spec.described() for spec in version.inputs],
        "outputs": [spec.described() for spec in version.outputs],
    }
