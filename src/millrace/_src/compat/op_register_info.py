"""Descriptions of custom operations for MindSpore's kernels: inputs, outputs, attributes, types. They are checked,
stored on the function, and returned; they do not select kernels."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public

__all__ = [
    "AiCPURegOp",
    "AkgAscendRegOp",
    "AkgGpuRegOp",
    "CpuRegOp",
    "CustomRegOp",
    "DataType",
    "TBERegOp",
    "custom_info_register",
    "op_info_register",
]

_ELEMENT_TYPES = {
    "None": "", "BOOL": "bool", "I8": "int8", "U8": "uint8", "I16": "int16", "U16": "uint16", "I32": "int32",
    "U32": "uint32",
    "I64": "int64", "U64": "uint64", "F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16",
    "C64": "complex64", "C128": "complex128",
}  # fmt: skip
_FORMATS: dict[str, tuple[str, ...]] = {
    "None": ("",), "Default": ("DefaultFormat",), "Default_Tuple": ("DefaultFormat", "tuple"),
    "Default_List": ("DefaultFormat", "list"), "5HD": ("NC1HWC0",), "NC1HWC0": ("NC1HWC0",), "FracZ": ("FRACTAL_Z",),
    "FracNZ": ("FRACTAL_NZ",), "C1HWNCoC0": ("C1HWNCoC0",), "NCHW": ("NCHW",), "NHWC": ("NHWC",), "HWCN": ("HWCN",),
    "NDHWC": ("NDHWC",), "NCDHW": ("NCDHW",), "DHWCN": ("DHWCN",), "NDC1HWC0": ("NDC1HWC0",),
    "FRACTAL_Z_3D": ("FRACTAL_Z_3D",), "FracZNLSTM": ("FRACTAL_ZN_LSTM",), "FracZNRNN": ("FRACTAL_ZN_RNN",),
    "ND_RNNBIAS": ("ND_RNN_BIAS",), "ChannelLast": ("ChannelLast",),
}  # fmt: skip


@public("ops")
class DataType:
    """Dtypes with a layout: ``DataType.F32_Default`` is ("float32", "DefaultFormat").

    >>> DataType.I8_Default_Tuple
    ('int8', 'DefaultFormat', 'tuple')
    """


for _name, _element_type in _ELEMENT_TYPES.items():
    for _ending, _format in _FORMATS.items():
        setattr(DataType, f"{_name}_{_ending}", (_element_type, *_format))


class _RegOp:
    """Builder of a description; `get_op_info` returns it."""

    imply_type = ""

    def __init__(self, op_name: str) -> None:
        if not isinstance(op_name, str):
            raise ArgumentValueError(
                f"For '{type(self).__name__}', the name must be a str, but got {op_name!r}."
            )
        if not op_name.strip():
            raise ArgumentValueError(f"For '{type(self).__name__}', the name must not be empty.")
        self.op_name = op_name
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        self.attr_: list[dict[str, Any]] = []
        self.fusion_type_ = ""
        self.dtype_format_: list[tuple[Any, ...]] = []
        self.options: dict[str, Any] = {}

    def _entry(self, expected_types: Mapping[str, type], arguments: dict[str, Any]) -> dict[str, Any]:
        """Check the types of the arguments that are not None, and return them under the description's keys."""
        entry = {}
        for label, value in arguments.items():
            if value is None:
                continue
            expected_type = expected_types.get(label, object)
            if not isinstance(value, expected_type) or (expected_type is int and isinstance(value, bool)):
                raise ArgumentTypeError(
                    f"For '{type(self).__name__}' of {self.op_name!r}, '{label}' must be of type "
                    f"{expected_type.__name__}, but got "
                    f"{value!r}."
                )
            entry[_WRITTEN.get(label, label)] = value
        return entry

    def input(
        self, index: int | None = None, name: str | None = None, param_type: str | None = None, **kwargs: Any
    ) -> Any:
        """An input: its place and name, and
        whether it is "required", "optional" or "dynamic"."""
        self.inputs.append(
            self._entry(_PUT, {"index": index, "name": name, "param_type": param_type, **kwargs})
        )
        return self

    def output(
        self, index: int | None = None, name: str | None = None, param_type: str | None = None, **kwargs: Any
    ) -> Any:
        """An output, likewise."""
        self.outputs.append(
            self._entry(_PUT, {"index": index, "name": name, "param_type": param_type, **kwargs})
        )
        return self

    def attr(
        self, name: str | None = None, value_type: str | None = None, value: str | None = None, **kwargs: Any
    ) -> Any:
        """An attribute: its
        name, its type and the values it may have."""
        self.attr_.append(
            self._entry(_ATTR, {"name": name, "value_type": value_type, "value": value, **kwargs})
        )
        return self

    def dtype_format(self, *args: tuple[str, ...]) -> Any:
        """A supported combination of input and output dtypes, such as ``DataType.F32_Default``."""
        count = len(self.inputs) + len(self.outputs)
        if len(args) != count:
            raise ArgumentValueError(
                f"For '{type(self).__name__}' of {self.op_name!r}, there must be a type for each of {count} inputs and "
                f"outputs, but got {len(args)}."
            )
        self.dtype_format_.append(tuple(args))
        return self

    def fusion_type(self, fusion_type: str) -> Any:
        """How the operation may be fused with others."""
        self.fusion_type_ = self._entry({"fusion_type": str}, {"fusion_type": fusion_type})["fusion_type"]
        return self

    def get_op_info(self) -> dict[str, Any]:
        """The description."""
        description = {
            "op_name": self.op_name,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "attr": self.attr_,
            "fusion_type": self.fusion_type_,
            "dtype_format": self.dtype_format_,
        }
        return {**description, **({"imply_type": self.imply_type} if self.imply_type else {}), **self.options}


