"""The training runtime on PyTorch.

Importing any part of it loads Graph mode, which autograd and the Cells find through a registered function.
"""

from .graph import replay as _replay  # noqa: F401
