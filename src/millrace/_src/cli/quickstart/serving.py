"""The third part of ``millrace quickstart``: the net that has learned answers over HTTP."""

from __future__ import annotations

import textwrap
from pathlib import Path

from rich.console import Console

from millrace._src.cli.parser import fail

from .training import ARCHIVE, error_of, run_script

__all__ = ["run_serving"]

SCRIPT = '''\
"""A server with the trained net, in a thread, and a client that asks it as one elsewhere would."""

import time
from pathlib import Path

from millrace import serve

here = Path(__file__).parent
files = sorted((here / "images").rglob("*.jpg"))
files = files[:: max(1, len(files) // 64)]  # some of each kind

config = serve.Config({{"shapes": str(here / "{archive}")}}, port=0)  # 0: any free port
with serve.start(config) as server, serve.Client(server.url) as client:
    answers, began = [], time.perf_counter()
    for file in files:
        answers.extend(client.infer("shapes", [file.read_bytes()]))  # the file as it is
    each = (time.perf_counter() - began) / len(files) * 1000

right = sum(answer.decode() == file.parent.name for answer, file in zip(answers, files))
print(f"{{right}} of {{len(files)}} pictures were named right, in {{each:.0f}} ms each, one after the other")
'''


def run_serving(console: Console, folder: Path) -> int:
    """Serve the net of the second part and ask it; 0 where it answers."""
    script = folder / "ask.py"
    script.write_text(SCRIPT.format(archive=ARCHIVE))
    console.print(f"\n[bold]Serving the net, and asking it ({script})[/bold]\n")
    console.print(
        textwrap.indent(script.read_text().partition("here = ")[2].partition("\n")[2].rstrip(), "  "),
        markup=False,
    )
    console.print()
    done = run_script(script)
    if done.returncode:
        return fail("quickstart", f"{script} failed: {error_of(done.stderr)}")
    console.print(done.stdout.rstrip(), markup=False, highlight=False)
    return 0
