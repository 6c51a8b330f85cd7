"""What a Cell keeps and gives back: buffers, ``state_dict`` and ``load_state_dict`` with their hooks."""

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
    """What ``load_state_dict`` did not find, and what it could not place."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class CellState:
    """The part of Cell that holds its state."""

    _params: OrderedDict[str, Any]
    _cells: OrderedDict[str, Any]
    _buffers: OrderedDict[str, Tensor | None]
    # names of buffers that state_dict leaves out; most cells have none
    _non_persistent_buffers: frozenset[str] = frozenset()
    # hooks by when they are called; made when the first one comes
    _state_hooks: dict[str, dict[int, Callable[..., Any]]] | None = None

    # --- buffers ---------------------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that is part of the state and is not trained; ``state_dict`` leaves it out unless `persistent`.

        A buffer is written in place (``self.mean.copy_(x)``), so that a recorded step sees it.

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
        """Every buffer with its path; each once unless `remove_duplicate` is off."""
        seen: set[int] = set()
        cells = self._cell().cells_and_names(name_prefix=prefix) if recurse else [(prefix, self._cell())]
        for path, cell in cells:
            for name, buffer in cell._buffers.items():
                if buffer is None or (remove_duplicate and id(buffer) in seen):
                    continue
                seen.add(id(buffer))
                yield (f"{path}.{name}" if path else name), buffer

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer, of children too unless `recurse` is off."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as ``"block.norm.mean"``."""
        path, _, name = target.rpartition(".")
        owner = self.get_sub_cell(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        found = owner._buffers.get(name)
        if found is None:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def get_sub_cell(self, target: str) -> Cell:
        """The Cell at a path such as ``"block.norm"``; this one where the path is empty."""
        found = self._cell()
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{type(found).__name__} has no attribute `{name}`")
            inner = getattr(found, name)
            if not isinstance(inner, CellState):
                raise AttributeError(f"`{name}` is not an nn.Cell")
            found = inner._cell()
        return found

    # --- state_dict ------------------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """What ``state_dict`` keeps besides parameters and buffers; a Cell that has such a thing writes its own."""
        raise OperationError("Reached a code path in Cell.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Take back what :meth:`get_extra_state` gave."""
        raise OperationError("Reached a code path in Cell.set_extra_state() that should never be called.")

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Every parameter and persistent buffer by its path. They are the Cell's own, not copies.

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
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination") if destination is None else destination
            prefix = given.get("prefix", "") if prefix == "" else prefix
            keep_vars = bool(given.get("keep_vars", keep_vars))
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        known = getattr(destination, "_metadata", None)
        metadata: dict[str, Any] = {}
        if known is not None:
            known[prefix[:-1]] = metadata
        for hook in self._hooks_of("before_saving"):
            hook(self, prefix, keep_vars)
        self._save_own(destination, prefix)
        for name, child in self._cells.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._hooks_of("after_saving"):
            if hook(self, destination, prefix, metadata) is not None:
                raise OperationError("state_dict post-hook must return None")
        return destination

    def _save_own(self, destination: Any, prefix: str) -> None:
        for name, value in self._own_state():
            destination[prefix + name] = value
        if type(self).get_extra_state is not CellState.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and persistent buffers of this Cell alone."""
        for name, value in self._params.items():
            if value is not None:
                yield name, value
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers:
                yield name, buffer

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Write what :meth:`state_dict` gave into parameters and buffers, in place and in their element types.

        Says what was missing and what found no place; with `strict` either is an error. A wrong shape always is one.

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
        copied = OrderedDict(state_dict)  # hooks may change it; the user's stays as it is
        metadata = getattr(state_dict, "_metadata", None) or {}
        answer = IncompatibleKeys(missing, unexpected)
        self._load_all(copied, "", metadata, (missing, unexpected, errors), answer)
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            lines = "\n\t".join(errors)
            raise OperationError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return answer

    def _load_all(
        self,
        state: OrderedDict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        found: tuple[list[str], list[str], list[str]],
        answer: IncompatibleKeys,
    ) -> None:
        for hook in self._hooks_of("before_loading"):
            hook(self, state, prefix, metadata.get(prefix[:-1], {}), True, *found)
        self._load_own(state, prefix, *found)
        for name, child in self._cells.items():
            if child is not None:
                child._load_all(state, f"{prefix}{name}.", metadata, found, answer)
        for hook in self._hooks_of("after_loading"):
            if hook(self, answer) is not None:
                raise OperationError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def _load_own(
        self,
        state: OrderedDict[str, Any],
        prefix: str,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        own = dict(self._own_state())
        for name, value in own.items():
            key = prefix + name
            if key in state:
                problem = _write(key, value, state[key])
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
                known = (first in own and not dot) or (first == _EXTRA and not dot and extra)
                if not known and not (dot and self._cells.get(first) is not None):
                    unexpected.append(key)

    # --- hooks -----------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Have ``hook(cell, prefix, keep_vars)`` called before ``state_dict`` collects."""
        return self._add_state_hook("before_saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Have ``hook(cell, state_dict, prefix, metadata)`` called after ``state_dict``; it may change the dict."""
        return self._add_state_hook("after_saving", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Have a hook called before loading, with the Cell and seven more: the dict, the prefix, its metadata, whether
        loading is strict, and the lists of missing keys, unexpected keys and errors.
        """
        return self._add_state_hook("before_loading", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Have ``hook(cell, incompatible_keys)`` called after loading; it may empty or fill the two lists in place."""
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
        """This object, as what it is."""
        return self  # type: ignore[return-value]


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _write(key: str, place: Tensor, given: Any) -> str:
    """Write a value into a parameter or buffer; what is wrong with it, if anything."""
    if not isinstance(given, Tensor):
        return (
            f'While copying the parameter named "{key}", expected Tensor or Tensor-like object from checkpoint '
            f"but received {type(given)}"
        )
    if given.shape != place.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
            f"the shape in current model is {place.shape}."
        )
    if isinstance(place, Parameter):
        place.set_data(given)
        return ""
    with torch.no_grad():
        place._torch.copy_(given._torch)
    return ""
