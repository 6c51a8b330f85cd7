"""``millrace serve``: trained models behind HTTP and gRPC."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from millrace._src.core.errors import MillraceError
from millrace._src.core.optional import missing_extra_error
from millrace._src.serve.config import BATCHING, RUNTIMES
from millrace._src.serve.limits import MAX_CONNECTIONS, MAX_RESPONSE

from .parser import count, fail, no_such_path, number, seconds

if TYPE_CHECKING:
    from millrace._src.serve.config import Config
    from millrace._src.serve.server import ModelServer

__all__ = ["add_arguments", "run"]

EPILOG = """\
A MODEL is an archive (.mindir, of millrace.export or serve.Servable), an ONNX
file, or a folder with a folder for each version: 1/model.onnx, 2/model.onnx.
NAME= gives it a name; without it, it has its file's. A net and its checkpoint
are served with --net, --ckpt and --input, under the name given as MODEL.

The server speaks the Open Inference Protocol (/v2/models/NAME/infer) and the
REST of MindSpore Serving (/model/NAME:METHOD). /v2/health/ready says whether
it is ready, /metrics has counters for Prometheus. SIGHUP loads the models
anew without dropping a request; SIGTERM answers what has come, and ends. The
token is read from MILLRACE_SERVE_TOKEN where --token is not given.

With --ray the models are served by --replicas processes on Ray Serve, on this
machine or on the cluster at --ray-address, whose nodes open the files. Limits
and --threads (1) are then those of each replica; there is no gRPC.

examples:
  millrace serve digits.mindir
  millrace serve cats=models/cats dogs=dogs.onnx --port 9000 --grpc-port 9001
  millrace serve m --net nets:LeNet --ckpt a.ckpt --input FP32:-1,1,32,32
  millrace serve digits.mindir --ray --replicas 2-8 --ray-address auto
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = EPILOG
    parser.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="what to serve: a file or a folder of versions, NAME=PATH or PATH",
    )
    parser.add_argument("--net", metavar="MODULE:FUNCTION", help="what makes the net, for a checkpoint")
    parser.add_argument("--ckpt", metavar="FILE", help="with --net: the checkpoint with its weights")
    parser.add_argument(
        "--input", action="append", default=[], metavar="TYPE:SHAPE",
        help="with --net: an input that it takes, -1 for any number of rows; once for each",
    )  # fmt: skip
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen; 0.0.0.0 is everywhere"
    )
    parser.add_argument(
        "--port", type=_parse_port, default=8000, metavar="N", help="for HTTP; 0 takes a free one"
    )
    parser.add_argument(
        "--grpc-port", type=_parse_port, metavar="N", help="for gRPC; without it there is none"
    )
    parser.add_argument(
        "--max-batch", type=count, default=32, metavar="ROWS", help="most rows computed together"
    )
    parser.add_argument(
        "--max-wait", type=_parse_wait, metavar="MS", help="how long a row waits for others (1 at most)"
    )
    parser.add_argument(
        "--batching", choices=BATCHING, default="auto",
        help="compute requests together: auto, where rows do not depend on each other; on refuses other models",
    )  # fmt: skip
    parser.add_argument(
        "--max-queue", type=count, default=1000, metavar="N", help="most requests that wait; more are refused"
    )
    parser.add_argument(
        "--max-body", type=count, default=64, metavar="MB", help="the largest request, in megabytes"
    )
    parser.add_argument(
        "--max-response", type=count, default=MAX_RESPONSE >> 20, metavar="MB",
        help="the largest response, in megabytes",
    )  # fmt: skip
    parser.add_argument(
        "--max-total-body", type=count, metavar="MB",
        help="all request bodies at once; without it 8 times --max-body",
    )  # fmt: skip
    parser.add_argument(
        "--max-total-response", type=count, metavar="MB",
        help="all responses at once; without it 8 times --max-response",
    )  # fmt: skip
    parser.add_argument(
        "--max-connections", type=count, default=MAX_CONNECTIONS, metavar="N",
        help="HTTP connections at once; beyond it idle ones are closed",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=seconds, default=30.0, metavar="S", help="how long one request may take"
    )
    parser.add_argument(
        "--threads",
        type=count,
        default=0,
        metavar="N",
        help="threads that compute; without it one for each core",
    )
    parser.add_argument(
        "--workers", type=count, default=1, metavar="N", help="batches computed at once, sharing the cores"
    )
    parser.add_argument(
        "--runtime", choices=RUNTIMES, default="auto",
        help="what computes ONNX files; auto takes MNN where it is installed and faster",
    )  # fmt: skip
    parser.add_argument("--token", metavar="TEXT", help="what clients must send: Authorization: Bearer TEXT")
    parser.add_argument(
        "--allowed-host", action="append", default=[], metavar="NAME",
        help="without a token: another name of this server in the Host header, '*' for every one",
    )  # fmt: skip
    parser.add_argument(
        "--allowed-origin", action="append", default=[], metavar="ORIGIN",
        help="a web page's origin whose requests are accepted, as https://app.example.com; '*' for every one",
    )  # fmt: skip
    parser.add_argument("--certificate", metavar="FILE", help="TLS: the server's certificate, with --key")
    parser.add_argument("--key", metavar="FILE", help="TLS: its private key")
    parser.add_argument(
        "--drain", type=_parse_drain, default=0.0, metavar="S",
        help="after SIGTERM, answer for so long while saying 'not ready'",
    )  # fmt: skip
    parser.add_argument("--ray", action="store_true", help="serve on Ray Serve, in several processes")
    parser.add_argument(
        "--replicas", type=_parse_replicas, metavar="N",
        help="with --ray: how many serve (1); as 2-8, between these, by the requests that wait",
    )  # fmt: skip
    parser.add_argument(
        "--ray-address", metavar="HOST:PORT",
        help="with --ray: a cluster that this machine is a node of, or auto; without it one is started here",
    )  # fmt: skip