_PUT = {"index": int, "name": str, "param_type": str}
_ATTR = {"name": str, "param_type": str, "value_type": str, "value": str, "default_value": str}
_WRITTEN = {"param_type": "paramType", "value_type": "type", "default_value": "defaultValue"}


@public("ops")
class CpuRegOp(_RegOp):
    """A description for the CPU.

    >>> info = CpuRegOp("Mine").input(0, "x", "required").output(0, "y", "required")
    >>> info.dtype_format(DataType.F32_Default, DataType.F32_Default).get_op_info()["imply_type"]
    'CPU'
    """

    imply_type = "CPU"


@public("ops")
class AiCPURegOp(_RegOp):
    """A description for the CPU of an Ascend device.

    >>> AiCPURegOp("Mine").get_op_info()["imply_type"]
    'AiCPU'
    """

    imply_type = "AiCPU"


class _Kernel(_RegOp):
    def attr(  # type: ignore[override]
        self,
        name: str | None = None,
        param_type: str | None = None,
        value_type: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """An attribute: its name,
        whether it is required, and its type."""
        fields = {"name": name, "param_type": param_type, "value_type": value_type, **kwargs}
        self.attr_.append(self._entry(_ATTR, fields))
        return self


@public("ops")
class AkgGpuRegOp(_Kernel):
    """A description for a generated kernel on a GPU.

    >>> AkgGpuRegOp("Mine").get_op_info()["processor"]
    'CUDA'
    """

    imply_type = "AKG"

    def __init__(self, op_name: str) -> None:
        super().__init__(op_name)
        self.options["processor"] = "CUDA"


@public("ops")
class AkgAscendRegOp(_Kernel):
    """A description for a generated kernel on Ascend.

    >>> AkgAscendRegOp("Mine").get_op_info()["processor"]
    'AiCore'
    """

    imply_type = "AKG"

    def __init__(self, op_name: str) -> None:
        super().__init__(op_name)
        self.options["processor"] = "AiCore"


@public("ops")
class TBERegOp(_Kernel):
    """A description for a kernel of Ascend's compiler; its settings are stored.

    >>> TBERegOp("Mine").async_flag(False).get_op_info()["async_flag"]
    False
    """

    imply_type = "TBE"


def _option_setter(label: str, expected_type: type) -> Callable[..., Any]:
    def keep(self: _RegOp, value: Any) -> Any:
        self.options.update(self._entry({label: expected_type}, {label: value}))
        return self

    keep.__name__, keep.__doc__ = label, f"Keep '{label}'."
    return keep


for _label, _sort in {
    "async_flag": bool, "binfile_name": str, "compute_cost": int, "kernel_name": str, "partial_flag": bool,
    "reshape_type": str, "dynamic_rank_support": bool, "dynamic_shape": bool, "dynamic_compile_static": bool,
    "need_check_supported": bool, "is_dynamic_format": bool, "op_pattern": str, "real_input_index": list,
    "input_to_attr_index": list, "unknown_shape_formats": list,
}.items():  # fmt: skip
    setattr(TBERegOp, _label, _option_setter(_label, _sort))


@public("ops")
class CustomRegOp(_RegOp):
    """A description for `ops.Custom`.

    >>> CustomRegOp("Mine").input(0, "x").output(0, "y").target("CPU").get_op_info()["target"]
    'CPU'
    """

    def __init__(self, op_name: str = "Custom") -> None:
        super().__init__(op_name)

    def input(
        self,
        index: int | None = None,
        name: str | None = None,
        param_type: str | None = "required",
        **kwargs: Any,
    ) -> Any:
        """An input, required by default."""
        return super().input(index, name, param_type, **kwargs)

    def output(
        self,
        index: int | None = None,
        name: str | None = None,
        param_type: str | None = "required",
        **kwargs: Any,
    ) -> Any:
        """An output, required by default."""
        return super().output(index, name, param_type, **kwargs)

    def attr(  # type: ignore[override]
        self,
        name: str | None = None,
        param_type: str | None = None,
        value_type: str | None = None,
        default_value: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """An attribute: its name, whether it
        is required, its type, and its value where none is given."""
        fields = {
            "name": name,
            "param_type": param_type,
            "value_type": value_type,
            "default_value": default_value,
            **kwargs,
        }
        self.attr_.append(self._entry(_ATTR, fields))
        return self

    def target(self, target: str | None = None) -> Any:
        """The device:
        "Ascend", "GPU" or "CPU"."""
        self.options.update(self._entry({"target": str}, {"target": target}))
        return self


@public("ops")
def op_info_register(op_info: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keeps a description, given as a dictionary or as JSON, on a function.

    >>> info = CpuRegOp("Mine").get_op_info()
    >>> @op_info_register(info)
    ... def mine():
    ...     return 1
    >>> mine(), mine.op_info["op_name"]
    (1, 'Mine')
    """
    if isinstance(op_info, str):
        op_info = json.loads(op_info)
    if not isinstance(op_info, dict):
        raise ArgumentTypeError(
            f"For 'op_info_register', the description must be a dict or JSON, but got {op_info!r}."
        )

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        function.op_info = op_info  # type: ignore[attr-defined]
        return function

    return keep


@public("ops")
def custom_info_register(*reg_info: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Keeps descriptions of `CustomRegOp` on a function for `ops.Custom`.

    >>> @custom_info_register(CustomRegOp("Mine").get_op_info())
    ... def mine(x):
    ...     return x
    >>> len(mine.reg_info)
    1
    """
    for each in reg_info:
        if not isinstance(each, (dict, str)):
            raise ArgumentTypeError(
                f"For 'custom_info_register', a description must be a dict or JSON, but got {each!r}."
            )

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        function.reg_info = list(reg_info)  # type: ignore[attr-defined]
        return function

    return keep
