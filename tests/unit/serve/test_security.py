"""A token and TLS, over HTTP and gRPC."""

import grpc
import numpy as np
import pytest

from millrace._src.serve.protobuf_messages import INFERENCE, messages
from millrace.serve import Client, start
from tests.unit.serve.example_models import config


@pytest.fixture(scope="module")
def locked(files, certificate):
    cert, key = certificate
    told = config({"dense": files["dense"]}, grpc_port=0, token="secret", certificate=cert, key=key)
    with start(told) as running:
        yield running


def test_tls_and_token_over_http(locked, certificate):
    rows = np.ones((1, 4), np.float32)
    assert locked.url.startswith("https://")
    with Client(locked.url, token="secret", ca=certificate[0]) as client:
        assert client.infer("dense", rows).tolist() == [[6.0, 22.0, 38.0]]
    for token, got in ((None, "none"), ("guess", "another one")):
        with Client(locked.url, token=token, ca=certificate[0]) as client:
            assert client.ready()  # whether it is ready is no secret
            with pytest.raises(RuntimeError, match=f"with the server's token, got {got}") as failed:
                client.infer("dense", rows)
            assert failed.value.status == 401
    with (
        Client(locked.url, token="secret") as client,
        pytest.raises(RuntimeError, match="no response from https"),
    ):
        client.infer("dense", rows)  # nobody vouches for it


def test_tls_and_token_over_grpc(locked, certificate):
    with open(certificate[0], "rb") as file:
        trusted = grpc.ssl_channel_credentials(file.read())
    made = messages(INFERENCE)
    with grpc.secure_channel(f"127.0.0.1:{locked.grpc_port}", trusted) as channel:
        call = channel.unary_unary(
            "/inference.GRPCInferenceService/ModelMetadata",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=made["ModelMetadataResponse"].FromString,
        )
        asked = made["ModelMetadataRequest"](name="dense")
        assert call(asked, metadata=[("authorization", "Bearer secret")], timeout=60).name == "dense"
        for metadata in ([], [("authorization", "Bearer guess")]):
            with pytest.raises(grpc.RpcError) as failed:
                call(asked, metadata=metadata, timeout=60)
            assert failed.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_the_client_says_who_did_not_answer():
    with Client("http://127.0.0.1:9", timeout=5) as client:
        assert not client.ready()
        with pytest.raises(RuntimeError, match=r"no response from http://127.0.0.1:9") as failed:
            client.infer("x", np.ones(1))
        assert failed.value.status == 503
    with pytest.raises(ValueError, match="a server's address is http"):
        Client("ftp://x")
