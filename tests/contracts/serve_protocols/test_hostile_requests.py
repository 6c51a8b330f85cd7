"""Requests that mean harm, or make no sense: each is answered with a reason, and the server is as it was."""

import asyncio
import json
import os
import random
import socket

import numpy as np
import pytest

from millrace._src.core.errors import ServeError
from millrace._src.serve.http.request_body import read_body
from millrace._src.serve.limits import ByteBudget
from millrace._src.serve.thread_offload import Turns
from millrace.serve import Client, start
from tests.contracts.serve_protocols.hostile_requests import (
    ATTACKS,
    BROKEN,
    INFER,
    Slow,
    answer,
    good,
    raw,
    send,
    target,
    wait_until,
    whole_of,
)
from tests.support.leaks import Footprint
from tests.unit.serve.example_models import config

COUNT = 400
MANY = 10_000
TOKEN = "secret"


@pytest.fixture(scope="module")
def fragile(files):
    """A server with small limits."""
    wanted = {name: files[name] for name in ("pair", "dense", "picky", "free")}
    told = config(wanted, max_body=100_000, timeout=20, max_wait_ms=0, grpc_port=0, token=TOKEN)
    with start(told) as running:
        yield running


@pytest.fixture(scope="module")
def at(fragile):
    with target(fragile.server.port, fragile.grpc_port, TOKEN) as made:
        yield made


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def works(running, token=TOKEN):
    with Client(running.url, token=token) as client:
        rows = np.ones((1, 3), np.float32)
        assert client.infer("pair", {"left": rows, "right": rows}, version=1)["total"].tolist() == [[2.0] * 3]


@pytest.mark.parametrize("count", [COUNT, pytest.param(MANY, marks=pytest.mark.nightly)])
def test_hostile_requests_are_answered_and_leave_nothing(fragile, at, count):
    draw = random.Random(count)
    before, first = 0, None
    seen = {name: set() for name in ATTACKS}
    for number in range(count):
        name = draw.choice(list(ATTACKS))
        seen[name].add(ATTACKS[name](draw, at))  # which says what may be answered
        if number == count // 3:
            before, first = resident(), Footprint.take()
    works(fragile)
    assert all(seen.values())
    assert {"400", "404"} <= seen["wrong_places"] | seen["lies"]
    assert first.wait_until_back(60) == []
    assert resident() - before < 24 << 20


@pytest.mark.parametrize("name", ATTACKS)
def test_each_kind_of_harm(fragile, at, name):
    draw = random.Random(name)
    for _ in range(3):
        ATTACKS[name](draw, at)
    works(fragile)


def test_each_thing_that_is_no_http_ends_the_connection_and_nothing_else(fragile, at):
    class Each:
        def __init__(self, one):
            self.choice = lambda _: one

    assert {ATTACKS["no_http"](Each(one), at) for one in BROKEN} >= {"400", "431"}
    works(fragile)


def test_a_body_that_has_ended_is_not_waited_for():
    """What is too large only with its last piece is refused at once: nothing more can come."""
    parts = [{"type": "http.request", "body": b"xx", "more_body": more} for more in (True, False)]

    async def receive():
        return parts.pop(0)  # an error where it is asked for more

    with pytest.raises(ServeError, match="body: expected at most 3 bytes"):
        asyncio.run(read_body({"headers": []}, receive, 3, 60.0, ByteBudget(100, "bodies").lease(), Turns(1)))


def test_a_compressed_body_is_refused(at):
    status, body = at.post(INFER, b"\x1f\x8b", Content_Encoding="gzip")
    assert (status, b"without content-encoding, got 'gzip'" in body) == (415, True)


def test_a_method_that_is_not_meant_is_refused(at):
    for method in (b"DELETE", b"PUT"):
        head = b"%s /v2/models/pair HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n" % method
        assert send(at.port, head)[0] == 405


def test_slow_clients_are_let_go_and_hold_nobody_up(files):
    told = config({"pair": files["pair"]}, timeout=2, grpc_port=0)
    with start(told) as running, target(running.server.port, running.grpc_port) as at:
        slow = Slow(at, each=10)
        works(running, token=None)
        # a body is missed by who reads it; nobody reads a head that does not come
        assert slow.ends() == {"nothing": {"cut"}, "half a head": {"cut"}, "half a body": {"408"}}
        whole = raw(INFER, {}, json.dumps(good()).encode())
        with socket.create_connection(("127.0.0.1", at.port), timeout=60) as second:
            second.sendall(whole)
            assert answer(second)[0] == 200
            second.sendall(whole[:30])  # a first request that was right does not buy more time
            assert whole_of(second) == b""
        works(running, token=None)


def test_an_answer_that_nobody_fetches_is_given_up(files):
    """Else it would stay in memory as long as the client likes."""
    told = config({"free": files["free"]}, timeout=2, max_body=40 << 20)
    rows = np.ones((1, 8 << 20), np.float32)
    head = {"name": "x", "datatype": "FP32", "shape": list(rows.shape)}
    head["parameters"] = {"binary_data_size": rows.nbytes}
    body = json.dumps({"inputs": [head], "parameters": {"binary_data_output": True}}).encode()
    with start(told) as running:
        sent = raw(
            "/v2/models/free/infer",
            {"Inference-Header-Content-Length": str(len(body))},
            body + rows.tobytes(),
        )
        with socket.create_connection(("127.0.0.1", running.server.port), timeout=60) as idle:
            idle.sendall(sent)
            wait_until(lambda: not running.server._uvicorn.server_state.connections)
            assert len(whole_of(idle)) < rows.nbytes
