"""``millrace run``: a training script in several processes, on one machine or several."""

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
Each process finds its place with millrace.communication.init(), its part of
the data with num_shards=get_group_size(), shard_id=get_rank(). Lines of output
begin with the rank. A rank that dies ends the others, and the last lines say
which one it was, with its traceback.

On several machines the same command is started on each of them, with the same
--hosts; the first is where they meet. With --rdzv machines may come and go.

One machine: all sockets are on loopback. Several machines: connections between
them have neither password nor encryption, so everybody who reaches a machine's
ports can read and change the run. Use a private network. Public addresses are
refused without --insecure.

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
        help="processes on this machine; without it one for each GPU, or one",
    )  # fmt: skip
    parser.add_argument(
        "--hosts", type=_parse_names, default=(), metavar="A,B", help="all machines of the run, in order"
    )
    parser.add_argument(
        "--node", type=int, metavar="K", help="which of --hosts this machine is, counted from 0"
    )
    parser.add_argument(
        "--master", default="", metavar="HOST[:PORT]", help="where they meet; without it the first host"
    )
    parser.add_argument(
        "--rdzv", default="", metavar="HOST:PORT", help="where machines meet that may come and go"
    )
    parser.add_argument(
        "--nodes", type=_parse_range, default=(1, 1), metavar="MIN:MAX", help="with --rdzv: how many machines"
    )
    parser.add_argument(
        "--job", default="", metavar="NAME", help="with --rdzv: the name of this run, equal on all"
    )
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="allow public addresses: whoever reaches them can change the run",
    )
    parser.add_argument("--logs", default="", metavar="FOLDER", help="keep the output of every rank there")
    parser.add_argument(
        "--restarts",
        type=_parse_count,
        default=0,
        metavar="N",
        help="start all processes again after a failure, N times",
    )
    parser.add_argument(
        "--as-mindspore", action="store_true", help="let the script's `import mindspore` find Millrace"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="what the script is given")


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
        raise argparse.ArgumentTypeError(f"{text} is not a number of times")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Start the processes, and wait for them."""
    if not arguments.module and not os.path.exists(arguments.script):
        return fail("run", no_such_path(arguments.script))
    # before PyTorch is imported: without a name service it warns of every connection on loopback
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
    for stream in (sys.stdout, sys.stderr):  # what ranks say is seen at once, into a pipe or a file too
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    # PyTorch's agent leaves the files of its processes to the collector, which is no concern of the user's
    warnings.simplefilter("ignore", ResourceWarning)
    try:
        return launch(wanted)
    except ArgumentValueError as error:
        return fail("run", str(error))
