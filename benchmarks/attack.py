"""A server under attack: hostile and honest clients at once, on loopback, for a bounded time.

python -m benchmarks.attack                                     # 50 hostile and 50 honest clients for 3 minutes
python -m benchmarks.attack --hostile 6 --honest 6 --seconds 5  # does it run?
python -m benchmarks.attack --clients nice                      # clients that take only CPU time that the server leaves

The server is ``millrace serve`` with its default limits, in its own process; so are the hostile clients and the honest
ones. This process requests the health of the server 20 times a second and reads its memory. Every honest response
is compared with the right values. The bars: health below 100 ms at p99, memory below `MEMORY`, no wrong response.

Remote clients do not use the CPU of the server. ``--clients`` selects how much of it the client processes take here;
`CLIENTS` describes the choices, and the result names the choice.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from millrace._src.core.errors import ServeError
from millrace._src.serve.protobuf_messages import INFERENCE, messages
from millrace.serve import Client
from tests.contracts.serve_protocols.hostile_requests import ATTACKS
from tests.unit.serve.example_models import write
from tests.unit.serve.raw_sockets import Target, answer, raw, send, target, whole_of

__all__ = ["attack"]

ROOT = Path(__file__).resolve().parents[1]
HEALTH = b"GET /v2/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
INFER = "inference.GRPCInferenceService/ModelInfer"
HEALTH_PAUSE, HONEST_PAUSE, HOSTILE_PAUSE = 0.05, 0.2, 0.5
P99_MS = 100.0
# With the default limits: 8 bodies and 8 responses of 64 MB and an eighth more of each, four slow gRPC messages, two
# conversions, the libraries and the models.
MEMORY = 2 << 30
CLIENTS = {
    "shared": "server and clients share all cores with the same priority",
    "nice": "server and clients share all cores; clients run at nice 19",
    "separate": "the server runs on the first half of the cores, clients on the others at nice 19",
}
# what is sent again and again is made once
LARGE = 60 << 20


def _numbers(size: int) -> bytes:
    return b",".join([b"1.2345678"] * (size // 10))


class Bodies:
    """Large bodies, shared by all hostile clients of a process."""

    def __init__(self) -> None:
        numbers = _numbers(LARGE)
        part = _numbers(LARGE // 8)
        nested = b",".join([b"[1.25]"] * (LARGE // 60))
        count = LARGE // 60
        self.json = [
            ("/model/dense:predict", b'{"instances":[{"x":[' + numbers + b"]}]}"),
            ("/model/dense:predict", b'{"instances":[{"x":[' + part + b"]}]}"),
            ("/model/pair:predict", b'{"instances":[' + b"{}," * (LARGE // 3) + b"{}]}"),
            ("/model/pair:predict", b"[" * (LARGE // 6)),
            ("/v2/models/pair/infer", b'{"inputs":[' + b'"",' * (LARGE // 3) + b"1]}"),
            (
                "/v2/models/pair/infer",
                b'{"inputs":[],"outputs":[' + b'{"name":"total"},' * (LARGE // 100) + b"1]}",
            ),
            (
                "/v2/models/free/infer",
                b'{"inputs":[{"name":"x","datatype":"FP32","shape":[%d,1],"data":[%b]}]}' % (count, nested),
            ),
        ]
        rows = np.ones((1, 4 << 20), np.float32)
        tensor = {"name": "x", "datatype": "FP32", "shape": list(rows.shape)}
        said = {"inputs": [tensor | {"parameters": {"binary_data_size": rows.nbytes}}]}
        head = json.dumps(said | {"parameters": {"binary_data_output": True}}).encode()
        headers = {"Inference-Header-Content-Length": str(len(head))}
        self.response = raw("/v2/models/free/infer", headers, head + rows.tobytes())
        self.message = messages(INFERENCE)["ModelInferRequest"](
            model_name="free", inputs=[tensor], raw_input_contents=[rows.tobytes()]
        ).SerializeToString()


# --- hostile clients ----------------------------------------------------------------------------------------------


def large_json(draw: random.Random, at: Target, bodies: Bodies) -> str:
    """Megabytes of numbers, of empty objects, of texts, of brackets."""
    path, body = draw.choice(bodies.json)
    with socket.create_connection(("127.0.0.1", at.port), timeout=60) as connection:
        connection.sendall(
            raw(path, {}, b"")[:-4].replace(b"Content-Length: 0", b"Content-Length: %d" % len(body))
        )
        connection.sendall(b"\r\n\r\n")
        connection.sendall(body)
        return str(answer(connection)[0])


def slow_body(draw: random.Random, at: Target, bodies: Bodies) -> str:
    """Most of a large body, and then nothing for some seconds."""
    with socket.create_connection(("127.0.0.1", at.port), timeout=draw.choice([2, 5])) as connection:
        head = raw("/v2/models/free/infer", {}, b"").replace(
            b"Content-Length: 0", b"Content-Length: %d" % LARGE
        )
        connection.sendall(head)
        connection.sendall(memoryview(bodies.json[0][1])[: draw.choice([1 << 20, LARGE - 100])])
        return str(answer(connection)[0])


def slow_fetch(draw: random.Random, at: Target, bodies: Bodies) -> str:
    """A large response that is not fetched."""
    with socket.create_connection(("127.0.0.1", at.port), timeout=60) as connection:
        connection.sendall(bodies.response)
        connection.recv(1)
        threading.Event().wait(draw.choice([1, 3]))
    return "cut"


def silent(draw: random.Random, at: Target, bodies: Bodies) -> str:
    """Connections without a request."""
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(socket.create_connection(("127.0.0.1", at.port), timeout=60))
        threading.Event().wait(1)
    return "cut"


def foreign_page(draw: random.Random, at: Target, bodies: Bodies) -> str:
    """A web page of another origin that loads a model."""
    sent = raw("/v2/repository/models/pair/load", {"Origin": "http://evil.example"}, b"{}")
    return str(send(at.port, sent.replace(b"127.0.0.1", draw.choice([b"127.0.0.1", b"evil.example"])))[0])


def large_message(draw: random.Random, at: Target, bodies: Bodies) -> str:
    """Large gRPC messages: right ones, garbage, many fields."""
    data = draw.choice(
        [bodies.message, memoryview(bodies.json[0][1])[: 8 << 20].tobytes(), b"\x2a\0" * (4 << 20)]
    )
    return at.rpc(INFER, data).name


def silent_calls(draw: random.Random, at: Target, bodies: Bodies) -> str:
    """gRPC calls without a message."""
    done = threading.Event()

    def nothing() -> Iterator[bytes]:
        done.wait(5)
        yield from ()

    calls = [at.channel.stream_unary(f"/{INFER}").future(nothing(), timeout=3) for _ in range(20)]
    codes = {call.code().name for call in calls}
    done.set()
    return "/".join(sorted(codes))


def small(draw: random.Random, at: Target, bodies: Bodies) -> str:
    """One of the small attacks of the tests."""
    return ATTACKS[draw.choice(list(ATTACKS))](draw, at)


HOSTILE: tuple[Callable[[random.Random, Target, Bodies], str], ...] = (
    large_json, slow_body, slow_fetch, silent, foreign_page, large_message, silent_calls, small, small, small,
)  # fmt: skip


def _hostile(number: int, at: Target, bodies: Bodies, until: float, count: Counter[str]) -> None:
    draw = random.Random(number)
    for turn in itertools.count(number):
        if time.monotonic() > until:
            return
        name = HOSTILE[turn % len(HOSTILE)]
        try:
            ended = name(draw, at, bodies)
        except (OSError, AssertionError, ValueError) as error:  # it is the server's response that counts
            ended = type(error).__name__
        count[f"{name.__name__}: {ended}"] += 1
        threading.Event().wait(draw.uniform(0, 2 * HOSTILE_PAUSE))


# --- honest clients -----------------------------------------------------------------------------------------------


def _honest(number: int, at: Target, until: float, count: Counter[str]) -> None:
    """Rows with known sums and differences, by each protocol in turn."""
    draw = np.random.default_rng(number)
    infer = at.channel.unary_unary(f"/{INFER}")
    with Client(f"http://127.0.0.1:{at.port}") as client:
        for turn in itertools.count():
            if time.monotonic() > until:
                return
            left, right = draw.integers(-1000, 1000, (2, 2, 3)).astype(np.float32)
            try:
                total = (_binary, _json, _grpc)[turn % 3](client, infer, at, left, right)
                count["right" if np.array_equal(total, left + right) else "wrong"] += 1
            except ServeError as error:
                count["refused" if error.status in (429, 503) else f"failed: {error}"[:80]] += 1
            except grpc.RpcError as error:
                refused = error.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)
                count["refused" if refused else f"failed: {error.code().name}"] += 1
            except OSError as error:
                count[f"failed: {error}"[:80]] += 1
            threading.Event().wait(HONEST_PAUSE)


def _binary(client: Client, infer: Any, at: Target, left: Any, right: Any) -> Any:
    return client.infer("pair", {"left": left, "right": right}, version=1)["total"]


def _json(client: Client, infer: Any, at: Target, left: Any, right: Any) -> Any:
    tensors = [
        {"name": name, "datatype": "FP32", "shape": [2, 3], "data": rows.tolist()}
        for name, rows in (("left", left), ("right", right))
    ]
    status, body = at.post("/v2/models/pair/versions/1/infer", json.dumps({"inputs": tensors}).encode())
    if status != 200:
        raise ServeError(body.decode(), status or 503)
    return np.array(json.loads(body)["outputs"][0]["data"], np.float32).reshape(2, 3)


def _grpc(client: Client, infer: Any, at: Target, left: Any, right: Any) -> Any:
    made = messages(INFERENCE)
    tensors = [{"name": name, "datatype": "FP32", "shape": [2, 3]} for name in ("left", "right")]
    request = made["ModelInferRequest"](
        model_name="pair",
        model_version="1",
        inputs=tensors,
        raw_input_contents=[left.tobytes(), right.tobytes()],
    )
    data = made["ModelInferResponse"].FromString(infer(request.SerializeToString(), timeout=60))
    return np.frombuffer(data.raw_output_contents[0], np.float32).reshape(2, 3)


# --- processes ----------------------------------------------------------------------------------------------------


def _clients(role: str, clients: int, port: int, grpc_port: int, seconds: float) -> None:
    """Run the clients of one role in this process, and print what they counted."""
    counts = [Counter[str]() for _ in range(clients)]
    bodies = Bodies() if role == "hostile" else None
    until = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        threads = []
        # as many connections as there would be clients in several processes, up to a point
        channels = [stack.enter_context(target(port, grpc_port)) for _ in range(min(clients, 8))]
        for number, count in enumerate(counts):
            at = channels[number % len(channels)]
            work = (
                (_honest, (number, at, until, count))
                if bodies is None
                else (_hostile, (number, at, bodies, until, count))
            )
            threads.append(threading.Thread(target=work[0], args=work[1], daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join(seconds + 120)
    print(json.dumps(sum(counts, Counter[str]())))


@contextlib.contextmanager
def _half_of_the_cores(clients: str, second: bool) -> Iterator[None]:
    """What starts in this block runs on half of the cores, where the clients are separate."""
    cores = sorted(os.sched_getaffinity(0))
    if clients == "separate":
        if len(cores) < 2:
            raise RuntimeError("--clients separate: expected 2 cores or more, got 1. Use --clients nice")
        half = len(cores) // 2
        os.sched_setaffinity(0, cores[half:] if second else cores[:half])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _memory(pid: int) -> tuple[int, int]:
    """Bytes that a process has in memory, now and at most."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return int(found["VmRSS"].split()[0]) << 10, int(found["VmHWM"].split()[0]) << 10


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[tuple[int, int, int]]:
    """``millrace serve`` with the models of the tests: its process, its ports."""
    files = write(folder)
    models = [f"{name}={files[name]}" for name in ("pair", "dense", "picky", "free")]
    command = [sys.executable, "-m", "millrace", "serve", *models, "--port", "0", "--grpc-port", "0"]
    with (
        open(folder / "server.log", "w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if "serving" not in line:
                raise RuntimeError((folder / "server.log").read_text())
            url = next(word.rstrip(",") for word in line.split() if word.startswith("http"))
            yield process.pid, int(url.rpartition(":")[2]), int(line.split()[-1])
        finally:
            process.terminate()


def attack(hostile: int, honest: int, seconds: float, clients: str = "shared") -> dict[str, Any]:
    """Run the server and its clients as `clients` of `CLIENTS` says; what was measured."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with _half_of_the_cores(clients, second=False):
            pid, port, grpc_port = stack.enter_context(_server(folder))
        stack.enter_context(_half_of_the_cores(clients, second=True))
        before, _ = _memory(pid)
        command = [
            sys.executable,
            "-m",
            "benchmarks.attack",
            "--port",
            str(port),
            "--grpc-port",
            str(grpc_port),
        ]
        command += ["--seconds", str(seconds), "--hostile", str(hostile), "--honest", str(honest)]
        command += ["--clients", clients, "--role"]
        # a new process reads for some seconds before it sends
        processes = {
            role: subprocess.Popen(
                [*command, role], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            for role in ("hostile", "honest")
        }
        health, failed = _watch(port, lambda: any(each.poll() is None for each in processes.values()))
        counted = {role: json.loads(each.communicate()[0]) for role, each in processes.items()}
        after, peak = _memory(pid)
    times = np.array(health) * 1000
    return {
        "seconds": seconds,
        "clients": {"hostile": hostile, "honest": honest},
        "method": CLIENTS[clients],
        "load_average": [round(load, 1) for load in os.getloadavg()],
        "health": {
            "requests": len(health),
            "failed": failed,
            "p50_ms": round(float(np.percentile(times, 50)), 2),
            "p99_ms": round(float(np.percentile(times, 99)), 2),
            "max_ms": round(float(times.max()), 2),
        },
        "memory_mb": {
            "before": before >> 20,
            "peak": peak >> 20,
            "after": after >> 20,
            "limit": MEMORY >> 20,
        },
        **counted,
    }


def _watch(port: int, running: Callable[[], bool]) -> tuple[list[float], int]:
    """Request the health while the clients run: seconds of each response, and how many were none."""
    health: list[float] = []
    failed = 0
    while running():
        began = time.perf_counter()
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(HEALTH)
                failed += not whole_of(connection).startswith(b"HTTP/1.1 200")
        except OSError:
            failed += 1
        health.append(time.perf_counter() - began)
        threading.Event().wait(HEALTH_PAUSE)
    return health, failed


def main() -> int:
    """The command; 1 where a bar is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hostile", type=int, default=50)
    parser.add_argument("--honest", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--clients", choices=tuple(CLIENTS), default="shared", help=str(CLIENTS))
    parser.add_argument("--role", choices=("hostile", "honest"), help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--grpc-port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if (
        not 0 < arguments.seconds <= 600
        or not 0 < arguments.hostile <= 200
        or not 0 < arguments.honest <= 200
    ):
        parser.error("at most 600 seconds and 200 clients of each role")
    if arguments.role is not None:
        if arguments.clients != "shared":
            os.nice(19)
        count = getattr(arguments, arguments.role)
        _clients(arguments.role, count, arguments.port, arguments.grpc_port, arguments.seconds)
        return 0
    result = attack(arguments.hostile, arguments.honest, arguments.seconds, arguments.clients)
    print(json.dumps(result, indent=1))
    honest = result["honest"]
    bars = {
        f"health below {P99_MS:g} ms at p99": result["health"]["p99_ms"] < P99_MS
        and not result["health"]["failed"],
        f"memory below {MEMORY >> 20} MB": result["memory_mb"]["peak"] << 20 < MEMORY,
        "every honest response right": not honest.get("wrong") and honest.get("right", 0) > 0,
    }
    for bar, met in bars.items():
        print(f"{'met' if met else 'MISSED'}: {bar}")
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
