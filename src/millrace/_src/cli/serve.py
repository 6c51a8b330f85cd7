"""``millrace serve``: serve trained models over HTTP and gRPC."""

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
MODEL is an archive (.mindir, from millrace.export or serve.Servable), an ONNX
file, or a folder with one folder per version: 1/model.onnx, 2/model.onnx.
NAME= sets its name; the default is the file name. To serve a network with a
checkpoint, use --net, --ckpt and --input; MODEL is then the name.

The server supports the Open Inference Protocol (/v2/models/NAME/infer) and the
REST protocol of MindSpore Serving (/model/NAME:METHOD). /v2/health/ready
reports readiness, /metrics has counters for Prometheus. SIGHUP reloads the
models without dropping requests. SIGTERM completes the pending requests, then
stops. Without --token, the token is read from MILLRACE_SERVE_TOKEN.

With --ray, --replicas processes serve the models on Ray Serve, on this machine
or on the cluster at --ray-address, whose nodes read the files. Limits and
--threads (default: 1) apply to each replica. gRPC is not available.

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
        help="a model file or a folder of versions: NAME=PATH or PATH",
    )
    parser.add_argument(
        "--net", metavar="MODULE:FUNCTION", help="function that creates the network of a checkpoint"
    )
    parser.add_argument("--ckpt", metavar="FILE", help="with --net: the checkpoint")
    parser.add_argument(
        "--input", action="append", default=[], metavar="TYPE:SHAPE",
        help="with --net: datatype and shape of an input, -1 for any number of rows; once per input",
    )  # fmt: skip
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on; 0.0.0.0 for all (default: 127.0.0.1)",
    )
    parser.add_argument(
        "--port",
        type=_parse_port,
        default=8000,
        metavar="N",
        help="HTTP port; 0 for any free port (default: 8000)",
    )
    parser.add_argument("--grpc-port", type=_parse_port, metavar="N", help="gRPC port (default: no gRPC)")
    parser.add_argument(
        "--max-batch", type=count, default=32, metavar="ROWS", help="maximum rows per batch (default: 32)"
    )
    parser.add_argument(
        "--max-wait",
        type=_parse_wait,
        metavar="MS",
        help="milliseconds that a row waits for a batch (default: adaptive, up to 1)",
    )
    parser.add_argument(
        "--batching", choices=BATCHING, default="auto",
        help="batching: auto, for models with independent rows; on rejects other models (default: auto)",
    )  # fmt: skip
    parser.add_argument(
        "--max-queue",
        type=count,
        default=1000,
        metavar="N",
        help="maximum waiting requests; more are rejected (default: 1000)",
    )
    parser.add_argument(
        "--max-body",
        type=count,
        default=64,
        metavar="MB",
        help="maximum request size in megabytes (default: 64)",
    )
    parser.add_argument(
        "--max-response", type=count, default=MAX_RESPONSE >> 20, metavar="MB",
        help="maximum response size in megabytes (default: 64)",
    )  # fmt: skip
    parser.add_argument(
        "--max-total-body", type=count, metavar="MB",
        help="maximum size of all request bodies together (default: 8 times --max-body)",
    )  # fmt: skip
    parser.add_argument(
        "--max-total-response", type=count, metavar="MB",
        help="maximum size of all responses together (default: 8 times --max-response)",
    )  # fmt: skip
    parser.add_argument(
        "--max-connections", type=count, default=MAX_CONNECTIONS, metavar="N",
        help="maximum HTTP connections; beyond it idle ones are closed (default: 1000)",
    )  # fmt: skip
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=30.0,
        metavar="S",
        help="seconds that a request may take (default: 30)",
    )
    parser.add_argument(
        "--threads",
        type=count,
        default=0,
        metavar="N",
        help="compute threads (default: one per core)",
    )
    parser.add_argument(
        "--workers",
        type=count,
        default=1,
        metavar="N",
        help="batches computed in parallel on shared cores (default: 1)",
    )
    parser.add_argument(
        "--runtime", choices=RUNTIMES, default="auto",
        help="runtime of ONNX files; auto uses MNN where it is installed and faster (default: auto)",
    )  # fmt: skip
    parser.add_argument(
        "--token", metavar="TEXT", help="token that clients must send: Authorization: Bearer TEXT"
    )
    parser.add_argument(
        "--allowed-host", action="append", default=[], metavar="NAME",
        help="without a token: an additional allowed Host header, '*' for any",
    )  # fmt: skip
    parser.add_argument(
        "--allowed-origin", action="append", default=[], metavar="ORIGIN",
        help="an allowed Origin of web pages, as https://app.example.com; '*' for any",
    )  # fmt: skip
    parser.add_argument("--certificate", metavar="FILE", help="TLS: certificate of the server, with --key")
    parser.add_argument("--key", metavar="FILE", help="TLS: private key of the certificate")
    parser.add_argument(
        "--drain", type=_parse_drain, default=0.0, metavar="S",
        help="seconds to keep serving after SIGTERM while reporting 'not ready' (default: 0)",
    )  # fmt: skip
    parser.add_argument("--ray", action="store_true", help="serve on Ray Serve in several processes")
    parser.add_argument(
        "--replicas", type=_parse_replicas, metavar="N",
        help="with --ray: number of replicas; 2-8 scales with the waiting requests (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--ray-address", metavar="HOST:PORT",
        help="with --ray: address of the cluster, or auto (default: start Ray on this machine)",
    )  # fmt: skip


def _parse_port(text: str) -> int:
    return number(text, int, lambda n: 0 <= n < 65_536, "a port, 0 to 65535")


def _parse_wait(text: str) -> float:
    return number(text, float, lambda n: 0 <= n <= 10_000, "a number of milliseconds")


def _parse_drain(text: str) -> float:
    return number(text, float, lambda n: 0 <= n <= 3_600, "a number of seconds")


def _parse_replicas(text: str) -> tuple[int, int]:
    least, dash, most = text.partition("-")
    wanted = "a number of replicas, or a range as 2-8"
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
    """The models by name, or an error message."""
    if arguments.net is not None:
        from millrace._src.serve.repository import NetworkSource, input_of

        if len(arguments.models) != 1 or not arguments.input:
            return "--net serves one model and requires --input, as FP32:-1,3,32,32"
        if arguments.ckpt is not None and not os.path.exists(arguments.ckpt):
            return no_such_path(arguments.ckpt)
        return {
            arguments.models[0]: NetworkSource(
                arguments.net, arguments.ckpt, list(map(input_of, arguments.input))
            )
        }
    if arguments.ckpt is not None or arguments.input:
        return "--ckpt and --input require --net"
    models: dict[str, Any] = {}
    for name, path in map(_split_name, arguments.models):
        if not os.path.exists(path):
            return no_such_path(path)
        if name in models:
            return f"two models have the name {name!r}. Rename one: NAME={path}"
        models[name] = path
    return models


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT."""
    try:
        models = _collect_models(arguments)
        if isinstance(models, str):
            return fail("serve", models)
        if not arguments.ray and (arguments.replicas or arguments.ray_address):
            return fail("serve", "--replicas and --ray-address require --ray")
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
