"""The Open Inference Protocol over HTTP, as its description has it and as Triton's client speaks it."""

import numpy as np
import pytest

from millrace.serve import Client

LEFT, RIGHT = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]


def fp32(name, data, shape=(2, 3)):
    return {"name": name, "datatype": "FP32", "shape": list(shape), "data": data}


def pair(*inputs, **more):
    return {"inputs": list(inputs) or [fp32("left", LEFT), fp32("right", RIGHT)], **more}


def test_health_and_metadata(ask):
    assert ask("GET", "/v2/health/live")[:2] == (200, {"live": True})
    assert ask("GET", "/v2/health/ready")[:2] == (200, {"ready": True})
    status, about, _ = ask("GET", "/v2")
    assert (status, about["name"], "binary_tensor_data" in about["extensions"]) == (200, "millrace", True)
    status, model, _ = ask("GET", "/v2/models/pair")
    assert status == 200
    assert (model["name"], model["versions"], model["platform"]) == ("pair", ["1", "2"], "millrace_archive")
    assert model["inputs"] == [
        {"name": "left", "datatype": "FP32", "shape": [-1, 3]},
        {"name": "right", "datatype": "FP32", "shape": [-1, 3]},
    ]
    assert [each["name"] for each in model["outputs"]] == ["total", "difference"]
    assert ask("GET", "/v2/models/pair/versions/1/ready")[0] == 200
    assert ask("GET", "/v2/models/pair/ready")[0] == 200
    assert ask("GET", "/v2/models/onnx")[1]["platform"] == "onnxruntime_onnx"


def test_json_in_and_out(ask):
    status, answer, headers = ask("POST", "/v2/models/pair/infer", pair(id="seven"))
    assert (status, headers["content-type"]) == (200, "application/json")
    assert (answer["model_name"], answer["model_version"], answer["id"]) == ("pair", "2", "seven")
    total, difference = answer["outputs"]
    assert (total["name"], total["datatype"], total["shape"]) == ("total", "FP32", [2, 3])
    assert total["data"] == [22.0, 44.0, 66.0, 88.0, 110.0, 132.0]
    assert difference["data"] == [-9.0, -18.0, -27.0, -36.0, -45.0, -54.0]


def test_flat_data_means_the_same_as_nested(ask):
    flat = pair(fp32("left", [*LEFT[0], *LEFT[1]]), fp32("right", [*RIGHT[0], *RIGHT[1]]))
    assert ask("POST", "/v2/models/pair/infer", flat)[1] == ask("POST", "/v2/models/pair/infer", pair())[1]


def test_versions_and_wanted_outputs(ask):
    body = pair(outputs=[{"name": "total"}])
    for version, times in (("1", 1), ("2", 2)):
        status, answer, _ = ask("POST", f"/v2/models/pair/versions/{version}/infer", body)
        assert (status, answer["model_version"]) == (200, version)
        assert [each["name"] for each in answer["outputs"]] == ["total"]
        assert answer["outputs"][0]["data"][0] == 11.0 * times


def test_tensors_as_bytes_go_both_ways(server):
    with Client(server.url) as client:
        left, right = np.array(LEFT, np.float32), np.array(RIGHT, np.float32)
        made = client.infer("pair", {"right": right, "left": left}, version=1)
        np.testing.assert_array_equal(made["total"], left + right)
        np.testing.assert_array_equal(made["difference"], left - right)
        assert client.infer("pair", {"right": right, "left": left}, outputs=["difference"]).shape == (2, 3)


def test_bytes_and_json_may_be_mixed(ask):
    import json

    right = np.array(RIGHT, np.float32).tobytes()
    head = pair(
        fp32("left", LEFT),
        {"name": "right", "datatype": "FP32", "shape": [2, 3], "parameters": {"binary_data_size": 24}},
    )
    text = json.dumps(head).encode()
    status, answer, _ = ask(
        "POST", "/v2/models/pair/infer", text + right, Inference_Header_Content_Length=str(len(text))
    )
    assert (status, answer["outputs"][0]["data"][:2]) == (200, [22.0, 44.0])


@pytest.mark.parametrize("name", ["dense", "onnx"])
def test_both_runtimes_answer(server, name):
    rows = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    with Client(server.url) as client:
        np.testing.assert_allclose(client.infer(name, rows), rows @ weight.T, rtol=1e-5)


def test_a_model_of_one_shape_takes_that_shape(server, ask):
    with Client(server.url) as client:
        assert client.infer("fixed", np.array([[-3.0, 3.0]], np.float32)).tolist() == [[0.0, 3.0]]
        with pytest.raises(RuntimeError, match=r"expected shape \[1, 2\], got \[2, 2\]"):
            client.infer("fixed", np.zeros((2, 2), np.float32))


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/v2/models/pears", 404, "there is no model 'pears'; there are pair, dense"),
        ("/v2/models/pair/versions/9", 404, "no version '9'; there are 1, 2"),
        ("/v2/models/pair/versions/x/ready", 404, "no version 'x'"),
        ("/v2/nothing", 404, "there is nothing at '/v2/nothing'"),
    ],
)
def test_what_is_not_there_is_named(ask, path, status, words):
    found, answer, _ = ask("GET", path)
    assert (found, words in answer["error"]) == (status, True), answer


