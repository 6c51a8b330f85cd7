"""``Parameter``: a trainable tensor with a name. It keeps one storage; every write is in place."""

from __future__ import annotations

import copy
import itertools
import os
from collections.abc import Iterable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed.parallel_context import get_ps_context

from .backend import execution_mode as modes
from .device_placement import to_context_device
from .initializer import resolve_initializer
from .method_binding import bind_tensor_methods
from .storage import DTYPES_FROM_TORCH, allocate_storage, as_torch_tensor, wrap

__all__ = ["Parameter", "ParameterTuple"]

bind_tensor_methods()

_name_counter = itertools.count(1)
_MAX_NAME_LENGTH = 1024


class CheckedAttribute:
    """A validated attribute of a parameter."""

    def __init__(
        self, default: Any, types: type | tuple[type, ...], text: str, least: int | None = None
    ) -> None:
        self._default, self._types, self._text, self._least = default, types, text, least

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else instance.__dict__.get(self._name, self._default)

    def __set__(self, instance: Any, value: Any) -> None:
        wrong = not isinstance(value, self._types) or (isinstance(value, bool) and self._types is int)
        if wrong:
            raise ArgumentTypeError(self._text.format(kind=type(value).__name__))
        if self._least is not None and value < self._least:
            raise ArgumentValueError(
                f"The input value must be int and must >= {self._least}, but got '{value}' with type "
                f"'{type(value).__name__}'."
            )
        instance.__dict__[self._name] = value


