"""Requests served: a server in a process of its own that runs all day, and servers started and stopped in this one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np

from benchmarks.soaking import Family, Place, until
from benchmarks.soaking.held import of_process
from millrace._src.core.errors import ServeError
from millrace._src.serve.protobuf_messages import INFERENCE, messages
from millrace.serve import Client, Servable, start
from tests.contracts.serve_protocols.hostile_requests import ATTACKS, Slow, Target, target
from tests.unit.serve.example_models import Pair, any_rows, config, write

__all__ = ["Serving"]

TOKEN = "secret"
CLIENTS = 4


class Serving(Family):
    """The server of the command ``millrace serve``; it is measured."""

    DAY: ClassVar[dict[str, int]] = {"ask_the_server": 24, "serve_here": 4}

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.files = write(self.folder)
        self.live = self.folder / "live.mindir"
        self.times = 1
        self._save(1)
        models = [f"live={self.live}", f"pair={self.files['pair']}", f"free={self.files['free']}"]
        limits = ["--timeout", "10", "--max-body", "1", "--max-wait", "0", "--threads", "1"]
        ports = ["--port", "0", "--grpc-port", "0", "--token", TOKEN]
        with open(self.folder / "server.log", "w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "millrace", "serve", *models, *limits, *ports],
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if "serving" not in line:
            self.close()
            raise RuntimeError((self.folder / "server.log").read_text())
        self.url = next(word.rstrip(",") for word in line.split() if word.startswith("http"))
        self.port, self.grpc_port = int(self.url.rpartition(":")[2]), int(line.split()[-1])

    def processes(self) -> dict[str, int]:
        return {"the server": self.process.pid}

    def close(self) -> None:
        self.process.terminate()
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        assert code == 0, f"the server ended with {code}"

    def _client(self) -> Client:
        return Client(self.url, token=TOKEN)

    def _target(self) -> contextlib.AbstractContextManager[Target]:
        return target(self.port, self.grpc_port, TOKEN)

    def _save(self, times: int) -> None:
        """Put another version into the file, in one step."""
        made = self.folder / "new.mindir"
        Servable(Pair(float(times)), inputs=[any_rows(3), any_rows(3)]).save(str(made))
        os.replace(made, self.live)

    # --- right answers ------------------------------------------------------------------------------------------

    def _ask(self, client: Client, number: int) -> float:
        """One request: its answer is right for one version as a whole; that version's number."""
        left = np.full((1 + number % 3, 3), number % 100, np.float32)
        made = client.infer("live", {"left": left, "right": np.ones_like(left)})
        times = made["y0"] / (left + 1)
        assert (times == times.flat[0]).all(), made["y0"]
        np.testing.assert_array_equal(made["y1"], left - 1)
        return float(times.flat[0])

    def _ask_often(self, count: int) -> set[float]:
        with self._client() as client:
            return {self._ask(client, number) for number in range(count)}

    def _ask_over_grpc(self, at: Target, count: int) -> None:
        made = messages(INFERENCE)
        call = at.channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=made["ModelInferResponse"].FromString,
        )
        rows = np.ones((2, 3), np.float32)
        inputs = [{"name": name, "datatype": "FP32", "shape": [2, 3]} for name in ("left", "right")]
        request = made["ModelInferRequest"](
            model_name="pair", model_version="1", inputs=inputs, raw_input_contents=[rows.tobytes()] * 2
        )
        for _ in range(count):
            found = call(request, timeout=60, metadata=[("authorization", f"Bearer {at.token}")])
            np.testing.assert_array_equal(np.frombuffer(found.raw_output_contents[0], np.float32), 2)
        self.did["requests answered"] += count

    # --- turns --------------------------------------------------------------------------------------------------

    def ask_the_server(self) -> None:
        """Four clients ask, another asks wrongly and goes away, the model is loaded anew: every answer is right."""
        before, self.times = self.times, self.times % 50 + 1
        each = 10 if self.place.small else 300
        with ThreadPoolExecutor(CLIENTS) as pool, self._target() as at, self._client() as client:
            asking = [pool.submit(self._ask_often, each) for _ in range(CLIENTS)]
            if self.draw.random() < 0.3:  # a damaged file leaves what serves
                self.live.write_bytes(b"damaged")
                with contextlib.suppress(ServeError):
                    client.reload("live")
                    raise AssertionError("a damaged model was loaded")
            self._save(self.times)
            if self.draw.random() < 0.5:
                client.reload("live")
            else:
                self.process.send_signal(signal.SIGHUP)
            self.did["models loaded anew"] += 1
            for _ in range(14):
                self._attack(at, self.draw.choice(list(ATTACKS)))
            for _ in range(4):
                self._attack(at, "left")
            self._ask_over_grpc(at, 20)
            found: set[float] = set().union(*(one.result() for one in asking))
            self.did["requests answered"] += CLIENTS * each
            assert found <= {float(before), float(self.times)}, found
            until(lambda: self._ask(client, 1) == self.times, "the new version")

    def _attack(self, at: Target, name: str) -> str:
        outcome = ATTACKS[name](self.draw, at)
        if name == "left":
            self.did["clients that went away"] += 1
        elif outcome != "200":
            self.did["requests refused"] += 1
        return outcome

    def serve_here(self) -> None:
        """A server is started in a thread of this process, over HTTP and gRPC, is asked, and stops."""
        told = config({"pair": self.files["pair"]}, grpc_port=0, max_wait_ms=0)
        rows = np.ones((1, 3), np.float32)
        with start(told) as running, Client(running.url) as client:
            for _ in range(10):
                made = client.infer("pair", {"left": rows, "right": rows}, version=1)
                assert made["total"].tolist() == [[2.0] * 3]
            assert running.grpc_port is not None
            with target(running.server.port, running.grpc_port) as at:
                self._ask_over_grpc(at, 10)
        self.did["requests answered"] += 10
        self.did["servers started and stopped"] += 1

    # --- what the server has to stand, counted apart -------------------------------------------------------------

    def hostile(self, count: int, grown_mb: float) -> dict[str, Any]:
        """Attack the server so often; how each kind ended, what the server held before and after, what failed."""
        outcomes: dict[str, Counter[str]] = {name: Counter() for name in ATTACKS}
        with self._target() as at:
            for name in ATTACKS:  # the first of each loads what is loaded once
                ATTACKS[name](self.draw, at)
            before = of_process(self.process.pid)
            slow = Slow(at, each=20)
            for _ in range(count):
                name = self.draw.choice(list(ATTACKS))
                outcomes[name][ATTACKS[name](self.draw, at)] += 1
            ended = slow.ends()
            assert ended == {"nothing": {"cut"}, "half a head": {"cut"}, "half a body": {"408"}}, ended
        assert self.process.poll() is None, "the server has ended"
        self._ask_often(10)
        until(
            lambda: of_process(self.process.pid)["descriptors"] <= before["descriptors"], "closed connections"
        )
        after = of_process(self.process.pid)
        room = {"memory_mb": grown_mb}
        more = [name for name in after if after[name] - before[name] > room.get(name, 0)]
        return {
            "count": count,
            "answered before": self.did["requests answered"],
            "failed": [f"more {name} than before" for name in more],
            "slow": len(slow.said),
            "outcomes": {name: dict(found) for name, found in outcomes.items()},
            "before": before,
            "after": after,
        }

    def reloads(self, count: int, grown_mb: float) -> dict[str, Any]:
        """Load the model anew so often while clients ask; how many requests there were, and which failed."""
        ended = threading.Event()
        failed: list[str] = []

        def ask() -> Counter[float]:
            answered: Counter[float] = Counter()
            with self._client() as client:
                while not ended.is_set():
                    try:
                        answered[self._ask(client, answered.total())] += 1
                    except Exception as error:
                        failed.append(f"{type(error).__name__}: {error}")
            return answered

        with ThreadPoolExecutor(CLIENTS) as pool, self._client() as client:
            asking = [pool.submit(ask) for _ in range(CLIENTS)]
            try:
                for _ in range(count):
                    self.times = self.times % 50 + 1
                    self._save(self.times)
                    client.reload("live")
                    assert self._ask(client, 1) == self.times
            finally:
                ended.set()
            answered = sum((one.result() for one in asking), Counter())
        return {"count": count, "requests": answered.total(), "versions": len(answered), "failed": failed}
