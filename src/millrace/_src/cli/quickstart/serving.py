"""The third part of ``millrace quickstart``: serve the trained model over HTTP."""

from __future__ import annotations

import textwrap
from pathlib import Path

from rich.console import Console

from millrace._src.cli.parser import fail

from .training import ARCHIVE, error_of, run_script

__all__ = ["run_serving"]

SCRIPT = '''\
"""Start a server with the trained model in a thread, and send requests to it with a client."""

import time
from pathlib import Path

from millrace import serve

here = Path(__file__).parent
files = sorted((here / "images").rglob("*.jpg"))
files = files[:: max(1, len(files) // 64)]  # some of each class

config = serve.Config({{"shapes": str(here / "{archive}")}}, port=0)  # 0: any free port
with serve.start(config) as server, serve.Client(server.url) as client:
    labels, began = [], time.perf_counter()
    for file in files:
        labels.extend(client.infer("shapes", [file.read_bytes()]))  # the JPEG file itself
    each = (time.perf_counter() - began) / len(files) * 1000

right = sum(label.decode() == file.parent.name for label, file in zip(labels, files))
print(f"{{right}} of {{len(files)}} images were classified correctly, in {{each:.0f}} ms each, one at a time")
'''


def run_serving(console: Console, folder: Path) -> int:
    """Serve the model of the second part and send requests to it. Exit status: 0 success."""
    script = folder / "ask.py"
    script.write_text(SCRIPT.format(archive=ARCHIVE))
    console.print(f"\n[bold]Serving the model and sending requests ({script})[/bold]\n")
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