@public("millrace", "common.parameter")
class Parameter(Tensor):
    """A trainable tensor of a Cell. It has its own memory, whatever it was created from.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> weight.set_data(Tensor([3.0, 4.0])).asnumpy().tolist()
    [3.0, 4.0]
    """

    __slots__ = ()

    layerwise_parallel = CheckedAttribute(False, bool, "The argument `layerwise_parallel` must be bool type.")
    parallel_optimizer = CheckedAttribute(True, bool, "The argument `parallel_optimizer` must be bool type.")
    parallel_optimizer_comm_recompute = CheckedAttribute(
        False, bool, "The input value must be a bool, but got {kind}."
    )
    comm_fusion = CheckedAttribute(1, int, "The input value must be int, but got '{kind}'", least=0)
    cache_enable = CheckedAttribute(False, bool, "The argument `cache_enable` must be bool type.")
    cache_shape: Any = CheckedAttribute(
        [], (tuple, list), "The argument `cache_shape` must be tuple or list type."
    )
    key = CheckedAttribute(-1, int, "The argument `key` must be int type.")
    unique = sliced = is_init = is_param_ps = init_in_server = is_in_parallel = False
    requires_aggr = True

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
        self.is_named = bool(name)
        self.name = name  # checked before memory is allocated
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer
        if isinstance(default_input, int) and not isinstance(default_input, bool):
            self._torch = torch.tensor(default_input, dtype=torch.int32)
        elif (
            isinstance(default_input, Tensor)
            and default_input.has_init
            and modes.thread_state.defer_initialization
        ):
            self._dtype = default_input._dtype
            self.__dict__.update(
                _lazy=default_input.__dict__["_lazy"], init=default_input.init, _place=to_context_device
            )
        elif isinstance(default_input, Tensor) and default_input.has_init:
            self._torch = default_input._torch  # newly allocated for this parameter
        else:
            self._torch = as_torch_tensor(default_input).detach().clone()
        if not self.has_init:
            self._torch = to_context_device(self._torch)
        self.storage_format = storage_format

    @property
    def requires_grad(self) -> bool:
        """Whether training updates the parameter."""
        return bool(self.__dict__["_requires_grad"])

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not isinstance(wanted, bool):
            raise ArgumentTypeError("The argument `requires_grad` must be bool type")
        self.__dict__["_requires_grad"] = wanted
        modes.invalidate_captures()

    @property
    def name(self) -> str:
        """The name; generated if none was given."""
        return str(self.__dict__["_name"])

    @name.setter
    def name(self, wanted: str | None) -> None:
        if wanted is not None and not isinstance(wanted, str):
            raise ArgumentValueError(
                f"The type of the Parameter's name should be 'string' or 'None', but got {type(wanted)}."
            )
        if wanted is not None and len(wanted) > _MAX_NAME_LENGTH:
            raise ArgumentValueError(
                f"The length of the '{wanted[:40]}...' name should be less than {_MAX_NAME_LENGTH}, "
                f"but got {len(wanted)}."
            )
        self.__dict__["_name"] = wanted if wanted and wanted.strip() else f"Parameter#{next(_name_counter)}"

    @property
    def inited_param(self) -> None:
        """The parameter that replaced this one at initialization: None, since parameters are initialized in
        place.
        """
        return None

    @property
    def param_info(self) -> Parameter:
        """MindSpore's metadata of a parameter; here it is stored in the parameter itself."""
        return self

    def add_pipeline_stage(self, stage: int) -> None:
        """Store a pipeline stage that uses this parameter."""
        if not isinstance(stage, int) or isinstance(stage, bool) or stage < 0:
            raise ArgumentTypeError("`stage` must be a positive number of int type")
        self.__dict__.setdefault("pipeline_stages", []).append(stage)

    def set_param_ps(self, init_in_server: bool = False) -> None:
        """Store the parameter on a parameter server; needs ``set_ps_context(enable_ps=True)``."""
        if not get_ps_context("enable_ps") or not os.environ.get("MS_ROLE"):
            raise OperationError(
                "Must complete following two steps before calling set_param_ps: \n1. set_ps_context(enable_ps=True) \n"
                "2. export MS_ROLE environment variable"
            )
        self.is_param_ps, self.init_in_server = True, init_in_server

    def set_param_fl(
        self, push_to_server: bool = False, pull_from_server: bool = False, requires_aggr: bool = True
    ) -> None:
        """Store federated-learning options, which have no effect."""
        self.__dict__.update(
            push_to_server=push_to_server, pull_from_server=pull_from_server, requires_aggr=requires_aggr
        )

    def capture_key(self) -> Any:
        """What a capture that uses the parameter depends on: its storage, and whether it is trained."""
        return id(self._torch), self.requires_grad

    @property
    def data(self) -> Parameter:
        """The parameter itself; assignment writes its values."""
        return self

    @data.setter
    def data(self, values: Any) -> None:
        self.set_data(values)

    def value(self) -> Tensor:
        """The values, as a tensor that shares the memory."""
        return wrap(self._torch)

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Write values in the parameter's dtype. A new shape allocates a new storage, which invalidates
        captures.
        """
        new = as_torch_tensor(data)
        if self.has_init and new.shape == self.shape:
            allocate_storage(self)  # the values are overwritten, so the initializer does not run
        with torch.no_grad():
            if new.shape == self._torch.shape:
                self._torch.copy_(new)
            else:
                modes.invalidate_captures()
                self._torch = new.detach().to(self._torch.device, self._torch.dtype, copy=True)
        return self

    def assign_value(self, value: Any) -> Parameter:
        """Write values."""
        return self.set_data(value)

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """The parameter itself: it was initialized on creation."""
        return self

    def clone(self, init: Any = "same") -> Parameter:
        """A copy with the same name and separate memory: the same values, or those of an initializer."""
        parameter = copy.copy(self)
        if init != "same":
            resolve_initializer(init).fill(parameter._torch)
        return parameter

    def copy(self) -> Parameter:
        """A copy with separate memory."""
        return self.clone()

    def __copy__(self) -> Parameter:
        parameter = Parameter.__new__(type(self))
        parameter.__dict__.update(self.__dict__)
        parameter._torch = self._torch.detach().clone()
        return parameter

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        parameter = self.__copy__()
        memo[id(self)] = parameter
        return parameter

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._array, DTYPES_FROM_TORCH[self._torch.dtype], dict(self.__dict__))

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, "
            f"requires_grad={self.requires_grad})"
        )

    __str__ = __repr__
    __hash__ = object.__hash__


def _rebuild(cls: type[Parameter], array: Any, dtype: Any, state: dict[str, Any]) -> Parameter:
    parameter = Parameter.__new__(cls)
    parameter.__dict__.update(state)
    parameter._torch = to_context_device(Tensor._wrap(array, dtype)._torch.clone())
    return parameter


@public("millrace", "common.parameter")
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
        """Copies whose names begin with a prefix."""
        if not isinstance(prefix, str):
            raise ArgumentTypeError(
                f"For 'clone', the argument 'prefix' must be str, but got {type(prefix)}."
            )
        parameters = []
        for item in self:
            parameter = item.clone(init)
            parameter.name = f"{prefix}.{item.name}"
            parameters.append(parameter)
        return ParameterTuple(parameters)
