"""Limits of the serving boundary: bytes of bodies and responses, alone and together, and where they are converted."""

import contextlib
import json
import random
import socket
import threading

import grpc
import numpy as np
import pytest

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, ServeError
from millrace._src.serve.grpc import receive
from millrace._src.serve.limits import BYTES_ELEMENT, INLINE, MAX_FIELDS, BudgetError, ByteBudget
from millrace._src.serve.protobuf_messages import INFERENCE, SERVING, messages
from millrace._src.serve.protocols import mindspore_rest as mindspore
from millrace._src.serve.protocols import open_inference_http as v2
from millrace._src.serve.tensor_codec import TensorSpec, from_bytes
from millrace.serve import Client, Config, start
from tests.contracts.serve_protocols.hostile_requests import (
    INFER,
    answer,
    good,
    raw,
    send,
    target,
    wait_until,
    whole_of,
)
from tests.unit.serve.example_models import config

V2, PREDICT = "inference.GRPCInferenceService/ModelInfer", "mindspore.serving.proto.MSService/Predict"
FREE = "/v2/models/free/infer"


@contextlib.contextmanager
def serving(files, *names, **settings):
    """A server, its target, and its service."""
    told = config({name: files[name] for name in names}, grpc_port=0, **settings)
    with start(told) as running, target(running.server.port, running.grpc_port) as at:
        service = running.server.app.service
        yield at, service
        wait_until(lambda: service.bodies.used == service.responses.used == 0)


def status_of(call):
    """How a gRPC call ended, and its text."""
    with pytest.raises(grpc.RpcError) as failed:
        call()
    return failed.value.code(), failed.value.details()


def tensor(shape, **more):
    return {"name": "x", "datatype": "FP32", "shape": shape, **more}


def computed(service):
    """How many batches the server has computed."""
    lines = service.metrics.text().decode().splitlines()
    return sum(
        float(line.split()[-1]) for line in lines if line.startswith("millrace_serve_batch_rows_count")
    )


# --- budgets ------------------------------------------------------------------------------------------------------


def test_a_budget_is_given_back_however_a_lease_ends():
    draw = random.Random(3)
    budget = ByteBudget(10 * INLINE, "bodies")
    leases = []
    for _ in range(2000):
        action = draw.randrange(4)
        if action < 2:
            lease = budget.lease()
            with contextlib.suppress(BudgetError):
                lease.grow(draw.choice([1, 1000, INLINE, 3 * INLINE]))
                lease.grow(draw.choice([1, 1000, INLINE]))
            leases.append(lease)
        elif leases:
            lease = leases.pop(draw.randrange(len(leases)))
            if action == 2:
                with pytest.raises(KeyError), lease:
                    raise KeyError
            lease.close()
            lease.close()
        assert budget.used == sum(lease.size for lease in leases)
        assert budget.used <= budget.limit + budget.limit // 8
    for lease in leases:
        lease.close()
    assert budget.used == 0
    assert budget.peak > budget.limit // 2


def test_large_bodies_leave_room_for_small_ones():
    budget = ByteBudget(10 * INLINE, "bodies")
    large = budget.lease(10 * INLINE)
    with pytest.raises(BudgetError, match="at most 655360 bytes of bodies at once, got") as refused:
        budget.lease(INLINE + 1)
    assert refused.value.status == 503
    small = budget.lease(INLINE)
    with pytest.raises(BudgetError):
        budget.lease(INLINE)
    large.close()
    small.close()
    assert budget.used == 0


def test_settings_are_checked():
    made = Config({"m": "m.onnx"}, max_body=10, max_response=20)
    assert (made.body_budget, made.response_budget) == (80, 160)
    for settings in ({"max_body": 10, "max_body_total": 9}, {"max_response": 10, "max_response_total": 9}):
        with pytest.raises(ArgumentValueError, match="_total: expected at least max_"):
            Config({"m": "m.onnx"}, **settings)
    for field in ("max_response", "max_connections"):
        with pytest.raises(ArgumentValueError, match=f"{field} is at least 1"):
            Config({"m": "m.onnx"}, **{field: 0})
    for name in (".", ".."):
        with pytest.raises(ArgumentValueError, match="name of a model"):
            Config({name: "m.onnx"})
    for hosts in (["a:80"], ["a/b"], [""], ["http://a"]):
        with pytest.raises(ArgumentValueError, match="allowed_hosts: expected a host name"):
            Config({"m": "m.onnx"}, allowed_hosts=hosts)
    for origins in (["a"], ["https://"], ["https://a/b"]):
        with pytest.raises(ArgumentValueError, match="allowed_origins: expected an origin"):
            Config({"m": "m.onnx"}, allowed_origins=origins)
    for field in ("allowed_hosts", "allowed_origins"):
        with pytest.raises(ArgumentTypeError, match=f"{field}: expected a list"):
            Config({"m": "m.onnx"}, **{field: "a"})


