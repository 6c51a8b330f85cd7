"""``load_param_into_net``: load saved values into parameters by name."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ParameterMismatch
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.distributed.parallel_context import get_auto_parallel_context
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["check_single_process", "load_values", "load_param_into_net"]

log = get_logger(__name__)

# Values are converted to the parameter's dtype within each group, unless `strict_load` is set.
_FAMILIES: tuple[set[DType], ...] = (
    {mstype.float16, mstype.float32, mstype.float64, mstype.bfloat16},
    {mstype.int8, mstype.int16, mstype.int32, mstype.int64},
)


@public("train", "millrace")
def load_param_into_net(
    net: Cell,
    parameter_dict: dict[str, Any],
    strict_load: bool = False,
    remove_redundancy: bool = False,
) -> tuple[list[str], list[str]]:
    """Load saved values into the parameters of a network; returns the unmatched names of both sides.

    Floats and signed integers are converted to the width of the parameter, unless ``strict_load``; without it, names
    that differ by one prefix are matched too. A value of another shape is an error that names both shapes.

    >>> from millrace import Parameter, Tensor, nn
    >>> saved = {"weight": Parameter(Tensor([[1.0, 2.0]])), "moments.weight": Parameter(Tensor([[0.0, 0.0]]))}
    >>> load_param_into_net(nn.Dense(2, 1), saved)
    (['bias'], ['moments.weight'])
    """
    return load_values(net, parameter_dict, strict_load, remove_redundancy)


def load_values(
    net: Any, values: Any, strict: bool, redundancy: bool, file: str = ""
) -> tuple[list[str], list[str]]:
    """Load values of a file; errors name the file."""
    _check_arguments(net, values, strict, redundancy)
    missing: list[str] = []
    left = list(values)
    for _, param in net.parameters_and_names():
        saved = values.get(param.name)
        if isinstance(saved, Parameter):
            _assign_value(param, saved, param.name, strict, file)
            left.remove(param.name)
        elif saved is None and not param.name.startswith("accu_grads"):
            missing.append(param.name)
    if missing and not strict:
        _load_by_prefix(net, values, missing, file)
    if missing:
        log.warning(
            "load_param_into_net: %d parameters of the network are not in the checkpoint and keep their values: %s",
            len(missing),
            missing,
        )
    return missing, left


def _check_arguments(net: Any, saved: Any, strict: Any, redundancy: Any) -> None:
    if not isinstance(net, Cell):
        raise ArgumentTypeError(
            f"For 'load_param_into_net', the argument 'net' should be a Cell, but got {type(net)}."
        )
    if not isinstance(saved, dict):
        raise ArgumentTypeError(
            f"For 'load_param_into_net', the argument 'parameter_dict' should be a dict, but got {type(saved)}."
        )
    for name, value in saved.items():
        if not isinstance(name, str) or not isinstance(value, (Parameter, str, list)):
            raise ArgumentTypeError(
                "For 'parameter_dict', the element in the argument 'parameter_dict' should be a 'str' and "
                f"'Parameter' , but got {type(name)} and {type(value)}."
            )
    for value in (strict, redundancy):
        if not isinstance(value, bool):
            raise ArgumentTypeError(f"The input value must be a bool, but got {type(value).__name__}.")
    if redundancy:
        check_single_process("loading")


def check_single_process(what: str) -> None:
    """Refuse ``remove_redundancy`` in a single process: it omits parameters that other ranks save."""
    if get_auto_parallel_context("device_num") == 1:
        raise ArgumentTypeError(
            f"The deduplication feature for {what} checkpoint can only be used in parallel scenarios, but got "
            "stand_alone. Omit remove_redundancy."
        )


def _assign_value(param: Parameter, saved: Parameter, name: str, strict: bool, file: str) -> None:
    values = saved._torch
    where = f" The file: {file}." if file else ""
    renamed = f" (saved as {name!r})" if name != param.name else ""
    if param.shape != saved.shape:
        # files of other hardware may have trailing axes of length 1
        if saved.shape[: param.ndim] != param.shape or any(n != 1 for n in saved.shape[param.ndim :]):
            raise ParameterMismatch(
                f"For 'load_param_into_net', {param.name} in the argument 'net' should have the same shape as "
                f"{param.name} in the argument 'parameter_dict'. But got its shape {param.shape} in the argument "
                f"'net' and shape {saved.shape} in the argument 'parameter_dict'{renamed}. Build the network as it was "
                f"when it was saved, or skip this parameter with choice_func.{where}"
            )
        values = values.reshape(param.shape)
    if param.dtype != saved.dtype:
        if strict or not any({param.dtype, saved.dtype} <= family for family in _FAMILIES):
            fix = " Load it with strict_load=False to convert it." if strict else ""
            raise ParameterMismatch(
                f"For 'load_param_into_net', {param.name} in the argument 'net' should have the same type as "
                f"{param.name} in the argument 'parameter_dict'. but got its type {param.dtype} in the argument "
                f"'net' and type {saved.dtype} in the argument 'parameter_dict'{renamed}.{fix}{where}"
            )
        log.info("%s is converted from %s to %s", param.name, saved.dtype, param.dtype)
    param.set_data(values)


def _load_by_prefix(net: Cell, saved: dict[str, Any], missing: list[str], file: str) -> None:
    """Match values whose names have one additional prefix, as of a network inside another cell."""
    while missing:
        prefix = next(
            (
                name[: -len(wanted)]
                for wanted in missing
                for name, value in saved.items()
                if name.endswith(wanted) and isinstance(value, Parameter)
            ),
            None,
        )
        before = len(missing)
        for _, param in net.parameters_and_names() if prefix is not None else ():
            value = saved.get(f"{prefix}{param.name}")
            if param.name in missing and isinstance(value, Parameter):
                _assign_value(param, value, f"{prefix}{param.name}", False, file)
                missing.remove(param.name)
        if len(missing) == before:
            return
        log.warning("load_param_into_net: names were matched without their prefix %r", prefix)
