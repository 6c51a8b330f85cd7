"""Model sources that are read again on each reload: files, folders of versions, networks."""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import Any

from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.core.values.dtype import from_numpy
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.cell import Cell
from millrace._src.train.checkpoint.load import load_checkpoint
from millrace._src.train.checkpoint.load_parameters import load_param_into_net

from .servable import LoadedModel, Servable, load_model_file
from .tensor_codec import DATATYPES

__all__ = ["NetworkSource", "input_of", "find_versions"]

_FILES = ("model.mindir", "model.onnx")


class NetworkSource:
    """The name of a function that creates a network, and the checkpoint with its weights."""

    def __init__(self, factory: str, checkpoint: str | None, inputs: list[Any]) -> None:
        self.factory, self.checkpoint, self.inputs = factory, checkpoint, inputs

    def load(self, threads: int = 0, runtime: str = "auto") -> LoadedModel:
        """Load the network with its weights."""
        net = _create_network(self.factory)
        if self.checkpoint is not None:
            left, _ = load_param_into_net(net, load_checkpoint(self.checkpoint), strict_load=False)
            if left:
                raise FormatError(
                    f"the checkpoint has no values for {len(left)} parameters of the network, the first {left[0]!r}",
                    file=self.checkpoint,
                )
        return Servable(net, self.inputs).load(threads, runtime)


def _create_network(factory: str) -> Cell:
    module, _, name = factory.partition(":")
    if not module or not name:
        raise ArgumentValueError(f"expected a network as module:function, got {factory!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules in the current folder can be imported, as with `python -m`
    try:
        network = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise ArgumentValueError(f"the network {factory!r} cannot be imported: {error}") from error
    if not isinstance(network, Cell):
        raise ArgumentValueError(f"{factory} returned a {type(network).__name__}, not a network (a Cell)")
    return network


def input_of(text: str) -> Tensor:
    """Parse an input of the command line.

    >>> input_of("FP32:-1,3,32,32").shape
    (-1, 3, 32, 32)
    """
    match = re.fullmatch(r"(\w+):((?:-1|\d+)(?:,\d+)*)", text)
    if match is None or match[1] not in DATATYPES or match[1] == "BYTES":
        raise ArgumentValueError(
            f"{text!r} is no valid input. Write a datatype and a shape, as FP32:-1,3,32,32; -1 is any number of rows"
        )
    shape = [None if n == "-1" else int(n) for n in match[2].split(",")]
    return Tensor(shape=shape, dtype=from_numpy(DATATYPES[match[1]]))


def find_versions(source: Any) -> dict[int, Any]:
    """The current versions by number; each has ``load(threads, runtime)``."""
    if not isinstance(source, (str, os.PathLike)):
        return {1: source}
    path = os.fspath(source)
    if not os.path.isdir(path):
        return {1: _File(path)}
    versions = {}
    for entry in os.listdir(path):
        if entry.isdecimal():
            files = [os.path.join(path, entry, name) for name in _FILES]
            there = [file for file in files if os.path.isfile(file)]
            if there:
                versions[int(entry)] = _File(there[0])
    if not versions:
        raise FormatError(
            f"no model version in it. Create a folder named by a number, with {' or '.join(_FILES)}",
            file=path,
        )
    return versions


class _File:
    def __init__(self, path: str) -> None:
        self.path = path

    def load(self, threads: int = 0, runtime: str = "auto") -> LoadedModel:
        return load_model_file(self.path, threads, runtime)
