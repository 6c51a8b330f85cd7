"""Who may send a request: names in the Host header, origins of web pages, and administrative calls."""

import contextlib
import json

import grpc
import pytest

from millrace._src.core.errors import ServeError
from millrace._src.serve.protobuf_messages import INFERENCE, messages
from millrace._src.serve.security import Guard
from millrace.serve import Config, start
from tests.contracts.serve_protocols.hostile_requests import INFER, good, raw, send
from tests.unit.serve.conftest import Asked
from tests.unit.serve.example_models import config

LOAD = "/v2/repository/models/pair/load"


@pytest.fixture(scope="module")
def ask(files):
    """A server without a token."""
    with start(config({"pair": files["pair"]}, grpc_port=0)) as running:
        asked = Asked(running)
        asked.grpc_port = running.grpc_port
        yield asked


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8000",
        "localhost",
        "LOCALHOST:1",
        "localhost.",
        "[::1]",
        "[::1]:8000",
        "127.1.2.3",
    ],
)
def test_names_of_this_machine_are_accepted(ask, host):
    assert ask("POST", INFER, good(), Host=host)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "evil.example:80", "10.0.0.1", "",
             "[::1", "[evil]", "localhost:80:80", "localhost:evil", "127.0.0.1@evil.example", "0.0.0.0", "\xff"],
)  # fmt: skip
def test_other_names_are_refused(ask, host):
    """A web page whose name was made to point to this machine (DNS rebinding) has the same origin as the server."""
    for method, path in (("POST", INFER), ("POST", LOAD), ("GET", "/v2/models/pair"), ("GET", "/metrics")):
        status, said, _ = ask(method, path, good() if method == "POST" else None, Host=host)
        assert status == 403, (path, said)
        assert said["error"].startswith("Host: expected one of 127.0.0.1, localhost, got")
    assert ask("GET", "/v2/health/ready", Host=host)[0] == 200  # load balancers use any name


def test_a_request_has_one_host(ask):
    data = json.dumps(good()).encode()
    twice = raw(INFER, {"Host": "evil.example"}, data)
    assert send(ask.port, twice)[0] == 400
    none = raw(INFER, {}, data).replace(b"Host: 127.0.0.1\r\n", b"")
    assert send(ask.port, none)[0] == 400
    assert send(ask.port, none.replace(b"HTTP/1.1", b"HTTP/1.0", 1))[0] == 200  # it had no such header


@pytest.mark.parametrize("path", [INFER, LOAD, "/model/pair:predict"])
def test_web_pages_of_other_origins_are_refused(ask, path):
    own = f"http://127.0.0.1:{ask.port}"
    others = ("null", "http://evil.example", "http://127.0.0.1", "http://127.0.0.1:1", f"http://localhost:{ask.port}",
              f"{own}.evil.example", "", "file://", f"http://127.0.0.1:{ask.port}0")  # fmt: skip
    for origin in others:
        status, said, _ = ask("POST", path, good(), Origin=origin, Content_Type="text/plain")
        assert (status, said["error"].startswith("Origin: expected the server's own")) == (403, True), origin
    assert ask("POST", path, good(), Origin=own)[0] in (200, 400)
    assert ask("GET", "/v2/models/pair", Origin="http://evil.example")[0] == 200  # it could not read it


def test_configured_names_and_origins(files):
    told = config(
        {"pair": files["pair"]}, allowed_hosts=["models.example"], allowed_origins=["https://app.example"]
    )
    with start(told) as running:
        ask = Asked(running)
        assert ask("POST", INFER, good(), Host="Models.Example:8000", Origin="https://APP.example")[0] == 200
        assert ask("POST", INFER, good(), Host="models.example", Origin="https://models.example")[0] == 200
        assert ask("POST", INFER, good(), Host="models.example", Origin="https://other.example")[0] == 403
        assert ask("POST", INFER, good(), Host="other.example")[0] == 403
    with start(config({"pair": files["pair"]}, allowed_hosts=["*"], allowed_origins=["*"])) as running:
        assert Asked(running)("POST", INFER, good(), Host="x", Origin="https://evil.example")[0] == 200


def test_a_token_stands_for_the_host_but_not_for_the_origin(files):
    with start(config({"pair": files["pair"]}, token="secret")) as running:
        ask = Asked(running, token="secret")
        assert ask("POST", INFER, good(), Host="models.example")[0] == 200
        assert ask("POST", LOAD, {}, Host="models.example")[0] == 200
        assert ask("POST", INFER, good(), Host="models.example", Origin="https://evil.example")[0] == 403
        assert Asked(running)("POST", LOAD, {})[0] == 401


def scope(client, method="POST", host=b"127.0.0.1", **more):
    headers = [(b"host", host)] + [(name.encode(), value) for name, value in more.items()]
    return {"path": LOAD, "method": method, "headers": headers, "client": client, "http_version": "1.1"}


@pytest.mark.parametrize("token", [None, "secret"])
@pytest.mark.parametrize(
    ("client", "here"),
    [(("127.0.0.1", 1), True), (("::1", 1), True), (("::ffff:127.0.0.1", 1), True), (("10.0.0.7", 1), False),
     (("::ffff:10.0.0.7", 1), False), (None, False), (("testclient", 1), False), (("", 0), False)],
)  # fmt: skip
def test_models_are_loaded_from_this_machine_or_with_a_token(client, here, token):
    guard = Guard(Config({"m": "m.onnx"}, host="0.0.0.0", token=token))
    guard.check_request(scope(client, authorization=b"Bearer secret"))
    with (
        contextlib.nullcontext() if here or token else pytest.raises(ServeError, match="or a token") as failed
    ):
        guard.check_admin(scope(client))
    assert failed is None or failed.value.status == 403


@pytest.mark.parametrize(
    ("peer", "here"),
    [("ipv4:127.0.0.1:5000", True), ("ipv6:%5B::1%5D:5000", True), ("ipv6:[::1]:5000", True), ("unix:/tmp/x", True),
     ("ipv4:10.0.0.7:5000", False), ("ipv6:%5Bfe80::1%5D:5000", False), ("", False), ("ipv4:evil:1", False)],
)  # fmt: skip
def test_models_are_loaded_over_grpc_from_this_machine_or_with_a_token(peer, here):
    with contextlib.nullcontext() if here else pytest.raises(ServeError, match="or a token"):
        Guard(Config({"m": "m.onnx"})).check_admin_peer(peer)
    Guard(Config({"m": "m.onnx"}, token="secret")).check_admin_peer(peer)


def test_a_server_for_all_addresses_is_named_by_any_address():
    """An address cannot be made to point elsewhere; a name can."""
    guard = Guard(Config({"m": "m.onnx"}, host="0.0.0.0"))
    for host in (b"10.0.0.7:8000", b"[fe80::1]:8000", b"localhost"):
        guard.check_request(scope(None, host=host))
    with pytest.raises(ServeError, match="--allowed-host"):
        guard.check_request(scope(None, host=b"models.example"))
    many = Guard(Config({"m": "m.onnx"}, host="0.0.0.0"))
    for number in range(300):
        many.check_request(scope(None, host=f"10.0.0.7:{number}".encode()))
    assert len(many._accepted) <= 64


def test_the_grpc_side_loads_models_for_this_machine(ask):
    with grpc.insecure_channel(f"127.0.0.1:{ask.grpc_port}") as channel:
        made = messages(INFERENCE)["RepositoryModelLoadRequest"](model_name="pair").SerializeToString()
        call = channel.unary_unary("/inference.GRPCInferenceService/RepositoryModelLoad")
        assert call(made, timeout=60) == b""
