"""The second part of ``millrace quickstart``: train a model, kill the run, and resume it with the same bits."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from rich.console import Console

from millrace._src.cli.parser import fail

from .synthetic_images import CLASSES

__all__ = ["ARCHIVE", "error_of", "run_training", "run_script"]

ARCHIVE = "shapes.mindir"

SCRIPT = '''\
"""Train a small network on the shapes. After a kill, --resume continues the run with the same bits."""

import sys
from pathlib import Path

import millrace as ms
import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace import nn, serve, train

EPOCHS, SIZE = 7, 48
here = Path(__file__).parent
ms.set_seed({seed})
ms.set_context(mode=ms.GRAPH_MODE)

# four fifths of the records are for training, one fifth is held out
learned, held_out = ds.MindDataset(str(here / "{record}"), shuffle=True).split([0.8, 0.2])
scaled = [vision.Normalize([60, 60, 60], [40, 40, 40]), vision.HWC2CHW()]
crop = vision.RandomCropDecodeResize(SIZE, scale=(0.8, 1.0), ratio=(1.2, 1.45))
whole = [vision.Decode(), vision.Resize((SIZE, SIZE)), *scaled]
learned = learned.map([crop, vision.RandomHorizontalFlip(), *scaled], "image").batch(32)
held_out = held_out.map(whole, "image").batch(32)


def block(channels, more):
    conv = nn.Conv2d(channels, more, 3)
    return [conv, nn.BatchNorm2d(more), nn.ReLU(), nn.MaxPool2d(2, 2)]


blocks = [*block(3, 16), *block(16, 32), *block(32, 64), *block(64, 96)]
net = nn.SequentialCell(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dense(96, 8))
steps = learned.get_dataset_size()
rates = nn.cosine_decay_lr(0.0, 0.006, EPOCHS * steps, steps, EPOCHS)
optimizer = nn.Adam(net.trainable_params(), rates)
model = train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={{"accuracy"}})

folder = here / sys.argv[1]
often = train.CheckpointConfig(save_checkpoint_steps=max(1, EPOCHS * steps // 5))
files = sorted(folder.glob("*.ckpt"), key=lambda file: file.stat().st_mtime)
resume = str(files[-1]) if "--resume" in sys.argv else None
model.train(EPOCHS, learned, train.ModelCheckpoint("shapes", str(folder), often), resume=resume)
accuracy = model.eval(held_out)["accuracy"]
ms.save_checkpoint(net, str(here / f"{{folder.name}}.ckpt"))
print(f"accuracy on the records held out: {{accuracy:.1%}}\\n")
print(model.report())

# one file for a server: the network, and the transforms of the evaluation before it
inputs = [ms.Tensor(shape=[None, 3, SIZE, SIZE], dtype=ms.float32)]
names = {classes}
after = [serve.ArgMax(), serve.Labels(names)]
serve.Servable(net, inputs, whole, after).save(str(here / "{archive}"))
'''

# The checkpoint after which the run is killed.
KILL_AFTER = 2


def run_training(console: Console, folder: Path, record: str, seed: int) -> int:
    """Train, train again with a kill in the middle, and compare. Exit status: 0 success."""
    script = folder / "train.py"
    names = textwrap.fill(json.dumps(CLASSES), 70, subsequent_indent=" " * 4)
    script.write_text(SCRIPT.format(seed=seed, record=record, classes=names, archive=ARCHIVE))
    console.print(f"\n[bold]Training a small network on the same records ({script})[/bold]\n")
    console.print(
        textwrap.indent(script.read_text().partition("# four fifths")[2].rstrip(), "  "), markup=False
    )
    console.print("\n[bold]Learning[/bold]\n")
    began = time.monotonic()
    done = run_script(script, "whole")
    if done.returncode:
        return fail("quickstart", f"{script} failed: {error_of(done.stderr)}")
    console.print(done.stdout.rstrip(), markup=False, highlight=False)
    console.print(f"\nThis took {time.monotonic() - began:.0f} s.", markup=False)
    console.print("\n[bold]Killed, and resumed from its last checkpoint[/bold]\n")
    at = _run_and_kill(script, folder / "killed")
    if at is None:
        console.print("The run ended before it could be killed: there are too few records. Try more images.")
        return 0
    done = run_script(script, "killed", "--resume")
    if done.returncode:
        return fail("quickstart", f"{script} --resume failed: {error_of(done.stderr)}")
    same = _read_weights(folder / "killed") == _read_weights(folder / "whole")
    outcome = "the same, bit for bit" if same else "NOT the same: this is a bug, please report it"
    console.print(
        f"A second run got SIGKILL after {at}. A third resumed from that file, which holds weights, optimizer,\n"
        f"random states and the position in the data. Its final weights are {outcome}.",
        markup=False,
    )
    return 0 if same else 1


def run_script(script: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a Python file with this interpreter, and capture its output."""
    return subprocess.run(_script_command(script, *options), capture_output=True, text=True, check=False)


def _script_command(script: Path, *options: str) -> list[str]:
    return [sys.executable, str(script), *options]


def _run_and_kill(script: Path, saved: Path) -> str | None:
    """Start the script, and send SIGKILL after some checkpoints; returns the name of the last one."""
    process = subprocess.Popen(
        _script_command(script, saved.name), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while process.poll() is None:
            if len(list(saved.glob("*.ckpt"))) >= KILL_AFTER:
                process.kill()
                process.wait()
                return max(saved.glob("*.ckpt"), key=lambda file: file.stat().st_mtime).name
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    return None


def error_of(text: str) -> str:
    """The last error of a traceback with its indented lines."""
    return next(
        (line for line in reversed(text.splitlines()) if line.strip() and not line.startswith(" ")), ""
    )


def _read_weights(saved: Path) -> bytes:
    return saved.with_suffix(".ckpt").read_bytes()
