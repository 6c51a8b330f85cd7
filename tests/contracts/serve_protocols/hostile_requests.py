"""Requests that mean harm, or make no sense: what is sent, and what a server may answer. For tests and for the soak."""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Callable
from typing import Any

import grpc

from millrace._src.serve.protobuf_messages import INFERENCE, messages
from tests.unit.serve.raw_sockets import (
    Target,
    answer,
    connected,
    good,
    raw,
    send,
    target,
    wait_until,
    whole_of,
)

__all__ = [
    "ATTACKS", "Slow", "Target", "answer", "good", "raw", "send", "target", "wait_until", "whole_of",
]  # fmt: skip

INFER = "/v2/models/pair/infer"
LIES: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**63, 2**64, 10**30, 1.5, -0.0, 1e308, "", "x", "left", "\u0000",
    "\ud83d\ude00" * 50, [], [[]], [[[[[]]]]], [None], [1, "a"], [[1, 2], [3]], {}, {"a": 1}, {"binary_data_size": -5},
    {"binary_data_size": 10**15}, {"binary_data_size": "12"}, [2, 3, 4], [-2, 3], [2**62, 2**62], [1e3, 3], ["2", 3],
    [1] * 200, "INT99", "FP64", "BYTES", "BOOL",
]  # fmt: skip
# lengths whose product is negative, huge, too large for 64 bits, or nothing
SHAPES = [
    [-1, 3], [-(2**31), -(2**31)], [2**31, 2**33], [2**62, 2**62], [2**63, 2], [2**62, 0], [0, 2**62], [10**18] * 2,
    [2**32, 2**32], [1, 2**61], [0, 0], [2**63 - 1, 2**63 - 1],
]  # fmt: skip
# what is no number in JSON, or none that a float holds
NUMBERS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "nan",
    "0x10",
    "1_0",
    "+1",
    ".5",
    "1.",
    "01",
    "--1",
]


def _refused(status: int, body: bytes, *sent: Any) -> str:
    """It was answered, and with a reason where it was refused."""
    shown = [str(each)[:200] for each in sent]
    assert status, shown  # answered, and not just cut off
    assert status == 200 or 400 <= status < 500, (status, body, shown)
    if status != 200:
        said = json.loads(body)
        assert len(said.get("error") or said["error_msg"]) > 10, (body, shown)
    return str(status)


# --- bodies -------------------------------------------------------------------------------------------------------


def lies(draw: random.Random, at: Target) -> str:
    """Fields that are not what the protocol says."""
    body: Any = good()
    kind = draw.randrange(6)
    if kind < 4:
        each = draw.choice(body["inputs"])
        each[draw.choice(["name", "datatype", "shape", "data", "parameters"])] = draw.choice(LIES)
    elif kind == 4:
        body[draw.choice(["inputs", "outputs", "id", "parameters"])] = draw.choice(LIES)
    else:
        body = draw.choice(LIES)
    data = json.dumps(body).encode()
    return _refused(*at.post(INFER, data), data)


def wrong_sizes(draw: random.Random, at: Target) -> str:
    """Bytes behind the JSON that lie about their size."""
    body = good()
    for each in body["inputs"]:
        del each["data"]
        each["parameters"] = {"binary_data_size": draw.choice([0, 23, 24, 25, 10**9])}
    data = json.dumps(body).encode()
    head = str(draw.choice([len(data), 0, -1, 10**9, len(data) - 1, "x"]))
    data += os.urandom(draw.choice([0, 1, 47, 48, 49]))
    return _refused(*at.post(INFER, data, Inference_Header_Content_Length=head), head, data)


def damaged(draw: random.Random, at: Target) -> str:
    """A body that is cut, or has other bytes in its middle."""
    data = json.dumps(good()).encode()
    where = draw.randrange(len(data))
    data = data[:where] if draw.random() < 0.5 else data[:where] + os.urandom(3) + data[where:]
    return _refused(*at.post(INFER, data), data)


