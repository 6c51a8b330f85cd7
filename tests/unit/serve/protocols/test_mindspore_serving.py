"""MindSpore Serving's REST and gRPC: its addresses, its instances, its errors for each of them."""

import base64

import grpc
import numpy as np
import pytest

from millrace._src.serve.protobuf_messages import SERVING, messages

ONES = [1.0, 1.0, 1.0]


def b64(array, kind, shape):
    return {"b64": base64.b64encode(array.tobytes()).decode(), "type": kind, "shape": shape}


def test_instances_over_rest(ask):
    body = {"instances": [{"left": [1, 2, 3], "right": ONES}, {"left": [4.5, 5, 6], "right": ONES}]}
    for path, times in (("pair", 2), ("pair/version/1", 1)):
        status, answer, _ = ask("POST", f"/model/{path}:predict", body)
        assert status == 200
        assert answer["instances"][0] == {
            "total": [2.0 * times, 3.0 * times, 4.0 * times],
            "difference": [0.0, 1.0, 2.0],
        }
        assert answer["instances"][1]["total"][0] == 5.5 * times


def test_one_instance_need_not_be_a_list_and_any_method_is_the_models(ask):
    status, answer, _ = ask("POST", "/model/dense:classify_top1", {"instances": {"x": [1, 0, 0, 0]}})
    assert (status, answer) == (200, {"instances": [{"y": [0.0, 4.0, 8.0]}]})


def test_base64_carries_tensors(ask):
    row = np.array([1, 2, 3], np.float32)
    body = {"instances": [{"left": b64(row, "float32", [3]), "right": b64(row, "fp32", [3])}]}
    assert ask("POST", "/model/pair/version/1:predict", body)[1]["instances"][0]["total"] == [2.0, 4.0, 6.0]


def test_a_bad_instance_fails_alone(ask):
    good = {"left": ONES, "right": ONES}
    bad = {
        "expected shape [3], got [2]": {"left": [1.0, 2.0], "right": ONES},
        "expected FP32, got 'a'": {"left": ["a", 1.0, 2.0], "right": ONES},
        "'middle' is unknown. The model takes left, right": {"middle": ONES, "left": ONES, "right": ONES},
        "has no input 'right'": {"left": ONES},
        "expected an instance as an object": 3,
        "expected FP32, got INT16": {"left": b64(np.zeros(3, np.int16), "int16", [3]), "right": ONES},
        "is 12 bytes, got 8": {"left": b64(np.zeros(2, np.float32), "fp32", [3]), "right": ONES},
        "invalid base64": {"left": {"b64": "?", "type": "fp32", "shape": [3]}, "right": ONES},
        "lists are not of equal lengths": {"left": [1.0, [2.0], 3.0], "right": [[1.0]]},
        "expected a type of": {"left": {"b64": "", "type": "float8", "shape": [3]}, "right": ONES},
    }
    instances = [good, *bad.values(), good]
    status, answer, _ = ask("POST", "/model/pair:predict", {"instances": instances})
    assert status == 200
    first, *failed, last = answer["instances"]
    assert first["total"] == last["total"] == [4.0, 4.0, 4.0]
    for words, each in zip(bad, failed, strict=True):
        if "lists" not in words:
            assert words in each["error_msg"], (words, each)
        else:
            assert "error_msg" in each


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("nothing:predict", {"instances": []}, 404, "there is no model 'nothing'"),
        ("pair/version/9:predict", {"instances": []}, 404, "no version '9'"),
        ("pair:predict", {"instances": []}, 400, "1 to 1000 instances, got 0"),
        ("pair:predict", {"inputs": []}, 400, "got no list of instances"),
        ("pair:predict", b"{", 400, "the request is not JSON"),
        ("pair:predict", b"[" * 100_000, 400, "nested too deeply"),
    ],
)
def test_errors_of_the_whole_request(ask, path, body, status, words):
    found, answer, _ = ask("POST", f"/model/{path}", body)
    assert (found, words in answer["error_msg"]) == (status, True), answer


@pytest.fixture(scope="module")
def predict(server):
    made = messages(SERVING)
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        call = channel.unary_unary(
            "/mindspore.serving.proto.MSService/Predict",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=made["PredictReply"].FromString,
        )

        def ask(name, *instances, version=0):
            request = made["PredictRequest"]()
            request.servable_spec.name = name
            request.servable_spec.method_name = "predict"
            request.servable_spec.version_number = version
            for instance in instances:
                added = request.instances.add()
                for key, array in instance.items():
                    tensor = added.items[key]
                    tensor.shape.dims.extend(array.shape)
                    tensor.dtype = {"float32": 11, "int32": 6, "float64": 12}[str(array.dtype)]
                    tensor.data = array.tobytes()
            return call(request, timeout=60)

        yield ask


def test_predict_over_grpc(predict):
    row = np.array([1, 2, 3], np.float32)
    reply = predict("pair", {"left": row, "right": row}, {"left": row, "right": -row}, version=1)
    assert len(reply.error_msg) == 0
    assert reply.servable_spec.name == "pair"
    total = reply.instances[0].items["total"]
    assert (list(total.shape.dims), total.dtype) == ([3], 11)
    assert np.frombuffer(total.data, np.float32).tolist() == [2.0, 4.0, 6.0]
    assert np.frombuffer(reply.instances[1].items["difference"].data, np.float32).tolist() == [2.0, 4.0, 6.0]


def test_errors_over_grpc_are_for_the_request_or_for_each_instance(predict):
    row = np.array([1, 2, 3], np.float32)
    reply = predict("pears", {"left": row})
    assert [each.error_code for each in reply.error_msg] == [1]
    assert b"there is no model 'pears'" in reply.error_msg[0].error_msg
    good = {"left": row, "right": row}
    reply = predict("pair", good, {"left": row.astype(np.float64), "right": row}, good)
    assert [each.error_code for each in reply.error_msg] == [0, 1, 0]
    assert b"expected FP32, got FP64" in reply.error_msg[1].error_msg
    assert [len(each.items) for each in reply.instances] == [2, 0, 2]