# --- responses ----------------------------------------------------------------------------------------------------


def test_an_output_is_requested_once(files):
    """A small request could make a response of any size: it is refused before anything is computed."""
    with serving(files, "pair") as (at, service):
        twice = good() | {"outputs": [{"name": "total"}, {"name": "difference"}, {"name": "total"}]}
        for parameters in ({}, {"binary_data_output": True}):
            status, said = at.post(INFER, json.dumps(twice | {"parameters": parameters}).encode())
            assert status == 400
            assert json.loads(said)["error"] == (
                "outputs: expected each output once, got 'total' twice. Remove one of them"
            )
        tensors = [{"name": name, "datatype": "FP32", "shape": [1, 3]} for name in ("left", "right")]
        made = messages(INFERENCE)["ModelInferRequest"](
            model_name="pair",
            inputs=tensors,
            outputs=[{"name": "total"}] * 2,
            raw_input_contents=[bytes(12)] * 2,
        )
        code, text = status_of(lambda: at.channel.unary_unary(f"/{V2}")(made.SerializeToString(), timeout=60))
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        assert "'total' twice" in text
        assert computed(service) == 0
        assert at.post(INFER, json.dumps(good()).encode())[0] == 200
        assert computed(service) == 1


def free_request(shape, binary):
    """A request to the model 'free' as bytes, and its headers."""
    rows = np.ones(shape, np.float32)
    sent = tensor(list(shape), parameters={"binary_data_size": rows.nbytes})
    head = json.dumps({"inputs": [sent], "parameters": {"binary_data_output": binary}}).encode()
    return head + rows.tobytes(), {"Inference_Header_Content_Length": str(len(head))}


def test_a_response_is_bounded(files, monkeypatch):
    """Its size is known from the shapes, before it is encoded."""
    monkeypatch.setattr(v2, "encode_response", forbidden := lambda *_: pytest.fail("it was encoded"))
    monkeypatch.setattr(mindspore, "encode_response", forbidden)
    with serving(files, "free", max_response=100_000) as (at, _):
        for count, binary in ((5000, False), (30_000, True)):
            body, headers = free_request((1, count), binary)
            status, said = at.post(FREE, body, **headers)
            assert (status, b"expected at most 100000 bytes, got up to 1" in said) == (413, True), said
        instances = [{"x": [1.5] * 1000}] * 5
        status, said = at.post("/model/free:predict", json.dumps({"instances": instances}).encode())
        assert (status, b"expected at most 100000 bytes" in said) == (413, True), said
        data = np.ones((1, 30_000), np.float32).tobytes()
        made = messages(INFERENCE)["ModelInferRequest"](
            model_name="free", inputs=[tensor([1, 30_000])], raw_input_contents=[data]
        )
        code, text = status_of(lambda: at.channel.unary_unary(f"/{V2}")(made.SerializeToString(), timeout=60))
        assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "expected at most 100000 bytes" in text
        items = {"x": {"dtype": 11, "shape": {"dims": [1000]}, "data": data[:4000]}}
        many = messages(SERVING)["PredictRequest"](
            servable_spec={"name": "free"}, instances=[{"items": items}] * 30
        )
        reply = messages(SERVING)["PredictReply"].FromString(
            at.channel.unary_unary(f"/{PREDICT}")(many.SerializeToString(), timeout=60)
        )
        assert b"expected at most 100000 bytes" in reply.error_msg[0].error_msg
        assert not reply.instances


