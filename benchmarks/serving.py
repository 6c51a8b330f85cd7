"""A served model: Millrace beside a plain FastAPI + onnxruntime server, on the same two cores as who asks.

make bench ARGS="--only serving"                         # both models, all servers, onto the page
python -m benchmarks.serving --only bert --seconds 2     # only shown: one model, shorter; from the repository
python -m benchmarks.serving --quick                     # does it run? a moment each

Both serve the same ONNX file. The plain server is what its documentation shows: a body that pydantic checks, a session
of onnxruntime with its own settings, lists in and lists out ("JSON"); and, as somebody in a hurry would write it next,
raw bytes in and out ("bytes"). Who asks keeps a fixed number of requests on the way, over sockets of its own, each
request ready-made: it takes few of the cores' time. Servers run in turns, each in a fresh process; here the best of the
rounds counts, on the page the median. "At the same p99" is the most requests per second of a server with no more than
the p99 that the other has at its most.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import data, machine
from benchmarks import measure as measuring
from benchmarks.workloads import Bar, Metric, Variants

HERE = Path(__file__).resolve().parent
AT_ONCE = (1, 4, 16, 32)
SECONDS = 3.0
BAR = 1.5

METRICS = (
    Metric("requests_per_s", "requests/s", higher=True),
    Metric("p50_ms", "p50", "ms"),
    Metric("p99_ms", "p99", "ms"),
    Metric("cpu_ms", "CPU time of a request", "ms"),
)
NOTE = (
    "All serve the same ONNX file, and Millrace its own archive too, one row to a request. The plain server is what "
    "its documentation shows: a body that pydantic checks, a session of onnxruntime with its own settings, lists in "
    "and out (JSON); and, as somebody in a hurry would write it next, raw bytes in and out (bytes). Millrace is asked "
    "by the Open Inference Protocol, in JSON or with its binary extension, with everything as `millrace serve` sets "
    "it: where MNN is installed (extra `mnn`), as its version under Millrace's shows, an ONNX file with convolutions "
    "may be computed by that instead of onnxruntime. Who asks keeps 1, 4, 16 or 32 requests on the way, over sockets "
    "of its own on the same two cores. The numbers "
    "here are those with the most requests/s. A ratio is taken at the same p99: the most requests/s that Millrace "
    "reaches with no more than the p99 that the other has at its most."
)
BARS = (
    Bar(
        f"at least {BAR} times FastAPI + onnxruntime, at its p99", "requests_per_s", ratio=BAR, peer="fastapi"
    ),
)
# How a workload calls the servers.
VARIANTS = {
    "millrace": {
        "JSON": "Millrace, ONNX, JSON",
        "bytes": "Millrace, ONNX, bytes",
        "bytes, archive": "Millrace, archive, bytes",
    },
    "fastapi": {"JSON": "FastAPI + onnxruntime, JSON", "bytes": "FastAPI + onnxruntime, bytes"},
}

# requests at once -> (requests/s, p50 ms, p99 ms, CPU ms of a request)
Curve = dict[int, tuple[float, float, float, float]]

PLAIN = """
import sys
import numpy as np
import onnxruntime
import uvicorn
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

session = onnxruntime.InferenceSession(sys.argv[1])
given = session.get_inputs()[0]
kind = {"tensor(float)": np.float32, "tensor(int32)": np.int32}[given.type]
app = FastAPI()


class Rows(BaseModel):
    rows: list


@app.post("/json")
def as_json(body: Rows):
    return {"outputs": session.run(None, {given.name: np.array(body.rows, kind)})[0].tolist()}


def computed(data):
    shape = [n if isinstance(n, int) else -1 for n in given.shape]
    return session.run(None, {given.name: np.frombuffer(data, kind).reshape(shape)})[0].tobytes()


@app.post("/bytes")
async def as_bytes(request: Request):
    from fastapi.concurrency import run_in_threadpool

    return Response(await run_in_threadpool(computed, await request.body()))


uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
"""


class Case(NamedTuple):
    """A server, how it is started, and the request that it is sent."""

    name: str
    command: list[str]
    path: str
    body: bytes
    headers: dict[str, str]


# --- who asks -----------------------------------------------------------------------------------------------------


class Asking:
    """One connection with one request on the way."""

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request, self.sent, self.found, self.wanted = request, 0.0, b"", -1

    def ask(self) -> None:
        self.found, self.wanted, self.sent = b"", -1, time.perf_counter()
        self.socket.sendall(self.request)

    def answered(self) -> bool:
        """Read what has come; whether the answer is whole."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the server has closed the connection")
        self.found += data
        if self.wanted < 0:
            head, end, _ = self.found.partition(b"\r\n\r\n")
            if not end:
                return False
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"the server said {self.found[:300]!r}")
            length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            self.wanted = len(head) + 4 + int(length)
        return len(self.found) >= self.wanted


