"""Installation check, and ``is_tensor``."""

from __future__ import annotations

import sys

import torch

from millrace._src.core.errors import OperationError
from millrace._src.core.public import public

from .backend.context import get_context, get_device

__all__ = ["run_check"]


@public("millrace")
def run_check() -> None:
    """Multiply two matrices on the device in use and print whether the result is correct.

    >>> run_check()
    PyTorch version:  ...
    The result of multiplication calculation is correct, Millrace has been installed on platform [CPU] successfully!
    """
    left = torch.arange(6.0, device=get_device()).reshape(2, 3)
    product = (left @ left.T).cpu().tolist()
    if product != [[5.0, 14.0], [14.0, 50.0]]:
        raise OperationError(
            f"The product of two small matrices is {product}; PyTorch {torch.__version__} does not compute "
            f"correctly on {get_device()}. `millrace doctor` shows the environment."
        )
    sys.stdout.write(f"PyTorch version:  {torch.__version__}\n")
    sys.stdout.write(
        "The result of multiplication calculation is correct, Millrace has been installed on platform "
        f"[{get_context('device_target')}] successfully!\n"
    )