def wrong_places(draw: random.Random, at: Target) -> str:
    """Models, versions and methods that are not there, and instances of MindSpore Serving that are none."""
    path = draw.choice(
        ["/model/pair:predict", "/model/:", "/model/pair/version/x:predict", "/v2/models/%00/infer",
         "/v2/models/pair/versions/99999999999999999999999/infer", "/v2/models//infer", "/v2/models/../infer"]
    )  # fmt: skip
    instances = draw.choice([LIES, [{"left": lie, "right": [1, 2, 3]} for lie in LIES]])
    return _refused(*at.post(path, json.dumps({"instances": instances}).encode()), path, instances)


def deep(draw: random.Random, at: Target) -> str:
    """JSON nested thousands deep, or without an end."""
    nest = b"[" * 20_000 + b"]" * 20_000
    data = draw.choice(
        [b"[" * 50_000, b'{"inputs":' * 9000, b"\xff" * 1000, b"", b"null", b'{"inputs":[' + b"1," * 1000,
         json.dumps(good()).encode().replace(b"[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]", nest),
         b'{"inputs":[],"parameters":{"a":' + nest + b"}}", b'{"instances":' + nest + b"}"]
    )  # fmt: skip
    return _refused(*at.post(draw.choice([INFER, "/model/pair:predict"]), data), data)


def no_numbers(draw: random.Random, at: Target) -> str:
    """NaN, infinity, and what no float holds."""
    data = json.dumps(good()).replace("4.0", draw.choice(NUMBERS)).encode()
    return _refused(*at.post(INFER, data), data)


def shapes(draw: random.Random, at: Target) -> str:
    """Shapes below zero, huge ones, and such whose product no integer holds."""
    shape, as_bytes = draw.choice(SHAPES), draw.random() < 0.5
    tensor: dict[str, Any] = {"name": "x", "datatype": "FP32", "shape": shape}
    tensor |= {"parameters": {"binary_data_size": 0}} if as_bytes else {"data": []}
    data = json.dumps({"inputs": [tensor]}).encode()
    more = {"Inference_Header_Content_Length": str(len(data))} if as_bytes else {}
    return _refused(*at.post("/v2/models/free/infer", data, **more), data)


def repeated(draw: random.Random, at: Target) -> str:
    """Outputs that are requested again and again."""
    body = good() | {"outputs": [{"name": "total"}] * draw.choice([2, 3, 4000])}
    if draw.random() < 0.5:
        body["parameters"] = {"binary_data_output": True}
    status, said = at.post(INFER, json.dumps(body).encode())
    assert (status, b"'total' twice" in said) == (400, True), (status, said)
    return "400"


def long_integers(draw: random.Random, at: Target) -> str:
    """Integers of thousands of digits, in headers and in JSON."""
    digits = "9" * draw.choice([19, 400, 5000])
    field = draw.choice(["header", "id", "size", "shape", "data"])
    if field == "header":
        sent = at.post(INFER, json.dumps(good()).encode(), Inference_Header_Content_Length=digits)
        return _refused(*sent, field)
    data = json.dumps(good()).encode()
    old, new = {
        "id": (b"}]}", b'}],"id":%s}'),
        "size": (b'"data": [1.0', b'"parameters":{"binary_data_size":%s},"data": [1.0'),
        "shape": (b"[2, 3]", b"[%s, 3]"),
        "data": (b"[1.0", b"[%s"),
    }[field]
    status, said = at.post(INFER, data.replace(old, new % digits.encode(), 1))
    # a float holds 400 digits, not 5,000
    assert status == 400 or (field, status) in (("data", 200), ("shape", 413)), (status, said, field)
    return str(status)


