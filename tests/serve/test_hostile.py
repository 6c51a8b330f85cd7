"""Requests that mean harm, or make no sense: each is answered with a reason, and the server is as it was."""

import json
import os
import random
import socket

import numpy as np
import pytest

from millrace.serve import Client, start
from tests.serve.models import config

COUNT = 300
MANY = 10_000


@pytest.fixture(scope="module")
def fragile(files):
    """A server with small limits."""
    wanted = {name: files[name] for name in ("pair", "dense", "picky")}
    with start(config(wanted, max_body=100_000, timeout=5, max_wait_ms=0)) as running:
        yield running


def good():
    def tensor(name):
        return {"name": name, "datatype": "FP32", "shape": [2, 3], "data": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}

    return {"inputs": [tensor("left"), tensor("right")]}


LIES = [
    None, True, -1, 0, 1, 2**31, 2**63, 2**64, 10**30, 1.5, -0.0, 1e308, "", "x", "left", "\u0000",
    "\ud83d\ude00" * 50, [], [[]], [[[[[]]]]], [None], [1, "a"], [[1, 2], [3]], {}, {"a": 1}, {"binary_data_size": -5},
    {"binary_data_size": 10**15}, {"binary_data_size": "12"}, [2, 3, 4], [-2, 3], [2**62, 2**62], [1e3, 3], ["2", 3],
    [1] * 200, "INT99",
    "FP64", "BYTES", "BOOL",
]  # fmt: skip


def spoilt(draw):
    """A request of which one thing is wrong, as (path, headers, body)."""
    body = good()
    path = "/v2/models/pair/infer"
    headers = {}
    kind = draw.randrange(10)
    if kind < 4:  # one field is a lie
        each = draw.choice(body["inputs"])
        each[draw.choice(["name", "datatype", "shape", "data", "parameters"])] = draw.choice(LIES)
    elif kind == 4:
        body[draw.choice(["inputs", "outputs", "id", "parameters"])] = draw.choice(LIES)
    elif kind == 5:
        body = draw.choice(LIES)
    data = json.dumps(body).encode()
    if kind == 6:  # bytes behind the JSON that lie about their size
        for each in body["inputs"]:
            del each["data"]
            each["parameters"] = {"binary_data_size": draw.choice([0, 23, 24, 25, 10**9])}
        data = json.dumps(body).encode()
        headers["Inference-Header-Content-Length"] = str(
            draw.choice([len(data), 0, -1, 10**9, len(data) - 1, "x"])
        )
        data += os.urandom(draw.choice([0, 1, 47, 48, 49]))
    elif kind == 7:  # cut, or spoilt in the middle
        at = draw.randrange(len(data))
        data = data[:at] if draw.random() < 0.5 else data[:at] + os.urandom(3) + data[at:]
    elif kind == 8:
        path = draw.choice(
            ["/model/pair:predict", "/model/:", "/model/pair/version/x:predict", "/v2/models/%00/infer",
             "/v2/models/pair/versions/99999999999999999999999/infer", "/v2/models//infer", "/v2/models/../infer"]
        )  # fmt: skip
        data = json.dumps(
            {"instances": draw.choice([LIES, [{"left": lie, "right": [1, 2, 3]} for lie in LIES]])}
        ).encode()
    elif kind == 9:
        data = draw.choice(
            [b"[" * 50_000, b'{"inputs":' * 9000, b"\xff" * 1000, b"", b"null", b'{"inputs":[' + b"1," * 1000]
        )
    return path, headers, data


def send(port, raw, read=True):
    """Send bytes; the status and the body of the answer, (0, b"") where the connection just ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(raw)
        if not read:
            return 0, b""
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return 0, data
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(lines.get(b"content-length", b"0"))
        while len(body) < length:
            more = connection.recv(65536)
            if not more:
                break
            body += more
        return int(head.split()[1]), body


def raw(path, headers, data):
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def works(running):
    with Client(running.url) as client:
        rows = np.ones((1, 3), np.float32)
        assert client.infer("pair", {"left": rows, "right": rows}, version=1)["total"].tolist() == [[2.0] * 3]


@pytest.mark.parametrize("count", [COUNT, pytest.param(MANY, marks=pytest.mark.nightly)])
def test_spoilt_requests_are_answered_with_a_reason(fragile, count):
    draw = random.Random(count)
    port = fragile.server.port
    before = 0
    seen = set()
    for number in range(count):
        path, headers, data = spoilt(draw)
        status, body = send(port, raw(path, headers, data))
        assert status, (path, headers, data[:200])  # answered, and not just cut off
        assert status == 200 or 400 <= status < 500, (status, body, path, headers, data[:200])
        if status != 200:
            said = json.loads(body)
            assert len(said.get("error") or said["error_msg"]) > 10, body
        seen.add(status)
        if number == count // 3:
            before = resident()
    works(fragile)
    assert {200, 400, 404} <= seen
    assert resident() - before < 24 << 20


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
]


def test_what_is_no_http_ends_the_connection_and_nothing_else(fragile):
    for each in BROKEN:
        with socket.create_connection(("127.0.0.1", fragile.server.port), timeout=60) as connection:
            connection.sendall(each)
            connection.shutdown(socket.SHUT_WR)
            try:
                data = connection.recv(65536)
            except ConnectionResetError:
                data = b""
            assert data == b"" or data.startswith((b"HTTP/1.1 4", b"HTTP/1.1 200")), (each[:60], data[:100])
    works(fragile)


def test_a_body_of_chunks_is_held_to_the_limit_too(fragile):
    chunk = b"2710\r\n" + b"x" * 10_000 + b"\r\n"
    head = b"POST /v2/models/pair/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    status, body = send(fragile.server.port, head + chunk * 20 + b"0\r\n\r\n")
    assert (status, b"the server's limit is 100000" in body) == (413, True)
    works(fragile)


def test_a_compressed_body_is_refused(fragile):
    status, body = send(
        fragile.server.port, raw("/v2/models/pair/infer", {"Content-Encoding": "gzip"}, b"\x1f\x8b")
    )
    assert (status, b"content-encoding 'gzip'" in body) == (415, True)


def test_a_method_that_is_not_meant_is_refused(fragile):
    for method in (b"DELETE", b"PUT"):
        status, _ = send(fragile.server.port, method + b" /v2/models/pair HTTP/1.1\r\nHost: x\r\n\r\n")
        assert status == 405


def test_slow_clients_are_let_go_and_hold_nobody_up(files):
    with start(config({"pair": files["pair"]}, timeout=2)) as running:
        data = json.dumps(good()).encode()
        whole = raw("/v2/models/pair/infer", {}, data)
        slow = [socket.create_connection(("127.0.0.1", running.server.port), timeout=60) for _ in range(20)]
        try:
            for each in slow:
                each.sendall(whole[:-20])  # and the rest never comes
            works(running)
            for each in slow:
                answer = whole_of(each)  # to the end: the connection is closed with the answer
                assert answer.startswith(b"HTTP/1.1 408"), answer
                assert b"the body did not come within 2 s" in answer
        finally:
            for each in slow:
                each.close()
        for _ in range(20):  # and those that leave in the middle
            send(running.server.port, whole[:-20], read=False)
        works(running)


def whole_of(connection):
    """What comes until the other side closes."""
    parts = []
    while data := connection.recv(65536):
        parts.append(data)
    return b"".join(parts)
