"""One server for the tests of a module."""

import http.client
import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from millrace.serve import start
from tests.serve.models import config, write


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Models in files, by name."""
    return write(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def server(files):
    with start(config(files, grpc_port=0, max_body=1 << 20, max_wait_ms=1)) as running:
        yield running


class Asked:
    """Raw HTTP: what was answered, as status, JSON and headers."""

    def __init__(self, running, token=None):
        self.port = running.server.port
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def __call__(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            sent = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, sent, {**self.headers, **named})
            response = connection.getresponse()
            data = response.read()
            return response.status, _json(data), response.headers
        finally:
            connection.close()


def _json(data):
    try:
        return json.loads(data)
    except ValueError:
        return data


@pytest.fixture(scope="module")
def ask(server):
    return Asked(server)