def many_parameters(draw: random.Random, at: Target) -> str:
    """Thousands of parameters, nested ones, and keys that are there twice."""
    many = {f"p{number}": draw.choice([1, "x", None, [[]], {"a": {}}]) for number in range(3000)}
    body: Any = good()
    where = draw.choice([body, body["inputs"][0]])
    where["parameters"] = many
    data = json.dumps(body).encode().replace(b'"parameters"', b'"parameters": {}, "parameters"', 1)
    status, said = at.post(INFER, data)
    assert status == 200, (status, said)  # what is not known is not read
    return "200"


def names(draw: random.Random, at: Target) -> str:
    """Names of models that are paths, other characters, or none."""
    name = draw.choice(
        ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%00", "pair%00", "%ff%fe", "p%C3%A4ir", "%F0%9F%98%80",
         "pair%0d%0aX:y", "PAIR", "pair ", "%70air%20", "a" * 3000, "%252e", "\\", "pair;x=1"]
    )  # fmt: skip
    path = draw.choice(["/v2/models/{}/infer", "/model/{}:predict", "/v2/repository/models/{}/load"])
    status, said = at.post(path.format(name.replace(" ", "%20")), json.dumps(good()).encode())
    assert status in (400, 404), (status, said, name)
    return str(status)


def bytes_lies(draw: random.Random, at: Target) -> str:
    """Elements of BYTES whose lengths are beyond the body, and too many of them."""
    size = draw.choice([b"\xff\xff\xff\xff", b"\x05\0\0\0", b"\0\0\0\x80", b"\0\0"])
    tensor = {
        "name": "x",
        "datatype": draw.choice(["BYTES", "FP32"]),
        "shape": draw.choice([[1], [1, 1], [2**40]]),
    }
    tail = size + draw.randbytes(draw.choice([1, 3]))
    tensor["parameters"] = {"binary_data_size": len(tail)}
    data = json.dumps({"inputs": [tensor]}).encode()
    sent = at.post("/v2/models/free/infer", data + tail, Inference_Header_Content_Length=str(len(data)))
    assert sent[0] in (400, 413), sent
    return str(sent[0])


# --- connections --------------------------------------------------------------------------------------------------

BROKEN = [
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"POST /v2/models/pair/infer HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    b"POST /v2/models/pair/infer HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    b"POST /v2/models/pair/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
    b"POST /v2/models/pair/infer HTTP/9.9\r\nHost: x\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /v2 HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 2000 + b"\r\n",
    b"GET /v2 HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 300_000,
]


def no_http(draw: random.Random, at: Target) -> str:
    """What is no HTTP, or has a head without an end."""
    sent = draw.choice(BROKEN)
    with connected(at.port) as connection:
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            data = connection.recv(65536)
        except OSError:  # reset while we were sending, or before we could end that
            data = b""
    assert data == b"" or data.startswith((b"HTTP/1.1 4", b"HTTP/1.1 200")), (sent[:60], data[:100])
    return data[9:12].decode() or "cut"