def load(port: int, request: bytes, at_once: int, seconds: float) -> tuple[float, list[float]]:
    """Requests per second, and the seconds of each, with so many on the way all the time."""
    connections = [Asking(port, request) for _ in range(at_once)]
    poll = select.epoll()
    by_number = {each.socket.fileno(): each for each in connections}
    times: list[float] = []
    for number, each in by_number.items():
        poll.register(number, select.EPOLLIN)
        each.ask()
    began = time.perf_counter()
    end = began + seconds
    while (now := time.perf_counter()) < end:
        for number, _ in poll.poll(max(0.0, end - now)):
            each = by_number[number]
            if each.answered():
                times.append(time.perf_counter() - each.sent)
                each.ask()
    taken = time.perf_counter() - began
    for each in connections:
        each.socket.close()
    poll.close()
    return len(times) / taken, times


# --- servers ------------------------------------------------------------------------------------------------------


def cases(model: str, file: Path, batch: Any, python: str | None) -> Iterator[Case]:
    """The servers of one model."""
    row = batch[:1]
    kind = {"float32": "FP32", "int32": "INT32"}[str(row.dtype)]
    ours = [sys.executable, "-m", "millrace", "serve", f"m={file}", "--port", "0"]
    archive = [sys.executable, "-m", "millrace", "serve", f"m={file.with_suffix('.mindir')}", "--port", "0"]
    for name, command, given in (("Millrace, ONNX", ours, "x"), ("Millrace, archive", archive, None)):
        if given is None:
            given = "ids" if model == "bert" else "input_data"
        tensor: dict[str, Any] = {"name": given, "shape": list(row.shape), "datatype": kind}
        text = json.dumps({"inputs": [{**tensor, "data": row.reshape(-1).tolist()}]}).encode()
        data = row.tobytes()
        head = json.dumps(
            {
                "inputs": [{**tensor, "parameters": {"binary_data_size": len(data)}}],
                "parameters": {"binary_data_output": True},
            }
        ).encode()
        path = "/v2/models/m/infer"
        yield Case(
            f"{name}, bytes", command, path, head + data, {"Inference-Header-Content-Length": str(len(head))}
        )
        if given == "x":
            yield Case(f"{name}, JSON", command, path, text, {"Content-Type": "application/json"})
    if python is not None:
        plain = [python, "-c", PLAIN, str(file)]
        text = json.dumps({"rows": row.tolist()}).encode()
        yield Case("FastAPI + onnxruntime, JSON", plain, "/json", text, {"Content-Type": "application/json"})
        yield Case("FastAPI + onnxruntime, bytes", plain, "/bytes", row.tobytes(), {})


