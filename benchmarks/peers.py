"""Where each peer's interpreter is: Millrace runs in this one, the others each in an environment of their own."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

__all__ = ["NAMES", "PEERS", "Peer", "find"]


@dataclasses.dataclass(frozen=True)
class Peer:
    """How the page calls it, the module whose import shows that it is there, and whose versions are stated."""

    name: str
    module: str
    packages: tuple[str, ...]
    # the peer in whose environment it lives, where that is not its own
    home: str | None = None


# In the order of the tables.
PEERS = {
    "millrace": Peer(
        "Millrace",
        "millrace.dataset",
        ("millrace", "opencv-python-headless", "simplejpeg", "torch", "onnxruntime", "MNN"),
    ),
    "mindspore": Peer("MindSpore", "mindspore.dataset", ("mindspore",)),
    "torch": Peer("PyTorch", "torchvision", ("torch", "torchvision", "pillow", "opencv-python-headless")),
    "tensorflow": Peer("tf.data", "tensorflow", ("tensorflow-cpu", "tensorflow")),
    "grain": Peer("Grain", "grain", ("grain", "opencv-python-headless")),
    "dali": Peer("DALI (CPU)", "nvidia.dali", ("nvidia-dali-cuda120", "nvidia-dali-cuda130")),
    "webdataset": Peer("WebDataset", "webdataset", ("webdataset", "torch", "torchvision")),
    "huggingface": Peer("HF datasets", "datasets", ("datasets", "pyarrow", "torch", "torchvision")),
    "tokenizers": Peer("HF tokenizers", "tokenizers", ("tokenizers",)),
    "torchaudio": Peer("torchaudio", "torchaudio", ("torchaudio", "torch")),
    "lightning": Peer("Lightning", "pytorch_lightning", ("pytorch-lightning", "torch")),
    "keras": Peer("Keras", "keras", ("keras", "tensorflow-cpu", "tensorflow"), home="tensorflow"),
    "fastapi": Peer("FastAPI + onnxruntime", "fastapi", ("fastapi", "uvicorn", "onnxruntime")),
}
NAMES = {key: peer.name for key, peer in PEERS.items()}


def find(folder: Path, wanted: Collection[str] = tuple(PEERS)) -> tuple[dict[str, str], dict[str, str]]:
    """Interpreters in which their peer can be imported, and for the others the reason why they are left out.

    ``folder``/<peer>/bin/python, or what the environment variable BENCH_PYTHON_<PEER> says; <peer> is the one in whose
    environment it lives.
    """
    found, left_out = {"millrace": sys.executable}, {}
    for key, peer in PEERS.items():
        if key == "millrace" or key not in wanted:
            continue
        # not resolved: a link is what tells an interpreter to which environment it belongs
        lives = peer.home or key
        home = folder.absolute() / lives
        python = os.environ.get(f"BENCH_PYTHON_{lives.upper()}") or str(home / "bin" / "python")
        if not os.access(python, os.X_OK):
            left_out[key] = "its environment was not made (see `make bench`)"
        elif (home / ".failed").exists():
            left_out[key] = f"it could not be installed: {(home / '.failed').read_text().strip()[:200]}"
        else:
            why = _import_fails(python, peer.module)
            if why is None:
                found[key] = python
            else:
                left_out[key] = f"`import {peer.module}` fails: {why}"
    return found, left_out


def _import_fails(python: str, module: str) -> str | None:
    try:
        probe = subprocess.run(
            [python, "-c", f"import {module}"], capture_output=True, text=True, check=False, timeout=120
        )
    except subprocess.TimeoutExpired:
        return "no answer after 120 s"
    said = [line for line in probe.stderr.splitlines() if line.strip()]
    return None if probe.returncode == 0 else said[-1][:200] if said else f"ended with {probe.returncode}"