def wrong(**changes):
    return pair({**fp32("left", LEFT), **changes}, fp32("right", RIGHT))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (wrong(datatype="INT32"), "input 'left': expected datatype FP32, got 'INT32'"),
        (wrong(shape=[2, 4]), "expected shape [-1, 3], got [2, 4]"),
        (wrong(shape=[2]), "expected shape [-1, 3], got [2]"),
        (wrong(shape=[-1, 3]), "a shape has integers from 0 on, got [-1, 3]"),
        (wrong(shape=[3, 3]), "a list of axis 0 has 2 elements, its shape [3, 3] has 3"),
        (wrong(shape=[3, 3], data=[1.0] * 6), "shape [3, 3] needs 9 elements, got 6"),
        (wrong(data=[[1.0, 2.0, 3.0], [4.0, 5.0]]), "a list of axis 1 has 2 elements"),
        (wrong(data=[[["a"]]]), "expected data as a flat list or 2 nested lists, got 3 levels"),
        (wrong(data=["a"] * 6), "expected FP32 data"),
        (wrong(name="middle"), "input 'middle' is unknown. The model takes left, right"),
        (wrong(name="right"), "input 'right' occurs twice"),
        (wrong(data=None), "flat list"),
        (pair(fp32("left", LEFT)), "the request has no input 'right'"),
        (pair(fp32("left", [[1, 2, 3]], (1, 3)), fp32("right", RIGHT)), "numbers of rows: {'left': 1, 'right': 2}"),
        (pair(fp32("left", [], (0, 3)), fp32("right", [], (0, 3))), "no rows"),
        (pair(outputs=[{"name": "sum"}]), "there is no output 'sum'; there are total, difference"),
        ({}, "`inputs`"),
        ([], "Expected `object`"),
        (b"{", "the request is invalid"),
        (b"", "the request is invalid"),
        (b'{"inputs": [], "parameters": {"a": ' + b"[" * 100_000, "nested"),
        (b'{"inputs": [{"name": "left", "shape": [2, 3], "datatype": "FP32", "data": [NaN]}]}', "is invalid"),
    ],
)  # fmt: skip
def test_errors_say_what_was_expected_and_what_came(ask, body, words):
    status, answer, _ = ask("POST", "/v2/models/pair/infer", body)
    assert (status, words in answer["error"]) == (400, True), answer


def test_integers_that_do_not_fit_are_refused(ask):
    body = {"inputs": [{"name": "words", "datatype": "INT32", "shape": [1, 2], "data": [1, 2**31]}]}
    status, answer, _ = ask("POST", "/v2/models/picky/infer", body)
    assert (status, "INT32 holds -2147483648 to 2147483647" in answer["error"]) == (400, True)


def test_a_shape_or_a_body_over_the_limit_is_refused_before_it_is_read(ask):
    huge = wrong(shape=[10**12, 3])
    status, answer, _ = ask("POST", "/v2/models/pair/infer", huge)
    assert (status, "more than the server's limit" in answer["error"]) == (413, True)
    status, answer, headers = ask("POST", "/v2/models/pair/infer", b"x" * 2_000_000)
    assert (status, headers["connection"]) == (413, "close")
    assert answer["error"] == "body: expected at most 1048576 bytes, got 2000000 or more"


def test_tritons_client_over_http(server):
    triton = pytest.importorskip("tritonclient.http")
    client = triton.InferenceServerClient(f"127.0.0.1:{server.server.port}")
    try:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("pair", "1")
        assert client.get_server_metadata()["name"] == "millrace"
        assert client.get_model_metadata("pair")["inputs"][0]["shape"] == [-1, 3]
        assert {each["name"] for each in client.get_model_repository_index()} >= {"pair", "onnx"}
        left, right = np.array(LEFT, np.float32), np.array(RIGHT, np.float32)
        for binary in (True, False):
            inputs = [triton.InferInput(name, [2, 3], "FP32") for name in ("left", "right")]
            for each, value in zip(inputs, (left, right), strict=True):
                each.set_data_from_numpy(value, binary_data=binary)
            wanted = [
                triton.InferRequestedOutput(name, binary_data=binary) for name in ("difference", "total")
            ]
            made = client.infer("pair", inputs, outputs=wanted, model_version="1", request_id="1")
            np.testing.assert_array_equal(made.as_numpy("total"), left + right)
            np.testing.assert_array_equal(made.as_numpy("difference"), left - right)
        other = triton.InferInput("left", [2, 3], "INT64")
        other.set_data_from_numpy(np.ones((2, 3), np.int64))
        with pytest.raises(Exception, match="expected datatype FP32, got 'INT64'"):
            client.infer("pair", [other])
        client.load_model("pair")
    finally:
        client.close()
