"""Source location in user code: the first stack frame outside of Millrace and PyTorch."""

from __future__ import annotations

import os
import sys
import types

import torch

from millrace._src.core.package import PACKAGE_ROOT

__all__ = ["is_internal_file", "source_line_of_error", "user_source_line"]

_PACKAGE = PACKAGE_ROOT + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def is_internal_file(filename: str) -> bool:
    """Whether a file belongs to Millrace or PyTorch, or is no file."""
    return filename.startswith((_PACKAGE, _TORCH, "<frozen", "<captured"))


def user_source_line() -> str:
    """File and line of the first frame outside of Millrace and PyTorch, or ""."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_internal_file(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def source_line_of_error(error: BaseException) -> str:
    """The last line of user code in an error's traceback; without one, the calling line."""
    location, step = "", error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        location = location if is_internal_file(name) else f"{name}:{step.tb_lineno}"
        step = step.tb_next
    return location or user_source_line()
