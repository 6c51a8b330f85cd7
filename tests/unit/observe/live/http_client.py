"""A plain HTTP client for the page's server, that says exactly what it is told to."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

from millrace._src.observe.live.dashboard_server import DashboardServer

__all__ = ["events", "get", "here"]


def get(
    server: DashboardServer, path: str, *, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """(status, headers, body) of one request; ``Host`` as given, or as a browser sends it."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in ({"Host": f"127.0.0.1:{server.port}"} | headers).items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def here(server: DashboardServer, name: str = "") -> str:
    return f"/{server.token}/{name}"


def events(server: DashboardServer) -> Iterator[tuple[str, Any]]:
    """What the server tells a page, until it says that nothing more comes."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("GET", here(server, "events"))
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        kind = ""
        for raw in answer:
            name, _, value = raw.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                yield kind, json.loads(value)
                if kind == "over":
                    return
    finally:
        connection.close()
