"""The Open Inference Protocol over gRPC: Triton's client, and what it does not send by itself."""

import grpc
import numpy as np
import pytest

from millrace._src.serve.protobuf_messages import INFERENCE, messages

LEFT, RIGHT = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)


@pytest.fixture(scope="module")
def call(server):
    """Call a method with a message of ours."""
    made = messages(INFERENCE)
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:

        def ask(method, **fields):
            bare = channel.unary_unary(
                f"/inference.GRPCInferenceService/{method}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=made[f"{method}Response"].FromString,
            )
            return bare(made[f"{method}Request"](**fields), timeout=60)

        yield ask


def tensor(name, array, **contents):
    datatype = {"f": "FP32", "i": "INT32"}[array.dtype.kind]
    made = {"name": name, "datatype": datatype, "shape": list(array.shape)}
    return {**made, "contents": contents} if contents else made


def test_tritons_client_over_grpc(server):
    triton = pytest.importorskip("tritonclient.grpc")
    with triton.InferenceServerClient(f"127.0.0.1:{server.grpc_port}") as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("pair")
        assert not client.is_model_ready("pears")
        assert client.get_server_metadata().name == "millrace"
        about = client.get_model_metadata("pair", "1")
        assert list(about.versions) == ["1", "2"]
        assert [list(each.shape) for each in about.inputs] == [[-1, 3], [-1, 3]]
        inputs = [triton.InferInput(name, [2, 3], "FP32") for name in ("left", "right")]
        for each, value in zip(inputs, (LEFT, RIGHT), strict=True):
            each.set_data_from_numpy(value)
        made = client.infer("pair", inputs, model_version="1", request_id="seven")
        np.testing.assert_array_equal(made.as_numpy("total"), LEFT + RIGHT)
        np.testing.assert_array_equal(made.as_numpy("difference"), LEFT - RIGHT)
        assert made.get_response().id == "seven"
        wanted = [triton.InferRequestedOutput("difference")]
        assert [
            each.name for each in client.infer("pair", inputs, outputs=wanted).get_response().outputs
        ] == ["difference"]
        client.load_model("pair")
        assert {each.name for each in client.get_model_repository_index().models} >= {"pair", "onnx"}


def test_contents_in_the_place_of_raw_bytes(call):
    values = {name: [float(n) for n in array.reshape(-1)] for name, array in (("l", LEFT), ("r", RIGHT))}
    made = call(
        "ModelInfer",
        model_name="pair",
        inputs=[
            tensor("left", LEFT, fp32_contents=values["l"]),
            tensor("right", RIGHT, fp32_contents=values["r"]),
        ],
    )
    assert made.model_version == "2"
    np.testing.assert_array_equal(
        np.frombuffer(made.raw_output_contents[0], np.float32).reshape(2, 3), (LEFT + RIGHT) * 2
    )


def refused(name, code, words, **fields):
    return pytest.param(fields, code, words, id=name)


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        refused("model", "NOT_FOUND", "there is no model 'x'", model_name="x"),
        refused("version", "NOT_FOUND", "no version '7'", model_name="pair", model_version="7"),
        refused("missing", "INVALID_ARGUMENT", "has no input 'left'", model_name="pair"),
        refused("shape", "INVALID_ARGUMENT", "expected shape [-1, 3], got [2, 2]", model_name="pair",
                inputs=[tensor("left", LEFT[:, :2])], raw_input_contents=[b""]),
        refused("type", "INVALID_ARGUMENT", "expected datatype FP32, got 'INT32'", model_name="pair",
                inputs=[tensor("left", LEFT.astype(np.int32))]),
        refused("short", "INVALID_ARGUMENT", "is 24 bytes, got 3", model_name="pair",
                inputs=[tensor("left", LEFT)], raw_input_contents=[b"abc"]),
        refused("entries", "INVALID_ARGUMENT", "raw_input_contents has 2 entries", model_name="pair",
                inputs=[tensor("left", LEFT)], raw_input_contents=[b"", b""]),
        refused("contents", "INVALID_ARGUMENT", "needs 6 elements in fp32_contents, got 1", model_name="pair",
                inputs=[tensor("left", LEFT, fp32_contents=[1.0])]),
        refused("huge", "RESOURCE_EXHAUSTED", "more than the server's limit", model_name="pair",
                inputs=[{"name": "left", "datatype": "FP32", "shape": [2**40, 3]}]),
        refused("negative", "INVALID_ARGUMENT", "integers from 0 on", model_name="pair",
                inputs=[{"name": "left", "datatype": "FP32", "shape": [-1, 3]}]),
    ],
)  # fmt: skip
def test_errors_have_grpcs_codes_and_the_same_words(call, fields, code, words):
    with pytest.raises(grpc.RpcError) as failed:
        call("ModelInfer", **fields)
    assert failed.value.code().name == code
    assert words in failed.value.details()


def test_bytes_that_are_no_message_are_refused(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        for method in (
            "inference.GRPCInferenceService/ModelInfer",
            "mindspore.serving.proto.MSService/Predict",
        ):
            with pytest.raises(grpc.RpcError):
                channel.unary_unary(f"/{method}")(b"\xff\xff\xff\xff", timeout=60)
            with pytest.raises(grpc.RpcError) as failed:
                channel.unary_unary(f"/{method}")(b"\0" * (2 << 20), timeout=60)
            assert failed.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