def test_responses_are_bounded_together(files):
    """Clients that do not fetch their responses: the next large one is refused, a small one is not."""
    with serving(files, "free", max_response=8 << 20, max_response_total=8 << 20) as (at, service):
        body, headers = free_request((1, 1_500_000), True)
        request = raw(FREE, {name.replace("_", "-"): value for name, value in headers.items()}, body)
        with socket.create_connection(("127.0.0.1", at.port), timeout=60) as slow:
            slow.sendall(request)
            assert slow.recv(1)  # it is being sent
            assert service.responses.used > 6_000_000
            with socket.create_connection(("127.0.0.1", at.port), timeout=60) as second:
                second.sendall(request)
                status, said, _ = answer(second)
            assert (status, b"bytes of responses at once" in said) == (503, True), said
            small, small_headers = free_request((1, 3), False)
            assert at.post(FREE, small, **small_headers)[0] == 200
            assert b"200 OK" in whole_head(slow)
        wait_until(lambda: service.responses.used == 0)  # the client has left
        assert at.post(FREE, body, **headers)[0] == 200


def whole_head(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(1)
    return data


# --- bodies -------------------------------------------------------------------------------------------------------


def test_bodies_are_bounded_together(files):
    """Slow clients hold what they have sent, not what they announce; they hold it until they leave or time runs out."""
    with serving(files, "pair", "free", max_body=4 << 20, max_body_total=6 << 20) as (at, service):
        head = raw(FREE, {}, bytes(4 << 20))[: -(4 << 20)]
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                slow = stack.enter_context(socket.create_connection(("127.0.0.1", at.port), timeout=60))
                slow.sendall(head)
            assert service.bodies.used == 0
            for count in (1, 2):
                slow = stack.enter_context(socket.create_connection(("127.0.0.1", at.port), timeout=60))
                slow.sendall(head + bytes(2_900_000))
                wait_until(lambda count=count: service.bodies.used > (count - 0.1) * 2_900_000)
            with socket.create_connection(("127.0.0.1", at.port), timeout=60) as third:
                third.sendall(raw(FREE, {}, bytes(1_500_000)))
                data = b""
                while b"}" not in data:
                    data += third.recv(65536)
            assert data.startswith(b"HTTP/1.1 503"), data
            assert b"retry-after: 1" in data
            assert b"bytes of request bodies at once" in data
            made = messages(INFERENCE)["ModelInferRequest"](
                model_name="free", raw_input_contents=[bytes(1_500_000)]
            )
            code, text = status_of(
                lambda: at.channel.unary_unary(f"/{V2}")(made.SerializeToString(), timeout=60)
            )
            assert (code, "at once" in text) == (grpc.StatusCode.RESOURCE_EXHAUSTED, True)
            # a small request, and whether the server is alive
            assert at.post(INFER, json.dumps(good()).encode())[0] == 200
        wait_until(lambda: service.bodies.used == 0)
        assert service.bodies.peak <= 6 << 20
        body, headers = free_request((1, 800_000), True)
        assert at.post(FREE, body, **headers)[0] == 200


def test_a_refused_body_does_not_disturb_the_next_request(files):
    """The rest of a body that was refused is not taken for a request."""
    with serving(files, "pair", "free", max_body=4 << 20, max_body_total=4 << 20) as (at, service):
        connection = socket.create_connection(("127.0.0.1", at.port), timeout=60)
        with connection, service.bodies.lease(3 << 20):
            connection.sendall(raw(FREE, {}, bytes(3 << 20)))
            status, _, rest = answer(connection)
            assert (status, rest) == (503, b"")
            connection.sendall(raw(INFER, {}, json.dumps(good()).encode()))
            assert answer(connection)[0] == 200


def test_faults_give_every_byte_back(files):
    """Clients that leave at any point, requests that fail at any point, calls that are cancelled."""
    draw = random.Random(5)
    wanted = {"max_body": 1 << 20, "max_response": 1 << 20, "timeout": 20}
    with serving(files, "pair", "free", "picky", **wanted) as (at, service):
        good_body, headers = free_request((1, 100_000), True)
        whole = raw(FREE, {name.replace("_", "-"): value for name, value in headers.items()}, good_body)
        made = messages(INFERENCE)["ModelInferRequest"](
            model_name="free", inputs=[tensor([1, 100_000])], raw_input_contents=[bytes(400_000)]
        ).SerializeToString()
        bad_words = {"inputs": [{"name": "words", "datatype": "INT32", "shape": [1, 2], "data": [77, 1]}]}
        for _ in range(60):
            action = draw.randrange(5)
            if action == 0:
                send(at.port, whole[: draw.randrange(len(whole))], read=False)
            elif action == 1:
                send(at.port, whole, read=False)
            elif action == 2:
                at.post(
                    draw.choice([FREE, "/model/free:predict"]), draw.randbytes(draw.choice([10, 200_000]))
                )
            elif action == 3:
                call = at.channel.stream_unary(f"/{draw.choice([V2, PREDICT])}")
                future = call.future(iter([made] * draw.choice([0, 1])), timeout=60)
                if draw.random() < 0.5:
                    future.cancel()
                else:
                    future.exception()
            else:
                at.post("/v2/models/picky/infer", json.dumps(bad_words).encode())
        wait_until(lambda: service.bodies.used == service.responses.used == 0)
        assert service.bodies.peak > 100_000
        assert at.post(INFER, json.dumps(good()).encode())[0] == 200


def test_messages_that_arrive_slowly_need_a_slot(files, monkeypatch):
    """gRPC does not say how much of a message has arrived, so only few may take long."""
    monkeypatch.setattr(receive, "QUICK", 0.01)
    with serving(files, "pair", max_body=1 << 20, max_body_total=5 << 20, timeout=3) as (at, _):
        silent = threading.Event()

        def nothing():
            silent.wait(60)
            yield from ()

        futures = [at.channel.stream_unary(f"/{V2}").future(nothing(), timeout=60) for _ in range(5)]
        try:
            codes = sorted(future.code().name for future in futures)
        finally:
            silent.set()
        assert codes == ["DEADLINE_EXCEEDED"] * 2 + ["RESOURCE_EXHAUSTED"] * 3
        tensors = [{"name": name, "datatype": "FP32", "shape": [1, 3]} for name in ("left", "right")]
        made = messages(INFERENCE)["ModelInferRequest"](
            model_name="pair", inputs=tensors, raw_input_contents=[bytes(12)] * 2
        )
        assert at.rpc(V2, made.SerializeToString()) == grpc.StatusCode.OK


@pytest.mark.parametrize("tag", [b"\x2a\0", b"\x32\0", b"\x2a\x02\x22\0", b"\x2a\x04\x2a\x02\x42\0"])
def test_a_message_of_many_fields_is_refused_before_it_is_parsed(tag):
    """Each field takes memory, however short it is: 60 MB of empty tensors would take gigabytes."""
    with pytest.raises(Exception, match=f"expected at most {MAX_FIELDS} fields"):
        receive.parse(INFERENCE, "ModelInferRequest", tag * (MAX_FIELDS + 1))
    assert receive.parse(INFERENCE, "ModelInferRequest", tag * (MAX_FIELDS // 4)) is not None


@pytest.mark.parametrize(
    "data", [b"\xff\xff\xff\xffab", b"\x03\0\0\0ab", b"\0\0\0", b"\0\0\0\0" * 3, b"\x01\0\0\0ab"]
)
def test_lengths_of_bytes_are_checked(data):
    with pytest.raises(ServeError, match="element"):
        from_bytes(TensorSpec("x", "BYTES", (-1,)), 1, data, [1])


def test_an_element_of_bytes_counts_with_its_object():
    """An empty one has four bytes in a body, and many times that in memory."""
    spec = TensorSpec("x", "BYTES", (-1,))
    assert spec.check("BYTES", [1000], 1000 * BYTES_ELEMENT) == 1000
    with pytest.raises(ServeError, match="more than the server's limit"):
        spec.check("BYTES", [1001], 1000 * BYTES_ELEMENT)


# --- the event loop -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [FREE, "/model/free:predict"])
def test_a_large_body_is_decoded_beside_the_event_loop(files, monkeypatch, path):
    """While one is decoded the server answers others."""
    module = v2 if path == FREE else mindspore
    decoding, go_on = threading.Event(), threading.Event()
    decode = module.decode_request

    def slow(*arguments):
        if any(isinstance(each, bytes) and len(each) > INLINE for each in arguments):
            decoding.set()
            assert go_on.wait(60)
        return decode(*arguments)

    monkeypatch.setattr(module, "decode_request", slow)
    count = 40_000
    numbers = ",".join(["1.5"] * count)
    body = (
        f'{{"inputs": [{{"name": "x", "datatype": "FP32", "shape": [1, {count}], "data": [{numbers}]}}]}}'
        if path == FREE
        else f'{{"instances": [{{"x": [{numbers}]}}]}}'
    )
    with serving(files, "pair", "free") as (at, _):
        with socket.create_connection(("127.0.0.1", at.port), timeout=60) as large:
            large.sendall(raw(path, {}, body.encode()))
            assert decoding.wait(60)
            assert send(at.port, b"GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n")[0] == 200
            assert at.post(INFER, json.dumps(good()).encode())[0] == 200
            go_on.set()
            status, said, _ = answer(large)
        assert status == 200, said
        found = json.loads(said)
        values = found["outputs"][0]["data"] if path == FREE else found["instances"][0]["y"]
        assert np.array_equal(np.ravel(values), np.full(count, 1.5))


def test_large_and_small_requests_give_the_same(files):
    """The same rows as nested JSON, flat JSON, bytes and instances, below and above the limit for the event loop."""
    with serving(files, "free", "picky") as (at, _):
        for rows in (2, 9000):
            values = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
            expected = np.maximum(values, 0)
            for data in (values.tolist(), values.reshape(-1).tolist()):
                body = json.dumps({"inputs": [tensor([rows, 3], data=data)]}).encode()
                assert (len(body) > INLINE) == (rows > 2)
                status, said = at.post(FREE, body)
                assert status == 200, said
                got = np.array(json.loads(said)["outputs"][0]["data"], np.float32)
                assert np.array_equal(got, expected.reshape(-1))
        instances = [{"x": np.arange(400, dtype=float).tolist()} for _ in range(300)]
        status, said = at.post("/model/free:predict", json.dumps({"instances": instances}).encode())
        assert status == 200, said
        assert json.loads(said)["instances"] == [{"y": each["x"]} for each in instances]
        status, said = at.post(
            "/model/free:predict", json.dumps({"instances": [*instances, {"x": ["a"] * 400}, {}]}).encode()
        )
        assert [set(each) for each in json.loads(said)["instances"]] == [{"y"}] * 300 + [{"error_msg"}] * 2
        contents = messages(INFERENCE)["ModelInferRequest"](
            model_name="free", inputs=[tensor([1, 50_000], contents={"fp32_contents": [2.5] * 50_000})]
        )
        data = at.channel.unary_unary(f"/{V2}")(contents.SerializeToString(), timeout=60)
        made = messages(INFERENCE)["ModelInferResponse"].FromString(data)
        assert made.raw_output_contents[0] == np.full(50_000, 2.5, np.float32).tobytes()


# --- headers and connections --------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [19, 5000])
def test_long_integers_in_headers(files, digits):
    with serving(files, "pair") as (at, _):
        data = json.dumps(good()).encode()
        status, said = at.post(INFER, data, Inference_Header_Content_Length="1" * digits)
        assert (status, b"Inference-Header-Content-Length: expected at most" in said) == (400, True)
        sent = raw(INFER, {}, data).replace(
            b"Content-Length: %d" % len(data), b"Content-Length: " + b"1" * digits
        )
        assert send(at.port, sent)[0] in (400, 413)


def test_idle_connections_give_way_to_new_ones(files):
    """Beyond the limit the connection that has been idle longest is closed: requests are still answered."""
    with serving(files, "pair", max_connections=5) as (at, _):
        request = raw(INFER, {}, json.dumps(good()).encode())
        with contextlib.ExitStack() as stack:
            idle = [
                stack.enter_context(socket.create_connection(("127.0.0.1", at.port), timeout=60))
                for _ in range(12)
            ]
            for _ in range(4):
                assert send(at.port, request)[0] == 200
            assert [whole_of(connection) for connection in idle[:7]] == [b""] * 7
        with Client(f"http://127.0.0.1:{at.port}") as client:
            assert client.ready()