class Running:
    """A server in a process of its own."""

    def __init__(self, case: Case) -> None:
        self.port = 0
        command = case.command
        if command[1] == "-c":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            command = [*command, str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if not self.port:
            assert self.process.stdout is not None
            self.port = int(self.process.stdout.readline().rpartition(":")[2])
        lines = [f"POST {case.path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(case.body)}"]
        lines += [f"{name}: {value}" for name, value in case.headers.items()]
        self.request = "\r\n".join(lines).encode() + b"\r\n\r\n" + case.body
        self._wait()

    def _wait(self) -> None:
        for _ in range(600):
            try:
                load(self.port, self.request, 1, 0.05)
                return
            except ConnectionRefusedError:
                time.sleep(0.1)
        raise RuntimeError("the server did not start within a minute")

    def cpu(self) -> float:
        """Seconds of processor time that the server has taken so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


# --- the comparison -----------------------------------------------------------------------------------------------


def write(model: str, folder: Path) -> None:
    """The model's files."""
    import millrace as ms
    from benchmarks.nets import NETS, numbers

    net = NETS[model].ours(ms)
    for place, parameter in enumerate(net.trainable_params()):
        parameter.set_data(ms.Tensor(numbers(place, parameter.shape)))
    batch = NETS[model].batch()[0]
    given = ms.Tensor(shape=[None, *batch.shape[1:]], dtype=ms.Tensor(batch).dtype)
    folder.mkdir(exist_ok=True)
    for kind in ("ONNX", "MINDIR"):
        ms.export(net, given, file_name=str(folder / model), file_format=kind)


def curve(case: Case, seconds: float, at_once: tuple[int, ...]) -> Curve:
    """One server, from its start to its end."""
    found: Curve = {}
    server = Running(case)
    try:
        load(server.port, server.request, max(at_once), min(1.0, seconds))  # warm
        for count in at_once:
            spent = server.cpu()
            rate, times = load(server.port, server.request, count, seconds)
            spent = (server.cpu() - spent) / max(1, len(times)) * 1000
            half, late = np.percentile(times, [50, 99]) * 1000 if times else (0.0, 0.0)
            found[count] = (rate, float(half), float(late), spent)
    finally:
        server.end()
    return found


def variants(model: str) -> Variants:
    """The servers of one model as variants of a workload."""
    return {
        peer: {name: functools.partial(_measured, model, case) for name, case in named.items()}
        for peer, named in VARIANTS.items()
    }


def _measured(model: str, name: str, quick: bool) -> dict[str, Any]:
    from benchmarks.nets import NETS

    folder = data.folder() / f"serving-{model}"
    if measuring.only_prepare:
        shutil.rmtree(folder, ignore_errors=True)
    data.kept(folder, lambda half: write(model, half))
    measuring.ready()
    everyone = cases(model, folder / f"{model}.onnx", NETS[model].batch()[0], sys.executable)
    case = next(case for case in everyone if case.name == name)
    found = curve(case, *((0.2, (1, 4)) if quick else (SECONDS, AT_ONCE)))
    most = max(found.values())
    return dict(zip((m.key for m in METRICS), most, strict=True)) | {"at_once": found}


def ratio(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """Of two measurements of a workload."""
    return same_p99(ours["at_once"], theirs["at_once"])[1]


# What the workloads of all models say of themselves.
FILES, FRESH, PAIRED, RATIO = ("millrace",), True, True, ratio


def measure(
    model: str, python: str | None, rounds: int, seconds: float, at_once: tuple[int, ...]
) -> dict[str, Curve]:
    """The curves of all servers of a model; at each number of requests that of the round with the most."""
    from benchmarks.nets import NETS

    found: dict[str, Curve] = {}
    with tempfile.TemporaryDirectory() as name:
        write(model, Path(name))
        everyone = list(cases(model, Path(name, f"{model}.onnx"), NETS[model].batch()[0], python))
        for number in range(rounds):
            for case in everyone[number % 2 :: 1] + everyone[: number % 2]:
                best = found.setdefault(case.name, {})
                for count, now in curve(case, seconds, at_once).items():
                    best[count] = max(best.get(count, now), now)
    return found


def same_p99(ours: dict[Any, Any], theirs: dict[Any, Any]) -> tuple[float, float]:
    """Our most requests/s with no more than the p99 that they have at their most; and how many times theirs."""
    rate, _, late, _ = max(theirs.values())
    fitting = [each[0] for each in ours.values() if each[2] <= late]
    return max(fitting, default=0.0), max(fitting, default=0.0) / rate


def show(model: str, found: dict[str, Any]) -> None:
    """A table for people."""
    print(f"\n{model}: requests/s (p50 / p99 in ms, CPU time of a request in ms), by requests at once")
    for name, by_count in found.items():
        cells = "   ".join(
            f"{n}: {rate:,.0f} ({half:.1f} / {late:.1f}, {cpu:.2f})"
            for n, (rate, half, late, cpu) in by_count.items()
        )
        print(f"  {name:30} {cells}")
    for theirs in ("FastAPI + onnxruntime, JSON", "FastAPI + onnxruntime, bytes"):
        if theirs in found:
            rate, ratio = same_p99(found["Millrace, ONNX, bytes"], found[theirs])
            plain = theirs.endswith("JSON")
            bar = f", asked {BAR}: {'met' if ratio >= BAR else 'missed'}" if plain else ""
            print(f"  at the p99 of {theirs}: {rate:,.0f} requests/s, {ratio:.2f} times as many{bar}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", type=Path, default=HERE.parent / ".peers")
    parser.add_argument("--only", nargs="+", choices=("resnet18", "bert"), default=["resnet18", "bert"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--at-once", nargs="+", type=int, default=list(AT_ONCE))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args(argv)
    python: str | None = str(args.peers.absolute() / "fastapi" / "bin" / "python")
    if not os.access(str(python), os.X_OK):
        print("FastAPI is left out: its environment was not made (make peer-fastapi)")
        python = None
    rounds, seconds, at_once = (
        (1, 0.2, (1, 4)) if args.quick else (args.rounds, args.seconds, tuple(args.at_once))
    )
    results: dict[str, Any] = {"machine": machine.describe(), "date": time.strftime("%Y-%m-%d"), "models": {}}
    for model in args.only:
        results["models"][model] = measure(model, python, rounds, seconds, at_once)
        show(model, results["models"][model])
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
