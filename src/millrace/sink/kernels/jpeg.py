"""Decoding on a card: nvJPEG, which torchvision brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from millrace.core.optional import require

__all__ = ["decoded"]


def decoded(encoded: Sequence[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    """RGB images <3,H,W> on the device, of the bytes of JPEGs that are on the host."""
    require("torchvision", extra="gpu", purpose="Decode().device('GPU')")
    io: Any = require("torchvision.io", extra="gpu", purpose="Decode().device('GPU')")
    mode = io.ImageReadMode.RGB
    if device.type == "cuda":
        made: list[torch.Tensor] = io.decode_jpeg(list(encoded), mode=mode, device=device)
        return made
    return [io.decode_jpeg(one, mode=mode) for one in encoded]
