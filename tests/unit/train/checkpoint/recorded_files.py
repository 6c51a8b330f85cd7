"""Files that MindSpore 2.7.0 wrote, and what is in them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[3] / "fixtures" / "checkpoint"
FILES = json.loads((FOLDER / "expected.json").read_text())["files"]
CKPT = [name for name in FILES if name.endswith(".ckpt")]
SAFE = [name for name in FILES if name.endswith(".safetensors")]
PLAIN = [name for name in CKPT if not name.startswith("enc_")]


def arrays(name: str) -> dict[str, np.ndarray]:
    with np.load(FOLDER / f"{name}.expected.npz") as found:
        return dict(found)
