"""State of a Cell: buffers, ``state_dict`` and ``load_state_dict`` with their hooks."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from millrace._src.core.errors import ArgumentTypeError, OperationError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.hook_handle import HookHandle, add_hook
from millrace._src.runtime.tensor.parameter import Parameter

if TYPE_CHECKING:
    from .cell import Cell

__all__ = ["CellState", "IncompatibleKeys"]

_EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """Missing and unexpected keys of ``load_state_dict``."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class CellState:
    """The state part of Cell."""

    _params: OrderedDict[str, Any]
    _cells: OrderedDict[str, Any]
    _buffers: OrderedDict[str, Tensor | None]
    # names of buffers that state_dict skips; most Cells have none
    _non_persistent_buffers: frozenset[str] = frozenset()
    # hooks by stage; created with the first hook
    _state_hooks: dict[str, dict[int, Callable[..., Any]]] | None = None

    # --- buffers ---------------------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is part of the state and is not trained; ``state_dict`` skips it unless
        `persistent`.

        Write to a buffer in place (``self.mean.copy_(x)``), so that a captured step sees it.

        >>> from millrace import nn
        >>> cell = nn.Cell()
        >>> cell.register_buffer("mean", Tensor([0.0, 0.0]))
        >>> list(cell.state_dict()), cell.mean.shape
        (['mean'], (2,))
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Cell.__init__() call")
        if not isinstance(name, str):
            raise ArgumentTypeError(f"buffer name should be a string.But got this type: {type(name)}")
        if "." in name:
            raise KeyError('buffer name can\'t contain "."')
        if not name:
            raise KeyError('buffer name can\'t be empty string ""')
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"cannot assign '{type(tensor)}' object to buffer '{name}' (mindspore Tensor or None required)"
            )
        self._buffers[name] = tensor
        self.__dict__["_non_persistent_buffers"] = (
            self._non_persistent_buffers - {name} if persistent else self._non_persistent_buffers | {name}
        )
        modes.invalidate_captures()

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over all buffers with their paths; each once unless `remove_duplicate` is False."""
        seen: set[int] = set()
        cells = self._cell().cells_and_names(name_prefix=prefix) if recurse else [(prefix, self._cell())]
        for path, cell in cells:
            for name, buffer in cell._buffers.items():
                if buffer is None or (remove_duplicate and id(buffer) in seen):
                    continue
                seen.add(id(buffer))
                yield (f"{path}.{name}" if path else name), buffer

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over all buffers, including those of children unless `recurse` is False."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as ``"block.norm.mean"``."""
        path, _, name = target.rpartition(".")
        owner = self.get_sub_cell(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        buffer = owner._buffers.get(name)
        if buffer is None:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    def get_sub_cell(self, target: str) -> Cell:
        """The Cell at a path such as ``"block.norm"``; this one for an empty path."""
        cell = self._cell()
        for name in target.split(".") if target else ():
            if not hasattr(cell, name):
                raise AttributeError(f"{type(cell).__name__} has no attribute `{name}`")
            inner = getattr(cell, name)
            if not isinstance(inner, CellState):
                raise AttributeError(f"`{name}` is not an nn.Cell")
            cell = inner._cell()
        return cell

    # --- state_dict ------------------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Additional state for ``state_dict``; a Cell with such state overrides this method."""
        raise OperationError("Reached a code path in Cell.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Restore the state of :meth:`get_extra_state`."""
        raise OperationError("Reached a code path in Cell.set_extra_state() that should never be called.")

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers by path. They are the Cell's objects, not copies.

        >>> from millrace import nn
        >>> list(nn.SequentialCell(nn.Dense(2, 3)).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: "
                "state_dict(destination=..., prefix=..., keep_vars=...)",
                FutureWarning,
                stacklevel=2,
            )
            positional = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = positional.get("destination") if destination is None else destination
            prefix = positional.get("prefix", "") if prefix == "" else prefix
            keep_vars = bool(positional.get("keep_vars", keep_vars))
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        known = getattr(destination, "_metadata", None)
        metadata: dict[str, Any] = {}
        if known is not None:
            known[prefix[:-1]] = metadata
        for hook in self._hooks_of("before_saving"):
            hook(self, prefix, keep_vars)
        self._save_cell_state(destination, prefix)
        for name, child in self._cells.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._hooks_of("after_saving"):
            if hook(self, destination, prefix, metadata) is not None:
                raise OperationError("state_dict post-hook must return None")
        return destination

    def _save_cell_state(self, destination: Any, prefix: str) -> None:
        for name, value in self._cell_state():
            destination[prefix + name] = value
        if type(self).get_extra_state is not CellState.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _cell_state(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and persistent buffers of this Cell alone."""
        for name, value in self._params.items():
            if value is not None:
                yield name, value
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers:
                yield name, buffer

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Load the result of :meth:`state_dict` into parameters and buffers, in place and in their dtypes.

        Returns missing and unexpected keys; with `strict` they are an error. A wrong shape is always an
        error.

        >>> from millrace import nn
        >>> one, other = nn.Dense(2, 3), nn.Dense(2, 3)
        >>> other.load_state_dict(one.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentTypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        copied = OrderedDict(state_dict)  # hooks may change the copy
        metadata = getattr(state_dict, "_metadata", None) or {}
        incompatible_keys = IncompatibleKeys(missing, unexpected)
        self._load_all(copied, "", metadata, (missing, unexpected, errors), incompatible_keys)
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            lines = "\n\t".join(errors)
            raise OperationError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return incompatible_keys

    def _load_all(
        self,
        state: OrderedDict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        key_lists: tuple[list[str], list[str], list[str]],
        incompatible_keys: IncompatibleKeys,
    ) -> None:
        for hook in self._hooks_of("before_loading"):
            hook(self, state, prefix, metadata.get(prefix[:-1], {}), True, *key_lists)
        self._load_cell_state(state, prefix, *key_lists)
        for name, child in self._cells.items():
            if child is not None:
                child._load_all(state, f"{prefix}{name}.", metadata, key_lists, incompatible_keys)
        for hook in self._hooks_of("after_loading"):
            if hook(self, incompatible_keys) is not None:
                raise OperationError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def _load_cell_state(
        self,
        state: OrderedDict[str, Any],
        prefix: str,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        cell_state = dict(self._cell_state())
        for name, value in cell_state.items():
            key = prefix + name
            if key in state:
                problem = _copy_value(key, value, state[key])
                errors += [problem] if problem else []
            else:
                missing.append(key)
        extra = type(self).set_extra_state is not CellState.set_extra_state
        if extra and prefix + _EXTRA in state:
            self.set_extra_state(state[prefix + _EXTRA])
        elif extra:
            missing.append(prefix + _EXTRA)
        for key in state:
            if key.startswith(prefix):
                first, dot, _ = key[len(prefix) :].partition(".")
                known = (first in cell_state and not dot) or (first == _EXTRA and not dot and extra)
                if not known and not (dot and self._cells.get(first) is not None):
                    unexpected.append(key)

    # --- hooks -----------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Register ``hook(cell, prefix, keep_vars)``, called before ``state_dict`` collects."""
        return self._add_state_hook("before_saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Register ``hook(cell, state_dict, prefix, metadata)``, called after ``state_dict``; it may change
        the dict.
        """
        return self._add_state_hook("after_saving", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Register a hook that is called before loading, with the Cell and seven arguments: the dict, the
        prefix, its metadata, whether loading is strict, and the lists of missing keys, unexpected keys and
        errors.
        """
        return self._add_state_hook("before_loading", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Register ``hook(cell, incompatible_keys)``, called after loading; it may change the two lists in
        place.
        """
        return self._add_state_hook("after_loading", hook)

    def _add_state_hook(self, when: str, hook: Callable[..., Any]) -> HookHandle:
        if not callable(hook):
            raise ArgumentTypeError(f"a hook must be callable, but got {hook!r}")
        if self._state_hooks is None:
            self.__dict__["_state_hooks"] = {}
        tables: dict[str, dict[int, Callable[..., Any]]] = self.__dict__["_state_hooks"]
        return add_hook(tables.setdefault(when, {}), hook)

    def _hooks_of(self, when: str) -> list[Callable[..., Any]]:
        return [] if self._state_hooks is None else list(self._state_hooks.get(when, {}).values())

    def _cell(self) -> Cell:
        """This object, typed as Cell."""
        return self  # type: ignore[return-value]


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _copy_value(key: str, target: Tensor, value: Any) -> str:
    """Copy a value into a parameter or buffer; returns an error text or ""."""
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{key}", expected Tensor or Tensor-like object from checkpoint '
            f"but received {type(value)}"
        )
    if value.shape != target.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {target.shape}."
        )
    if isinstance(target, Parameter):
        target.set_data(value)
        return ""
    with torch.no_grad():
        target._torch.copy_(value._torch)
    return ""
