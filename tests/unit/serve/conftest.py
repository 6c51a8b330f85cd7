"""One server for the tests of a module, and what tests of servers share."""

import datetime
import http.client
import ipaddress
import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from millrace.serve import start
from tests.unit.serve.example_models import config, write


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

    def __init__(self, running, token=None, tls=None):
        self.port, self.tls = running.server.port, tls
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def __call__(self, method, path, body=None, **headers):
        kind, more = http.client.HTTPConnection, {}
        if self.tls is not None:
            kind, more = http.client.HTTPSConnection, {"context": self.tls}
        connection = kind("127.0.0.1", self.port, timeout=60, **more)
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


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "millrace test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return str(folder / "cert.pem"), str(folder / "key.pem")
