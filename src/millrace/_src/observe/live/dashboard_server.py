"""Dashboard server of a run: HTTP on the loopback address, with server-sent events.

The address contains a random token, and requests without it are refused. The Host header of a request must name this
machine, so that a web page from elsewhere cannot connect under another name (DNS rebinding). Only the files of a fixed
table are served.

Connections without a complete request are limited in number and have a deadline (`heads`). Beyond the limit, the
oldest one is closed: idle connections use a bounded number of threads.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any, Self

from millrace._src.core.log import get_logger

from .event_log import EventLogReader
from .prometheus import CONTENT_TYPE, prometheus_text
from .request_head_limits import Heads, LimitedHead
from .run_state import RunState

__all__ = ["DashboardServer"]

log = get_logger(__name__)

LOOPBACK = "127.0.0.1"
NAMES = (LOOPBACK, "localhost", "[::1]", "::1")
# Seconds between reads of the file, and between keep-alive messages on an idle connection.
LOOK, ALIVE = 0.25, 15.0
# The maximum number of open pages, and the timeout of a connection in seconds.
MOST_PAGES, PATIENCE = 16, 30.0
# Seconds for pages to receive the last events when the server stops.
GRACE = 2.0
# The maximum number of concurrent responses, without pages, and the maximum length of an address.
MOST_RESPONSES, MOST_ADDRESS = 32, 1024

FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "style.css": ("style.css", "text/css; charset=utf-8"),
    "app.js": ("app.js", "text/javascript; charset=utf-8"),
    "chart.js": ("chart.js", "text/javascript; charset=utf-8"),
    "flow.js": ("flow.js", "text/javascript; charset=utf-8"),
}
# The values of each type of point that the page shows in charts.
CURVES = {
    "pipeline": ("rows", "waited", "between", "held", "fill"),
    "channel": ("waited", "stepping", "host", "host_slots", "ring", "ring_slots"),
    "training": ("steps", "seconds", "waited", "loss", "rate"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class DashboardServer:
    """Serves one event log in separate threads at ``url``. Use it in a ``with`` statement, or ``close`` it."""

    def __init__(self, path: str | Path, port: int = 0) -> None:
        with EventLogReader(path):  # raise an error now if the file cannot be read
            pass
        self.token = secrets.token_urlsafe(24)
        self._http = _Http((LOOPBACK, port), Path(path), self.token)
        self.port = int(self._http.server_address[1])
        self.url = f"http://{LOOPBACK}:{self.port}/{self.token}/"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, name="millrace-page", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop the server, and send an end event to open pages. Further calls have no effect."""
        if self._http.ending.is_set():
            return
        self._http.ending.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(GRACE)
        self._http.join(GRACE)

    def forget(self) -> None:
        """In a child of fork: the socket is the parent's."""
        self._http.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32

    def __init__(self, address: tuple[str, int], path: Path, token: str) -> None:
        self.path, self.token = path, token.encode()
        self.ending = threading.Event()
        self.pages = threading.Semaphore(MOST_PAGES)
        self.responses = threading.Semaphore(MOST_RESPONSES)
        self.heads = Heads()
        self._request_threads: set[threading.Thread] = set()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind without a lookup of the host name, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle the request in a thread that is joined at the end."""
        self.heads.add(request)
        thread = threading.Thread(
            target=self._serve_request,
            args=(request, client_address),
            name="millrace-page-request",
            daemon=True,
        )
        self._request_threads = {one for one in self._request_threads if one.is_alive()} | {thread}
        thread.start()

    def _serve_request(self, request: Any, client_address: Any) -> None:
        try:
            self.process_request_thread(request, client_address)
        finally:
            self.heads.remove(request)

    def service_actions(self) -> None:
        """Called several times a second."""
        self.heads.close_late()

    def join(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        for thread in self._request_threads:
            thread.join(max(0.0, until - time.monotonic()))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log at debug level: a closed connection is not an error, and nothing may be printed to the terminal."""
        log.debug("a request for the page failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    server_version, sys_version = "millrace", ""
    timeout = PATIENCE

    def setup(self) -> None:
        super().setup()
        self.rfile = LimitedHead(self.rfile)  # type: ignore[assignment]

    def do_GET(self) -> None:
        self._handle(body=True)

    def do_HEAD(self) -> None:
        self._handle(body=False)

    def _handle(self, body: bool) -> None:
        self.server.heads.remove(self.connection)
        if not self.server.responses.acquire(blocking=False):
            self._refuse(503, "Too many requests at once.")
            return
        try:
            stream = self._respond(body)
        finally:
            self.server.responses.release()
        if stream:
            self._events()

    def _respond(self, body: bool) -> bool:
        """Send the response, except for event streams, which have a separate limit; return True for those."""
        if not self._is_for_us():
            self._refuse(403, "This page is only for the machine it runs on.")
            return False
        if len(self.path) > MOST_ADDRESS:
            self._refuse(414, "The address is too long.")
            return False
        path = self.path.partition("?")[0]
        _, _, rest = path.partition("/")
        token, slash, name = rest.partition("/")
        if path == "/metrics" and self._bears_token():
            self._metrics(body)
        elif not self._is_token(token):
            self._refuse(403, "The address needs the token that `millrace watch` printed.")
        elif not slash:
            self._send(301, b"", "text/plain", body, Location=f"/{token}/")
        elif name == "metrics":
            self._metrics(body)
        elif name == "events" and body:
            return True
        elif name in FILES:
            file, content_type = FILES[name]
            self._send(200, _asset(file), content_type, body)
        else:
            self._refuse(404, "There is no such page.")
        return False

    # authorization ----------------------------------------------------------------------------------

    def _is_for_us(self) -> bool:
        hosts = self.headers.get_all("Host") or []
        origin = self.headers.get("Origin")
        if len(hosts) != 1 or _name_in(hosts[0]) not in NAMES:
            return False
        return origin is None or _name_in(origin.partition("://")[2]) in NAMES

    def _bears_token(self) -> bool:
        scheme, _, token = (self.headers.get("Authorization") or "").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(token.strip())

    def _is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.server.token)

    # responses --------------------------------------------------------------------------------------

    def _refuse(self, status: int, text: str) -> None:
        self._send(status, f"{text}\n".encode(), "text/plain; charset=utf-8", self.command != "HEAD")

    def _send(self, status: int, data: bytes, content_type: str, body: bool, **extra_headers: str) -> None:
        self.send_response(status)
        for name, value in {
            **HEADERS,
            **extra_headers,
            "Content-Type": content_type,
            "Content-Length": str(len(data)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def _metrics(self, body: bool) -> None:
        state, tail = RunState(), EventLogReader(self.server.path)
        with tail:
            ended = tail.ended
            while (got := tail.read_new())[1]:
                if got[0]:
                    state = RunState()
                for line in got[1]:
                    state.apply(line)
        self._send(200, prometheus_text(state.snapshot(ended)).encode(), CONTENT_TYPE, body)

    def _events(self) -> None:
        if not self.server.pages.acquire(blocking=False):
            self._refuse(503, "Too many pages are open; close one.")
            return
        try:
            self.send_response(200)
            for name, value in {**HEADERS, "Content-Type": "text/event-stream; charset=utf-8"}.items():
                self.send_header(name, value)
            self.end_headers()
            with EventLogReader(self.server.path) as tail:
                self._stream(tail)
        except OSError:
            pass  # the page was closed
        finally:
            self.server.pages.release()

    def _stream(self, tail: EventLogReader) -> None:
        """Stream all existing events, then new ones; each part is followed by the current state."""
        state, fresh, quiet = RunState(), True, 0.0
        self._event("begin", {})
        while True:
            # checked before reading: events that are written in between are read the next time
            last = self.server.ending.is_set() or tail.ended
            anew, lines = tail.read_new()
            if anew:
                state = RunState()
                self._event("begin", {})
            points = [_curve_point(line) for line in lines if state.apply(line) and line.get("is") == "point"]
            if points:
                self._event("points", points)
            if lines:
                fresh = True
                continue  # there may be more
            if fresh or last:
                self._event("now", {**state.snapshot(tail.ended), "file": str(tail.path)})
                fresh, quiet = False, 0.0
            if last:
                self._event("over", {})
                return
            self.server.ending.wait(LOOK)
            quiet += LOOK
            if quiet >= ALIVE:  # detects a closed page
                self.wfile.write(b": alive\n\n")
                quiet = 0.0

    def _event(self, event: str, data: Any) -> None:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
        self.wfile.write(f"event: {event}\ndata: {text}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests."""


def _name_in(address: str) -> str:
    """A host without its port: with a tunnel it may be any port."""
    name, colon, port = address.rpartition(":")
    return (name if colon and port.isdigit() else address).lower()


def _curve_point(point: dict[str, Any]) -> dict[str, Any]:
    """The values of a point for charts; the other values are in the current state."""
    curve = next(curve for curve in CURVES if curve in point)
    return {name: point[name] for name in ("t", curve, *CURVES[curve])}


def _asset(name: str) -> bytes:
    return (resources.files(__package__) / "page" / name).read_bytes()
