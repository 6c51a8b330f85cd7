"""A proxy before an S3 server that does harm on request: slow, 503, reset, lost answers, cut bodies, wrong bytes."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

__all__ = ["KINDS", "Faults", "Proxy", "faulty"]

# What may go wrong with a request. "lost": the store did it, and nobody hears of it.
KINDS = ("slow", "busy", "reset", "lost", "cut", "wrong")


class Faults:
    """Which requests go wrong, and how: drawn from a seed, never more than ``in_a_row``, and ``most`` in all."""

    def __init__(
        self,
        seed: int = 0,
        rate: float = 0.0,
        most: int = 10**9,
        in_a_row: int = 3,
        kinds: Sequence[str] = KINDS,
    ) -> None:
        self.rate, self.most, self.in_a_row, self.kinds = rate, most, in_a_row, kinds
        self.done: list[str] = []
        self.requests: list[tuple[str, str, str]] = []  # method, path, range
        self._rng, self._row, self._lock = Random(seed), 0, threading.Lock()

    def plan(self, **plan: Any) -> None:
        """Begin anew."""
        vars(self).update(vars(Faults(**plan)))

    def next(self, method: str, path: str, part: str) -> str:
        """The fault of this request; "" for none."""
        with self._lock:
            self.requests.append((method, path, part))
            if len(self.done) >= self.most or self._row >= self.in_a_row or self._rng.random() >= self.rate:
                self._row = 0
                return ""
            kind = self._rng.choice(self.kinds)
            # A listing has no checksum in this protocol (TLS guards it), so that nothing could notice.
            if kind == "wrong" and (
                ("?" in path and "partNumber" not in path) or method not in ("GET", "PUT")
            ):
                return ""
            if kind == "cut" and method == "HEAD":
                return ""  # it has no body
            self._row += 1
            self.done.append(kind)
            return kind


@contextlib.contextmanager
def faulty(server: str, faults: Faults) -> Iterator[str]:
    """The address of a proxy before ``server``."""
    made = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server, faults))
    made.daemon_threads = True
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, name="faulty-proxy")
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_address[1]}"
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


class Proxy:
    """The proxy in a process of its own, for who counts threads and descriptors of this one. Close it."""

    def __init__(self, server: str) -> None:
        command = [sys.executable, "-m", "tests.support.faulty_s3_proxy", server]
        root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
        )
        self.address = json.loads(self._said())["address"]

    def plan(self, **plan: Any) -> dict[str, int]:
        """Begin a plan of faults; how many requests and faults there were since the last one began."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(plan) + "\n")
        self._process.stdin.flush()
        done: dict[str, int] = json.loads(self._said())
        return done

    def _said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def _main(server: str) -> None:
    """Read plans, a line of JSON each, until there are no more."""
    faults = Faults()
    with faulty(server, faults) as address:
        print(json.dumps({"address": address}), flush=True)
        for line in sys.stdin:
            done = {"requests": len(faults.requests), "faults": len(faults.done)}
            faults.plan(**json.loads(line))
            print(json.dumps(done), flush=True)


def _handler(server: str, faults: Faults) -> type[BaseHTTPRequestHandler]:
    where = urlsplit(server).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def log_message(self, format: str, *args: object) -> None: ...

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind = faults.next(self.command, self.path, self.headers.get("Range", ""))
            if kind == "busy":
                self._answer(
                    503, [("Content-Type", "application/xml")], b"<Error><Code>SlowDown</Code></Error>"
                )
                return
            if kind == "reset":
                self._reset()
                return
            if kind == "wrong" and self.command == "PUT":
                body = _flipped(body, 0x55)
            line = http.client.HTTPConnection(where, timeout=60)
            try:
                headers = {
                    name: value for name, value in self.headers.items() if name.lower() != "connection"
                }
                line.request(self.command, self.path, body, headers)
                reply = line.getresponse()
                data = reply.read()
            finally:
                line.close()
            if kind == "lost":
                self._reset()
                return
            length = reply.headers.get("Content-Length") if self.command == "HEAD" else str(len(data))
            kept = [
                (name, value)
                for name, value in reply.getheaders()
                if name.lower() not in ("content-length", "transfer-encoding", "connection")
            ]
            kept.append(("Content-Length", length or "0"))
            if kind == "wrong" and self.command == "GET":
                data = _flipped(data, 0x33)  # not what a PUT does: both together would be right again
            self._answer(reply.status, kept, data, kind)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes, kind: str = "") -> None:
            self.send_response_only(status)
            for name, value in headers:
                self.send_header(name, value)
            if not any(name == "Content-Length" for name, _ in headers):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if kind == "cut":
                self.wfile.write(body[: len(body) * 2 // 3])
                self.close_connection = True
            elif kind == "slow":
                for at in range(0, len(body), max(1, len(body) // 3)):
                    time.sleep(0.01)  # the fault itself
                    self.wfile.write(body[at : at + max(1, len(body) // 3)])
            else:
                self.wfile.write(body)

        def _reset(self) -> None:
            """Not a polite end: the other side gets a reset."""
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True

    return Handler


def _flipped(data: bytes, bits: int) -> bytes:
    if not data:
        return data
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


if __name__ == "__main__":
    _main(sys.argv[1])
