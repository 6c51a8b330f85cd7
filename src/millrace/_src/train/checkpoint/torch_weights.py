"""Read PyTorch weight files (``.pth``, ``.pt``) as data only, and map parameter names between PyTorch and MindSpore."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import torch

from millrace._src.core.errors import CheckpointError

__all__ = ["ENDINGS", "read_torch", "parameter_role", "to_millrace", "to_torch"]

ENDINGS = (".pth", ".pt", ".bin")
# Common keys of the weights in saved dicts.
_INSIDE = ("state_dict", "model_state_dict", "model", "net", "network", "module", "params", "weights", "ema")
# Last component of a name -> role of the parameter, for both frameworks.
_ROLES = {
    "gamma": "weight",
    "embedding_table": "weight",
    "a": "weight",  # of PReLU
    "beta": "bias",
    "running_mean": "moving_mean",
    "running_var": "moving_variance",
}
_BACK = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "embedding_table": "weight",
}


def read_torch(path: Path) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Tensors of a PyTorch file by name, and the names of other objects. No code in the file is executed."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=_is_zip(path))
    except Exception as error:  # PyTorch's parsers raise arbitrary errors
        reason = (str(error) or type(error).__name__).splitlines()[0]
        if isinstance(error, pickle.UnpicklingError) and "GLOBAL" in str(error).upper():
            raise CheckpointError(
                f"{path} contains more than weights and is not loaded, since that could execute code. Save "
                f"model.state_dict() instead of the model. PyTorch's error: {reason}"
            ) from None
        raise CheckpointError(f"{path} is no whole file of PyTorch: {reason}") from None
    return _split_tensors(_find_state_dict(content), path)


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _find_state_dict(content: Any) -> Any:
    """Find the dict of tensors in the contents of a file."""
    while isinstance(content, dict) and not any(
        isinstance(value, torch.Tensor) for value in content.values()
    ):
        inner = next((content[name] for name in _INSIDE if isinstance(content.get(name), dict)), None)
        if inner is None:
            break
        content = inner
    return content


def _split_tensors(content: Any, path: Path) -> tuple[dict[str, torch.Tensor], list[str]]:
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} holds a {type(content).__name__}, not tensors by name (a state_dict).")
    tensors = {str(name): value for name, value in content.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        raise CheckpointError(
            f"{path} holds no tensors by name; its entries are {list(map(str, content))[:8]}."
        )
    return tensors, [str(name) for name in content if str(name) not in tensors]


def parameter_role(name: str) -> tuple[str, str]:
    """Layer and role of a parameter, equal for both frameworks.

    >>> parameter_role("net.bn.gamma"), parameter_role("net.bn.weight")
    (('net.bn', 'weight'), ('net.bn', 'weight'))
    """
    layer, _, last = name.rpartition(".")
    return layer, _ROLES.get(last, last)


def to_millrace(tensors: dict[str, torch.Tensor]) -> dict[str, str]:
    """Map PyTorch's names to MindSpore's by names and shapes; batch counters are omitted.

    A 1-d weight with a bias belongs to a normalization layer; a weight in a layer named "emb..." is an embedding table.

    >>> to_millrace(
    ...     {"bn.weight": torch.ones(2), "bn.running_mean": torch.ones(2), "emb.weight": torch.ones(3, 2)}
    ... )
    {'bn.weight': 'bn.gamma', 'bn.running_mean': 'bn.moving_mean', 'emb.weight': 'emb.embedding_table'}
    """
    new_names = {}
    for name, tensor in tensors.items():
        layer, dot, last = name.rpartition(".")
        if last == "num_batches_tracked":
            continue
        has_bias = f"{layer}{dot}bias" in tensors
        weight = tensors.get(f"{layer}{dot}weight")
        normal = f"{layer}{dot}running_mean" in tensors or (
            weight is not None and weight.ndim == 1 and has_bias
        )
        if last in ("running_mean", "running_var"):
            last = _ROLES[last]
        elif normal and last in ("weight", "bias"):
            last = {"weight": "gamma", "bias": "beta"}[last]
        elif (
            last == "weight"
            and tensor.ndim == 2
            and not has_bias
            and re.search(r"emb", layer.rpartition(".")[2])
        ):
            last = "embedding_table"
        new_names[name] = f"{layer}{dot}{last}"
    return new_names


def to_torch(names: list[str]) -> dict[str, str]:
    """Map MindSpore's names to PyTorch's.

    >>> to_torch(["bn.gamma", "bn.moving_variance", "fc.weight"])
    {'bn.gamma': 'bn.weight', 'bn.moving_variance': 'bn.running_var', 'fc.weight': 'fc.weight'}
    """
    new_names = {}
    for name in names:
        layer, dot, last = name.rpartition(".")
        new_names[name] = f"{layer}{dot}{_BACK.get(last, last)}"
    return new_names
