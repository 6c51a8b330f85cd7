"""``millrace run``: run a training script in several processes, on one or more machines."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import warnings

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.optional import missing_extra_error

from .parser import count, fail, no_such_path

__all__ = ["add_arguments", "run"]

EPILOG = """\
Each process calls millrace.communication.init(), and reads its shard of the
data with num_shards=get_group_size(), shard_id=get_rank(). Output lines begin
with the rank. If a rank fails, the others are stopped, and the last lines show
the failed rank and its traceback.

For several machines, start the same command on each of them with the same
--hosts; the first host is the rendezvous. With --rdzv, machines may join and
leave.

On one machine all sockets are on loopback. Between machines, connections have
neither authentication nor encryption: everyone who can reach the ports can
read and change the run. Use a private network. Public addresses need
--insecure.

examples:
  millrace run -n 4 train.py --epochs 3
  millrace run -n 2 -m package.train
  millrace run -n 8 --hosts node1,node2 --logs logs train.py
  millrace run -n 8 --rdzv node1:29400 --nodes 1:4 --restarts 3 train.py
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = EPILOG
    parser.add_argument(
        "-n", "--processes", type=count, metavar="N",
        help="processes on this machine (default: one per GPU, or one)",
    )  # fmt: skip
    parser.add_argument(
        "--hosts", type=_parse_names, default=(), metavar="A,B", help="all machines of the run, in order"
    )
    parser.add_argument(
        "--node",
        type=int,
        metavar="K",
        help="index of this machine in --hosts, counted from 0 (default: detected)",
    )
    parser.add_argument(
        "--master", default="", metavar="HOST[:PORT]", help="rendezvous address (default: the first host)"
    )
    parser.add_argument(
        "--rdzv", default="", metavar="HOST:PORT", help="rendezvous address of an elastic run"
    )
    parser.add_argument(
        "--nodes",
        type=_parse_range,
        default=(1, 1),
        metavar="MIN:MAX",
        help="with --rdzv: number of machines (default: 1)",
    )
    parser.add_argument(
        "--job", default="", metavar="NAME", help="with --rdzv: name of the run, the same on all machines"
    )
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="allow public addresses: everyone who can reach them can change the run",
    )
    parser.add_argument("--logs", default="", metavar="FOLDER", help="folder for the output of every rank")
    parser.add_argument(
        "--restarts",
        type=_parse_count,
        default=0,
        metavar="N",
        help="restart all processes after a failure, up to N times (default: 0)",
    )
    parser.add_argument(
        "--as-mindspore", action="store_true", help="make the script's `import mindspore` load Millrace"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module name")
    parser.add_argument("script", metavar="SCRIPT", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments of the script")


def _parse_names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _parse_range(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)(?::(\d+))?", text)
    least, most = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= least <= most:
        raise argparse.ArgumentTypeError(f"{text} is not a number of machines, or MIN:MAX")
    return least, most


def _parse_count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is not a number of restarts")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Start the processes and wait for them."""
    if not arguments.module and not os.path.exists(arguments.script):
        return fail("run", no_such_path(arguments.script))
    # before PyTorch is imported: without a name service it warns about every connection on loopback
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    try:
        from millrace._src.parallel.launch import LaunchRequest, launch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return fail("run", str(missing_extra_error(error, "train", "millrace run")))
    command = ["-u", *(["-m", "millrace.as_mindspore"] if arguments.as_mindspore else [])]
    command += [*(["-m"] if arguments.module else []), arguments.script, *arguments.arguments]
    wanted = LaunchRequest(
        command,
        arguments.processes or 0,
        arguments.hosts,
        arguments.node,
        arguments.master,
        arguments.rdzv,
        arguments.nodes,
        arguments.job,
        arguments.logs,
        arguments.restarts,
        arguments.insecure,
    )
    for stream in (
        sys.stdout,
        sys.stderr,
    ):  # print the output of ranks immediately, also into a pipe or a file
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    # PyTorch's agent leaves its open files to the garbage collector; the warning does not concern the user
    warnings.simplefilter("ignore", ResourceWarning)
    try:
        return launch(wanted)
    except ArgumentValueError as error:
        return fail("run", str(error))
