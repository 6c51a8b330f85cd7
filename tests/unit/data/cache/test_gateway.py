"""The network port of a cache server under attack. Loopback addresses stand for machines."""

import contextlib
import socket
import struct
import threading

import pytest

from millrace._src.core.errors import CacheError
from millrace._src.data.cache import server_admin as admin
from millrace._src.data.cache.authenticated_connection import AuthenticatedConnection, read_key
from millrace._src.data.cache.gateway import Gateway, Greetings, Limits

from .server_fixture import until
from .test_remote_client import HOST, server  # noqa: F401 a fixture

KEY = b"k" * 32
STRANGERS = 300


def connected(port, source, host=HOST):
    return socket.create_connection((host, port), timeout=30, source_address=(source, 0))


def stat(wire, session):
    wire.send({"do": "stat", "session": session, "keys": []})
    return wire.receive()[0]["hits"]


SOURCES = {
    "the client's own address": lambda number: "127.0.0.1",
    "another address": lambda number: "127.0.0.3",
    "many addresses": lambda number: f"127.0.1.{number % 100 + 1}",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_client_gets_in_while_strangers_hold_connections(source, server):  # noqa: F811
    info, key = server
    session, secret = admin.generate(port=info.port), read_key(key)
    before = AuthenticatedConnection(connected(info.port, "127.0.0.1"), secret, serves=False)
    strangers = []
    try:
        for number in range(STRANGERS):
            strangers.append(connected(info.port, source(number)))
            if number % 2:
                strangers[-1].send(b"\x40")  # the first byte of a greeting, and no other
        after = AuthenticatedConnection(connected(info.port, "127.0.0.1"), secret, serves=False)
        assert stat(before, session) == stat(after, session) == 0
        before.close()
        after.close()
    finally:
        for sock in strangers:
            sock.close()


def pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        return client, listener.accept()[0]


def test_a_greeting_byte_by_byte_has_one_deadline():
    """Each byte comes a second after the one before, well within any time-out of a single read."""
    client, server_side = pair()
    seconds, head = [], struct.pack("<IQ", 60, 0) + b"{" * 60

    def clock():
        if seconds:
            client.send(head[len(seconds) - 1 : len(seconds)])
        seconds.append(1)
        return float(len(seconds))

    with client, pytest.raises(CacheError, match="the greeting took too long"):
        AuthenticatedConnection(server_side, KEY, serves=True, greeting_seconds=10, clock=clock)
    assert len(seconds) < 15
    assert server_side.fileno() == -1


def test_a_client_has_one_deadline_too():
    client, server_side = pair()
    moments = iter([0.0, 20.0])
    with server_side, pytest.raises(CacheError, match="the greeting took too long"):
        AuthenticatedConnection(client, KEY, serves=False, greeting_seconds=10, clock=lambda: next(moments))


def test_a_proof_that_is_no_text_is_a_wrong_one():
    client, server_side = pair()
    data = '{"nonce": "1", "proof": "é"}'.encode()
    client.sendall(struct.pack("<IQ", len(data), 0) + data)
    with client, pytest.raises(CacheError, match="does not know the key"):
        AuthenticatedConnection(server_side, KEY, serves=True)


@pytest.fixture
def gateways():
    """Makes gateways in this process; no cache is behind them."""
    opened = []

    def make(**limits):
        opened.append(Gateway("127.0.0.1", 0, KEY, "@nothing", Limits(**limits)))
        return opened[-1]

    yield make
    for gateway in opened:
        gateway.close()


def read_to_end(sock):
    with contextlib.suppress(ConnectionResetError):
        while sock.recv(4096):
            pass


def test_strangers_take_no_more_threads_than_allowed(gateways):
    gateway = gateways(greeting=6, greeting_per_address=4)
    before = threading.active_count()
    strangers = [connected(gateway.port, "127.0.0.1", "127.0.0.1") for _ in range(40)]
    # the oldest were closed: they read the server's greeting, and then the end
    for sock in strangers[:36]:
        with sock:
            read_to_end(sock)
    until(lambda: threading.active_count() <= before + 4, "the end of the threads")
    assert len(gateway.greetings) == 4
    for sock in strangers[36:]:
        sock.close()
    until(lambda: len(gateway.greetings) == 0, "the end of the connections")


def test_a_greeting_ends_at_its_deadline(gateways):
    gateway = gateways(greeting_seconds=0.05)
    with connected(gateway.port, "127.0.0.1", "127.0.0.1") as sock:
        read_to_end(sock)
    until(lambda: len(gateway.greetings) == 0, "the end of the connection")


def test_one_client_too_many_is_told_so(gateways):
    gateway = gateways(clients=1)
    assert gateway._clients.acquire(blocking=False)
    wire = AuthenticatedConnection(connected(gateway.port, "127.0.0.1", "127.0.0.1"), KEY, serves=False)
    assert wire.receive()[0] == {"error": "the cache server has 1 connections already"}
    wire.close()


def test_the_address_with_the_most_connections_loses_its_oldest():
    greetings = Greetings(Limits(greeting=3, greeting_per_address=3))
    socks = [socket.socketpair() for _ in range(4)]
    for (ours, _), address in zip(socks, ["a", "b", "b", "c"], strict=True):
        greetings.add(ours, address)
    assert [greetings.remove(ours) for ours, _ in socks] == [True, False, True, True]
    for ours, theirs in socks:
        ours.close()
        theirs.close()


def test_an_error_of_accept_does_not_close_the_door(gateways, monkeypatch):
    errors = [OSError(24, "Too many open files")] * 2
    accept = socket.socket.accept

    def failing(self):
        if errors:
            raise errors.pop()
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", failing)
    gateway = gateways()
    AuthenticatedConnection(connected(gateway.port, "127.0.0.1", "127.0.0.1"), KEY, serves=False).close()
    assert errors == []
