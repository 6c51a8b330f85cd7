"""Requests as bytes on a socket, and what comes back. For tests of servers and for the soak."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc

__all__ = ["Target", "answer", "connected", "good", "raw", "send", "target", "wait_until", "whole_of"]


class Target:
    """A server with the models of ``tests.unit.serve.example_models``: where it is, and the token that it takes."""

    def __init__(self, port: int, grpc_port: int, channel: grpc.Channel, token: str = "") -> None:
        self.port, self.grpc_port, self.channel, self.token = port, grpc_port, channel, token

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def post(self, path: str, data: bytes, **more: str) -> tuple[int, bytes]:
        """Post a body; the status and the body of the answer."""
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return send(self.port, raw(path, self.headers() | named, data))

    def rpc(self, method: str, data: bytes) -> grpc.StatusCode:
        """Call a method with bytes; how it ended."""
        given = [(name.lower(), value) for name, value in self.headers().items()]
        try:
            self.channel.unary_unary(f"/{method}")(data, timeout=60, metadata=given)
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK


@contextlib.contextmanager
def target(port: int, grpc_port: int, token: str = "") -> Iterator[Target]:
    """A server to be attacked, with a channel to its gRPC side."""
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"127.0.0.1:{grpc_port}", options) as channel:
        yield Target(port, grpc_port, channel, token)


def good() -> dict[str, Any]:
    """A right request to the model 'pair'."""

    def tensor(name: str) -> dict[str, Any]:
        return {"name": name, "datatype": "FP32", "shape": [2, 3], "data": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}

    return {"inputs": [tensor("left"), tensor("right")]}


def raw(path: str, headers: dict[str, str], data: bytes, version: str = "1.1") -> bytes:
    """A request as it travels."""
    lines = [f"POST {path} HTTP/{version}", "Host: 127.0.0.1", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def send(port: int, data: bytes, read: bool = True) -> tuple[int, bytes]:
    """Send bytes; the status and the body of the answer, (0, ...) where the connection just ends."""
    with connected(port) as connection:
        connection.sendall(data)
        return answer(connection)[:2] if read else (0, b"")


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def answer(connection: socket.socket, data: bytes = b"") -> tuple[int, bytes, bytes]:
    """Read one answer: its status (0 for none), its body, and what came behind it."""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return 0, data, b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    length = int(lines.get(b"content-length", b"0"))
    while len(body) < length:
        more = connection.recv(65536)
        if not more:
            break
        body += more
    return int(head.split()[1]), body[:length], body[length:]


def whole_of(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(65536):
            parts.append(data)
    return b"".join(parts)


def wait_until(condition: Callable[[], Any]) -> None:
    """Wait for a condition, for a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