def _parse_port(text: str) -> int:
    return number(text, int, lambda n: 0 <= n < 65_536, "a port, 0 to 65535")


def _parse_wait(text: str) -> float:
    return number(text, float, lambda n: 0 <= n <= 10_000, "a number of milliseconds")


def _parse_drain(text: str) -> float:
    return number(text, float, lambda n: 0 <= n <= 3_600, "a number of seconds")


def _parse_replicas(text: str) -> tuple[int, int]:
    least, dash, most = text.partition("-")
    wanted = "a number of replicas, or the fewest and the most, as 2-8"
    bounds = [
        number(each, int, lambda n: 0 < n <= 10_000, wanted) for each in ([least, most] if dash else [least])
    ]
    if bounds[0] > bounds[-1]:
        raise argparse.ArgumentTypeError(f"{text} is not {wanted}")
    return bounds[0], bounds[-1]


def _split_name(argument: str) -> tuple[str, str]:
    name, equals, path = argument.partition("=")
    if equals:
        return name, path
    stem = os.path.basename(argument.rstrip("/"))
    return stem.removesuffix(".mindir").removesuffix(".onnx"), argument


def _collect_models(arguments: argparse.Namespace) -> dict[str, Any] | str:
    """The models by name, or why there are none."""
    if arguments.net is not None:
        from millrace._src.serve.repository import NetworkSource, input_of

        if len(arguments.models) != 1 or not arguments.input:
            return "--net serves one model, and needs its --input, as FP32:-1,3,32,32"
        if arguments.ckpt is not None and not os.path.exists(arguments.ckpt):
            return no_such_path(arguments.ckpt)
        return {
            arguments.models[0]: NetworkSource(
                arguments.net, arguments.ckpt, list(map(input_of, arguments.input))
            )
        }
    if arguments.ckpt is not None or arguments.input:
        return "--ckpt and --input go with --net, which makes the net"
    models: dict[str, Any] = {}
    for name, path in map(_split_name, arguments.models):
        if not os.path.exists(path):
            return no_such_path(path)
        if name in models:
            return f"two models have the name {name!r}; give one another: NAME={path}"
        models[name] = path
    return models


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    try:
        models = _collect_models(arguments)
        if isinstance(models, str):
            return fail("serve", models)
        if not arguments.ray and (arguments.replicas or arguments.ray_address):
            return fail("serve", "--replicas and --ray-address go with --ray")
        _serve(_build_config(arguments, models), arguments)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return fail("serve", str(missing_extra_error(error, "train", "millrace serve")))
    except MillraceError as error:
        return fail("serve", str(error))
    print("stopped", file=sys.stderr)
    return 0


def _build_config(arguments: argparse.Namespace, models: dict[str, Any]) -> Config:
    from millrace._src.serve.config import Config

    return Config(
        models,
        host=arguments.host,
        port=arguments.port,
        grpc_port=arguments.grpc_port,
        max_batch=arguments.max_batch,
        max_wait_ms=arguments.max_wait,
        batching=arguments.batching,
        max_queue=arguments.max_queue,
        max_body=arguments.max_body << 20,
        max_response=arguments.max_response << 20,
        max_body_total=_megabytes(arguments.max_total_body),
        max_response_total=_megabytes(arguments.max_total_response),
        max_connections=arguments.max_connections,
        allowed_hosts=arguments.allowed_host,
        allowed_origins=arguments.allowed_origin,
        timeout=arguments.timeout,
        threads=arguments.threads,
        workers=arguments.workers,
        runtime=arguments.runtime,
        token=arguments.token or os.environ.get("MILLRACE_SERVE_TOKEN") or None,
        certificate=arguments.certificate,
        key=arguments.key,
        drain=arguments.drain,
    )


def _megabytes(size: int | None) -> int | None:
    return None if size is None else size << 20


def _serve(config: Config, arguments: argparse.Namespace) -> None:
    named = ", ".join(config.models)
    if arguments.ray:
        from millrace._src.serve.ray.deployment import run as serve_on_ray

        least, most = arguments.replicas or (1, 1)
        count = f"{least} to {most}" if most > least else str(least)
        serve_on_ray(
            config,
            lambda server: print(
                f"serving {named} at {server.url}, {count} replica{'s' * (most > 1)} on Ray", flush=True
            ),
            (least, most),
            arguments.ray_address,
        )
        return
    from millrace._src.serve.server import run as serve

    def started(server: ModelServer) -> None:
        where = [server.url] + ([f"gRPC on port {server.grpc_port}"] if server.grpc_port else [])
        print(f"serving {named} at {', '.join(where)}", flush=True)

    serve(config, started)