def chunks(draw: random.Random, at: Target) -> str:
    """A body in chunks, beyond the limit."""
    lines = [f"POST {INFER} HTTP/1.1", "Host: x", "Transfer-Encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in at.headers().items()]
    chunk = b"2710\r\n" + b"x" * 10_000 + b"\r\n"
    body = chunk * 120 + b"0\r\n\r\n"
    status, said = send(at.port, "\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    assert (status, b"body: expected at most" in said) == (413, True), (status, said)
    return "413"


def small_chunks(draw: random.Random, at: Target) -> str:
    """A body in chunks of one byte each."""
    lines = [f"POST {INFER} HTTP/1.1", "Host: 127.0.0.1", "Transfer-Encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in at.headers().items()]
    body = b"1\r\nx\r\n" * draw.choice([2000, 20_000])
    with connected(at.port) as connection:
        try:
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            data = connection.recv(65536)
        except OSError:  # reset while we were sending
            data = b""
    assert data == b"" or data.startswith(b"HTTP/1.1 400"), data
    return data[9:12].decode() or "cut"


def many_pipelined(draw: random.Random, at: Target) -> str:
    """Hundreds of requests at once on one connection: not all of them are queued."""
    with connected(at.port) as connection:
        try:
            connection.sendall(b"GET /v2 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * draw.choice([500, 5000]))
            connection.shutdown(socket.SHUT_WR)
            data = whole_of(connection)
        except OSError:
            data = b""
    assert data.count(b"HTTP/1.1 ") < 500, data.count(b"HTTP/1.1 ")
    return data[9:12].decode() or "cut"


def byte_by_byte(draw: random.Random, at: Target) -> str:
    """A right request, a byte at a time."""
    with connected(at.port) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in raw(INFER, at.headers(), json.dumps(good()).encode()):
            connection.send(bytes([byte]))
        status, body, _ = answer(connection)
    assert status == 200, (status, body)
    return "200"


def left(draw: random.Random, at: Target) -> str:
    """A client that goes away in the middle of its request, or before the answer."""
    whole = raw(INFER, at.headers(), json.dumps(good()).encode())
    send(at.port, whole[: draw.choice([1, 30, len(whole) - 20, len(whole)])], read=False)
    return "cut"


def half_closed(draw: random.Random, at: Target) -> str:
    """A connection that is closed for sending, after right requests or in the middle of one."""
    whole = raw(INFER, at.headers(), json.dumps(good()).encode())
    count = draw.choice([0, 1, 2])
    with connected(at.port) as connection:
        connection.sendall(whole * count if count else whole[:-20])
        connection.shutdown(socket.SHUT_WR)
        said = whole_of(connection)
    assert said.count(b"HTTP/1.1 200") == count, (count, said)
    return "200" if count else "cut"


def old_http(draw: random.Random, at: Target) -> str:
    """HTTP/1.0: answered, and closed."""
    with connected(at.port) as connection:
        connection.sendall(raw(INFER, at.headers(), json.dumps(good()).encode(), "1.0"))
        status, body, rest = answer(connection)
        assert (status, rest, connection.recv(1)) == (200, b"", b""), (status, body, rest)
    return "200"


def pipelined(draw: random.Random, at: Target) -> str:
    """Requests sent before the first is answered: all are, in their order."""
    bodies = [json.dumps(good() | {"id": str(n)}).encode() for n in range(4)]
    bodies[2] = b"{"
    with connected(at.port) as connection:
        connection.sendall(b"".join(raw(INFER, at.headers(), body) for body in bodies))
        rest, got = b"", []
        for _ in bodies:
            status, body, rest = answer(connection, rest)
            got.append((status, json.loads(body).get("id", "")))
    assert got == [(200, "0"), (200, "1"), (400, ""), (200, "3")], got
    return "200"


def wrong_token(draw: random.Random, at: Target) -> str:
    """Another token, none, or half of it."""
    given = draw.choice(
        ["", "Bearer", "Bearer x", f"Bearer {at.token[:-1]}", "Basic eDp5", "Bearer \xe9\xff", "B" * 5000]
    )
    headers = {"Authorization": given} if given else {}
    lines = raw(INFER, headers, json.dumps(good()).encode())
    status, body = send(at.port, lines)
    wanted = 401 if at.token else 200
    assert status == wanted, (status, body)
    return str(status)


# --- gRPC ---------------------------------------------------------------------------------------------------------

_METHODS = ("inference.GRPCInferenceService/ModelInfer", "mindspore.serving.proto.MSService/Predict")


def grpc_garbage(draw: random.Random, at: Target) -> str:
    """Bytes that are no message, for both services."""
    return at.rpc(draw.choice(_METHODS), draw.randbytes(draw.choice([1, 40, 4000]))).name


def grpc_large(draw: random.Random, at: Target) -> str:
    """A message beyond the limit."""
    code = at.rpc(draw.choice(_METHODS), b"\0" * (2 << 20))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED, code
    return code.name


def grpc_lies(draw: random.Random, at: Target) -> str:
    """Shapes, types and contents that do not fit."""
    shape = [n for n in draw.choice(SHAPES) if -(2**63) <= n < 2**63]
    tensor = {
        "name": "x",
        "datatype": draw.choice(["FP32", "", "X"]),
        "shape": shape,
    }
    contents: dict[str, Any] = {"raw_input_contents": [draw.randbytes(draw.choice([0, 3, 24]))]}
    request = messages(INFERENCE)["ModelInferRequest"](
        model_name="free", inputs=[tensor], **(contents if draw.random() < 0.5 else {})
    )
    code = at.rpc(_METHODS[0], request.SerializeToString())
    assert code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED), code
    return code.name


def grpc_repeated(draw: random.Random, at: Target) -> str:
    """Outputs that are requested again and again."""
    tensors = [{"name": name, "datatype": "FP32", "shape": [1, 3]} for name in ("left", "right")]
    request = messages(INFERENCE)["ModelInferRequest"](
        model_name="pair",
        inputs=tensors,
        outputs=[{"name": "total"}] * draw.choice([2, 5000]),
        raw_input_contents=[bytes(12)] * 2,
    )
    code = at.rpc(_METHODS[0], request.SerializeToString())
    assert code == grpc.StatusCode.INVALID_ARGUMENT, code
    return code.name


def grpc_compressed(draw: random.Random, at: Target) -> str:
    """A message that is small until it is decompressed."""
    given = [(name.lower(), value) for name, value in at.headers().items()]
    call = at.channel.unary_unary(f"/{draw.choice(_METHODS)}")
    future = call.future(bytes(8 << 20), timeout=60, metadata=given, compression=grpc.Compression.Gzip)
    assert future.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNIMPLEMENTED), future
    return future.code().name


def grpc_fields(draw: random.Random, at: Target) -> str:
    """A message of many empty fields, each of which would take memory."""
    tag = draw.choice([b"\x2a\0", b"\x32\0", b"\x22\0", b"\x12\0"])
    code = at.rpc(draw.choice(_METHODS), tag * 45_000)
    assert code != grpc.StatusCode.INTERNAL, code
    return code.name


def grpc_left(draw: random.Random, at: Target) -> str:
    """Calls that are cancelled, before or after their message."""
    given = [(name.lower(), value) for name, value in at.headers().items()]
    call = at.channel.stream_unary(f"/{draw.choice(_METHODS)}")
    sent = iter([draw.randbytes(50_000)] * draw.choice([0, 1]))
    future = call.future(sent, timeout=60, metadata=given)
    future.cancel()
    return future.code().name


ATTACKS: dict[str, Callable[[random.Random, Target], str]] = {
    each.__name__: each
    for each in (
        lies, wrong_sizes, damaged, wrong_places, deep, no_numbers, shapes, no_http, chunks, byte_by_byte, left,
        half_closed, old_http, pipelined, wrong_token, grpc_garbage, grpc_large, grpc_lies, repeated, long_integers,
        many_parameters, names, bytes_lies, small_chunks, many_pipelined, grpc_repeated, grpc_compressed, grpc_fields,
        grpc_left,
    )
}  # fmt: skip


class Slow:
    """Clients that say a part of a request and no more, until the server lets them go."""

    def __init__(self, at: Target, each: int) -> None:
        whole = raw(INFER, at.headers(), json.dumps(good()).encode())
        self.said: list[tuple[str, socket.socket]] = []
        for what, part in (("nothing", b""), ("half a head", whole[:30]), ("half a body", whole[:-20])):
            for _ in range(each):
                connection = connected(at.port)
                connection.sendall(part)
                self.said.append((what, connection))

    def ends(self) -> dict[str, set[str]]:
        """How the server ended them: for what was said, the statuses of the answers."""
        found: dict[str, set[str]] = {}
        for what, connection in self.said:
            with connection:
                data = whole_of(connection)
            found.setdefault(what, set()).add(data[9:12].decode() or "cut")
        return found
