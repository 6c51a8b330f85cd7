"""``Parameter``: a tensor with a name that training changes. It owns one storage for life; every write is in place."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from typing import Any

import torch

from millrace.core.errors import ArgumentTypeError, ArgumentValueError
from millrace.core.tensor import Tensor

from . import modes
from .attach import attach
from .device import place
from .initializer import find
from .storage import FROM_TORCH, make, wrap

__all__ = ["Parameter", "ParameterTuple"]

attach()

_numbers = itertools.count(1)


class Parameter(Tensor):
    """A tensor that belongs to a Cell and is trained. It has memory of its own, whatever it was made from.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> weight.set_data(Tensor([3.0, 4.0])).asnumpy().tolist()
    [3.0, 4.0]
    """

    __slots__ = ()

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
        device: str | None = None,
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise ArgumentValueError(
                f"The type of the Parameter's name should be 'string' or 'None', but got {type(name)}."
            )
        if not isinstance(requires_grad, bool):
            raise ArgumentTypeError("The argument `requires_grad` must be bool type")
        if isinstance(default_input, int) and not isinstance(default_input, bool):
            self._torch = torch.tensor(default_input, dtype=torch.int32)
        elif isinstance(default_input, Tensor) and default_input.has_init:
            self._torch = default_input._torch  # made a moment ago, for this parameter alone
        else:
            self._torch = make(default_input).detach().clone()
        self._torch = place(self._torch)
        number = next(_numbers)
        self.is_named = bool(name)
        self.name = name or f"Parameter#{number}"
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer
        self.storage_format = storage_format
        self.key = -1
        self.unique = self.cache_enable = self.sliced = self.is_init = False
        self.inited_param = None
        self.comm_fusion = self.parallel_optimizer_comm_recompute = 1

    @property
    def requires_grad(self) -> bool:
        """Whether training changes it."""
        return bool(self.__dict__["_requires_grad"])

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.__dict__["_requires_grad"] = wanted
        modes.changed()

    def graph_key(self) -> Any:
        """What a recording that uses it depends on: its storage, and whether it is trained."""
        return id(self._torch), self.requires_grad

    @property
    def data(self) -> Parameter:
        """The parameter itself; assigning writes its values."""
        return self

    @data.setter
    def data(self, values: Any) -> None:
        self.set_data(values)

    def value(self) -> Tensor:
        """The values, as a tensor on the same memory."""
        return wrap(self._torch)

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Write values, in the parameter's element type. Another shape gives another storage, which graphs notice."""
        new = make(data)
        with torch.no_grad():
            if new.shape == self._torch.shape:
                self._torch.copy_(new)
            else:
                modes.changed()
                self._torch = new.detach().to(self._torch.device, self._torch.dtype, copy=True)
        return self

    def assign_value(self, value: Any) -> Parameter:
        """Write values."""
        return self.set_data(value)

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """The parameter: its values were taken when it was made."""
        return self

    def clone(self, init: Any = "same") -> Parameter:
        """Another parameter of the same name with memory of its own: the same values, or those of an initialiser."""
        made = copy.copy(self)
        if init != "same":
            find(init).fill(made._torch)
        return made

    def copy(self) -> Parameter:
        """Another parameter with memory of its own."""
        return self.clone()

    def __copy__(self) -> Parameter:
        made = Parameter.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._torch = self._torch.detach().clone()
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        made = self.__copy__()
        memo[id(self)] = made
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._array, FROM_TORCH[self._torch.dtype], dict(self.__dict__))

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, "
            f"requires_grad={self.requires_grad})"
        )

    __str__ = __repr__
    __hash__ = object.__hash__


def _rebuild(cls: type[Parameter], array: Any, dtype: Any, state: dict[str, Any]) -> Parameter:
    made = Parameter.__new__(cls)
    made.__dict__.update(state)
    made._torch = Tensor._wrap(array, dtype)._torch.clone()
    return made


class ParameterTuple(tuple[Parameter, ...]):
    """A tuple of parameters."""

    def __new__(cls, iterable: Iterable[Parameter]) -> ParameterTuple:
        items = tuple(iterable)
        for item in items:
            if not isinstance(item, Parameter):
                raise ArgumentTypeError(
                    "For ParameterTuple initialization, ParameterTuple input should be 'Parameter' collection, "
                    f"but got a {type(iterable)}. "
                )
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """Clones whose names begin with a prefix."""
        if not isinstance(prefix, str):
            raise ArgumentTypeError(
                f"For 'clone', the argument 'prefix' must be str, but got {type(prefix)}."
            )
        made = []
        for item in self:
            fresh = item.clone(init)
            fresh.name = f"{prefix}.{item.name}"
            made.append(fresh)
        return ParameterTuple(made)
