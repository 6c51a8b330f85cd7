"""Entries of a checkpoint: names with tensors or strings, from any object that can be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.log import get_logger
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.tensor.generator import Generator
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.storage import DTYPES_FROM_TORCH, TORCH_DTYPES, as_torch_tensor

__all__ = ["DTYPES_BY_NAME", "TEXT", "StateEntry", "append_dict_entries", "entries_of", "on_host", "raw"]

log = get_logger(__name__)

TEXT = "str"
# Dtype name in a file -> dtype. MindSpore writes complex numbers but cannot read them; Millrace can.
DTYPES_BY_NAME: dict[str, DType] = {str(dtype): dtype for dtype in TORCH_DTYPES}

Choice = Callable[[str], Any] | None


class StateEntry(NamedTuple):
    """One value to write: a PyTorch tensor, or the bytes of a string."""

    name: str
    element_type: str
    dims: tuple[int, ...]
    data: torch.Tensor | bytes

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return (
            len(self.data) if isinstance(self.data, bytes) else self.data.numel() * self.data.element_size()
        )


def entries_of(save_obj: Any, choice: Choice = None) -> list[StateEntry]:
    """The entries of a Cell, a list or a dict, in MindSpore's order; ``choice`` selects names."""
    wanted = [(name, value) for name, value in _named_values(save_obj) if choice is None or choice(name)]
    return _remove_duplicates(_create_entry(name, value) for name, value in wanted)


def _named_values(save_obj: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(save_obj, Cell):
        for _, param in save_obj.parameters_and_names():
            yield param.name, param
    elif isinstance(save_obj, dict):
        for name, value in save_obj.items():
            if not isinstance(name, str) or not isinstance(value, (Tensor, np.ndarray, str)):
                raise ArgumentTypeError(
                    "For save_checkpoint, when save_obj is made up by dict, the key should be str and value should be "
                    f"Parameter, but got the type of key is {type(name)} and the type of value is {type(value)}"
                )
            yield name, value
    elif isinstance(save_obj, list):
        yield from _listed_values(save_obj)
    else:
        raise ArgumentTypeError(
            "For 'save_checkpoint', the parameter 'save_obj' must be nn.Cell, list or dict, "
            f"but got {type(save_obj)}."
        )


def _listed_values(items: list[Any]) -> Iterator[tuple[str, Any]]:
    """Names and values of a list of parameters, or of dicts with "name" and "data"."""
    for item in items:
        if not isinstance(items[0], dict):
            if not isinstance(item, Parameter):
                raise ArgumentTypeError(
                    "For save_checkpoint, when save_obj is made up by list of Parameter,"
                    f"the param should be parameter, but got {type(item)}"
                )
            yield item.name, item
            continue
        if not isinstance(item, dict) or not {"name", "data"} <= item.keys():
            raise ArgumentTypeError(
                "For save_checkpoint, save_obj should be a list of dict items, and the dict should have key values "
                f"'name' and 'value', but got {type(item)} and {item}."
            )
        for part, expected_type, description in (("name", str, "string"), ("data", Tensor, "parameter")):
            if not isinstance(item[part], expected_type):
                raise ArgumentTypeError(
                    f"For save_checkpoint, when save_obj is a list of dict items, the {part} in dict should be "
                    f"{description}, but got {type(item[part])}."
                )
        yield item["name"], item["data"]


def append_dict_entries(append_dict: Any) -> list[StateEntry]:
    """The entries of ``append_dict``: numbers become 0-d tensors, generators their state."""
    if append_dict is None:
        return []
    if not isinstance(append_dict, dict):
        raise ArgumentTypeError(
            f"For 'save_checkpoint', the argument 'append_dict' must be dict, but got {type(append_dict)}."
        )
    entries = []
    for name, value in append_dict.items():
        if not isinstance(name, str) or not isinstance(value, (int, float, bool, str, Tensor, Generator)):
            raise ArgumentTypeError(
                "For 'save_checkpoint', the type of dict 'append_info' must be key: string, value: int, float, bool "
                f"or Generator, but got key: {type(name)}, value: {type(value)}"
            )
        entries.append(_create_entry(name, value.get_state() if isinstance(value, Generator) else value))
    return entries


def _create_entry(name: str, value: Any) -> StateEntry:
    if isinstance(value, str):
        # at least one character, as in numpy: the empty string is a NUL
        return StateEntry(name, TEXT, (0,), (value or "\0").encode("utf-32-le", "surrogatepass"))
    if isinstance(value, Tensor) and value.dtype is mstype.string:
        raise ArgumentTypeError(
            f"For 'save_checkpoint', {name!r} is a tensor of texts, which no checkpoint can hold; give a str."
        )
    data = as_torch_tensor(Tensor(value) if isinstance(value, (bool, int, float)) else value).detach()
    return StateEntry(name, str(DTYPES_FROM_TORCH[data.dtype]), tuple(data.shape), data)


def _remove_duplicates(entries: Iterable[StateEntry]) -> list[StateEntry]:
    """Keep the later of two values with one name, at the position of the first, as in MindSpore; logs a warning."""
    by_name: dict[str, StateEntry] = {}
    for entry in entries:
        if entry.name in by_name and by_name[entry.name].data is not entry.data:
            log.warning(
                "two values are named %r: only the later one is saved. Name the parameters apart", entry.name
            )
        by_name[entry.name] = entry
    return list(by_name.values())


def on_host(data: torch.Tensor) -> torch.Tensor:
    """The tensor in C order in host memory; the tensor itself if it already is."""
    if data.is_conj() or data.is_neg():
        data = data.resolve_conj().resolve_neg()
    return data.cpu().contiguous()


def raw(data: torch.Tensor | bytes) -> memoryview:
    """The bytes of a tensor in host memory, without a copy."""
    if isinstance(data, bytes):
        return memoryview(data)
    plain: Any = data.reshape(-1).view(torch.uint8).numpy()
    return memoryview(plain)
