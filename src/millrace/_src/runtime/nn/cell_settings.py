"""Settings of a Cell for graphs, precision and hardware; those for other hardware are validated and stored."""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.log import get_logger
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.graph.replay import CachedProgram, capture_cache_of
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.parameter import Parameter

from .input_signature import InputSignature

if TYPE_CHECKING:
    from .cell import Cell

__all__ = ["CellSettings", "MixedPrecisionType"]

S = TypeVar("S", bound="CellSettings")

_log = get_logger("millrace.nn")


class MixedPrecisionType(enum.IntEnum):
    """The compute dtype of a Cell, with MindSpore's numbers."""

    NOTSET = 0
    FP16 = 1
    FP32 = 2
    BF16 = 3


_PRECISIONS: dict[MixedPrecisionType, DType | None] = {
    MixedPrecisionType.NOTSET: None,
    MixedPrecisionType.FP16: mstype.float16,
    MixedPrecisionType.FP32: mstype.float32,
    MixedPrecisionType.BF16: mstype.bfloat16,
}


class OverridableProperty:
    """A property that an attribute of the same name may override: networks use such names for other purposes."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else self._function(instance)


class CellSettings:
    """The settings part of Cell."""

    phase: str = "train"
    cls_name: str = "Cell"
    cell_type: Any = None
    # stored only; the backward is not checked against the forward
    bprop_debug: bool = False
    _create_time: int = 0
    _input_signature: InputSignature | None = None
    _jit_config: dict[str, Any] | None = None
    _scope: str | None = None
    _stored_settings: dict[str, Any] | None = None
    _to_float: DType | None
    # whether parameters keep their dtype if the compute dtype differs: kernels of statistics need it
    keep_parameter_dtype: bool = False
    _hooks: Any

    # --- graphs ----------------------------------------------------------------------------------------------

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Declare the inputs of the Cell: lengths that may change are None.

        In Graph mode every call is checked against the declaration, and a call with new shapes is captured
        separately: a network keeps up to 64 captures, and runs further shapes operation by operation without
        a warning. PyNative mode stores the declaration and does not check calls.

        >>> from millrace import Tensor, float32, nn
        >>> net = nn.ReLU()
        >>> net.set_inputs(Tensor(shape=[3, None], dtype=float32))
        >>> net.get_inputs()[0].shape
        (3, -1)
        """
        construct = getattr(self, "construct", None)
        self.__dict__["_input_signature"] = InputSignature(
            construct, inputs, kwargs, strict=modes.mode == modes.GRAPH_MODE
        )

    def get_inputs(self) -> Any:
        """The declaration of :meth:`set_inputs`, or None."""
        return None if self._input_signature is None else self._input_signature.declared_inputs

    def set_jit_config(self, jit_config: Any) -> None:
        """Set the graph options of this Cell. ``jit_syntax_level="STRICT"`` makes a graph break (Python reads
        a tensor's value) an error.

        The other options are stored; captures have one level.
        """
        if not hasattr(jit_config, "jit_config_dict"):
            raise ArgumentTypeError(
                f"For 'set_jit_config', 'jit_config' must be a JitConfig, but got {type(jit_config).__name__}."
            )
        self.__dict__["_jit_config"] = dict(jit_config.jit_config_dict)

    @OverridableProperty
    def jit_config_dict(self) -> dict[str, Any]:
        """The options of :meth:`set_jit_config`."""
        return dict(self._jit_config or {})

    @OverridableProperty
    def compiled(self) -> bool:
        """Whether a capture of this Cell is ready to run."""
        return bool(self.compile_cache)

    @OverridableProperty
    def compile_cache(self) -> set[str]:
        """A name for each capture of this Cell."""
        graphs = capture_cache_of(self)
        ready = [entry for entry in graphs.entries.values() if isinstance(entry, CachedProgram)]
        return {f"{self.phase}.{self.create_time}.{id(self)}.{number}" for number, _ in enumerate(ready)}

    # --- numbers ---------------------------------------------------------------------------------------------

    def set_mixed_precision_type(self, mixed_type: MixedPrecisionType) -> None:
        """Compute in this floating dtype, here and not in children; :meth:`to_float` also applies to
        children.
        """
        if not isinstance(mixed_type, MixedPrecisionType):
            raise ArgumentTypeError(
                f"set_mixed_precision_type takes a MixedPrecisionType, but got {mixed_type!r}."
            )
        self.__dict__["_to_float"] = _PRECISIONS[mixed_type]
        modes.invalidate_captures()

    def get_mixed_precision_type(self) -> MixedPrecisionType:
        """The compute dtype of this Cell."""
        return next(mixed_type for mixed_type, dtype in _PRECISIONS.items() if dtype is self._to_float)

    # --- description -----------------------------------------------------------------------------------------

    @OverridableProperty
    def create_time(self) -> int:
        """The creation time of the Cell, in nanoseconds."""
        return self._create_time

    @OverridableProperty
    def cell_init_args(self) -> str:
        """The class of the Cell and its arguments, in one line."""
        return f"{type(self).__name__}[{self._cell().extend_repr()}]"

    @OverridableProperty
    def enable_backward_hook(self) -> bool:
        """Whether a backward hook is registered."""
        tables = {} if self._hooks is None else self._hooks.hooks_by_stage
        return any(tables.get(when) for when in ("backward", "backward_pre"))

    def generate_scope(self) -> None:
        """Set the scope of every descendant: its path with the class names."""
        scopes = {"": "Default"}
        for path, cell in self._cell().cells_and_names():
            if path:
                above, _, name = path.rpartition(".")
                scopes[path] = cell.__dict__["_scope"] = f"{scopes[above]}/{name}-{type(cell).__name__}"

    def get_scope(self) -> str | None:
        """The scope from :meth:`generate_scope`, such as ``Default/block-Block/fc-Dense``."""
        return self._scope

    def update_cell_type(self, cell_type: Any) -> None:
        """Store a type name of the Cell."""
        self.__dict__["cell_type"] = cell_type

    # --- stored for other hardware and for networks that are sharded over devices -----------------------------

    def _warn_no_effect(self, setting: str, value: Any) -> None:
        """Store a setting that has no effect here, and log it."""
        if self._stored_settings is None:
            self.__dict__["_stored_settings"] = {}
        self.__dict__["_stored_settings"][setting] = value
        _log.info("Cell.%s is stored and has no effect here", setting)

    def shard(self, in_strategy: Any, out_strategy: Any = None, parameter_plan: Any = None) -> None:
        """Stored only: how MindSpore would shard this Cell over devices. Here each device holds the whole
        network.
        """
        if not isinstance(in_strategy, tuple):
            raise ArgumentTypeError(
                f"For 'Cell.shard', 'in_strategy' must be a tuple, but got {type(in_strategy).__name__}."
            )
        self._warn_no_effect("shard", (in_strategy, out_strategy, parameter_plan))

    @property
    def parameter_layout_dict(self) -> dict[str, Any]:
        """Stored only: MindSpore's layout of sharded parameters. Here every device holds whole parameters."""
        return dict((self._stored_settings or {}).get("parameter_layout_dict", {}))

    @parameter_layout_dict.setter
    def parameter_layout_dict(self, value: dict[str, Any]) -> None:
        if not isinstance(value, dict):
            raise ArgumentTypeError(
                f"For 'Cell', the property 'parameter_layout_dict' must be dict type, but got {type(value)}."
            )
        self._warn_no_effect("parameter_layout_dict", value)

    @property
    def pipeline_stage(self) -> int:
        """Stored only: the pipeline stage of this Cell. Here each process runs the whole network."""
        return self._stage("pipeline_stage")

    @pipeline_stage.setter
    def pipeline_stage(self, value: int) -> None:
        self._set_stage("pipeline_stage", value)
        for param in self._cell().trainable_params():
            param.add_pipeline_stage(value)

    @property
    def pipeline_segment(self) -> int:
        """Stored only: the segment of the pipeline stage."""
        return self._stage("pipeline_segment")

    @pipeline_segment.setter
    def pipeline_segment(self, value: int) -> None:
        self._set_stage("pipeline_segment", value)

    def _stage(self, name: str) -> int:
        try:
            return int((self._stored_settings or {})[name])
        except KeyError:
            raise AttributeError(f"The '{type(self).__name__}' object has no attribute '{name}'.") from None

    def _set_stage(self, name: str, value: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ArgumentTypeError(
                f"For 'Cell', the property '{name}' must be int type, but got type : {type(value)}"
            )
        if value < 0:
            raise ArgumentValueError(
                f"For 'Cell', the property '{name}' can not be less than 0, but got {value}"
            )
        self._warn_no_effect(name, value)

    def place(self, role: str, rank_id: int) -> None:
        """Stored only: the process that MindSpore would run this Cell in. Here every process runs the whole
        network.
        """
        if role != "MS_WORKER":
            raise ArgumentValueError(
                f"For 'Cell.place', the 'role' must be str and must be in 'MS_WORKER', but got {role!r}."
            )
        if not isinstance(rank_id, int) or isinstance(rank_id, bool) or rank_id < 0:
            raise ArgumentValueError(
                f"For 'Cell.place', 'rank_id' must be int and not negative, but got {rank_id!r}."
            )
        self._warn_no_effect("place", (role, rank_id))

    def offload(self, backward_prefetch: str | int = "Auto") -> None:
        """Stored only: MindSpore would keep intermediate results in host memory. ``recompute`` saves memory
        here.
        """
        if isinstance(backward_prefetch, str) and backward_prefetch != "Auto":
            raise ArgumentValueError(
                f"For '{type(self).__name__}', the 'backward_prefetch' must be str and must be in '['Auto']', "
                f"but got {backward_prefetch!r}."
            )
        if isinstance(backward_prefetch, bool) or not isinstance(backward_prefetch, (str, int)):
            raise ArgumentTypeError(
                f"The input value must be int and must >= 0, but got {str(backward_prefetch)!r} with type "
                f"{type(backward_prefetch).__name__!r}."
            )
        if isinstance(backward_prefetch, int) and backward_prefetch < 0:
            raise ArgumentValueError(
                f"The input value must be int and must >= 0, but got '{backward_prefetch}' with type 'int'."
            )
        self._warn_no_effect("offload", backward_prefetch)

    def flatten_weights(self, fusion_size: int = 0) -> None:
        """Stored only: MindSpore would move parameters into contiguous memory. Here each parameter keeps its
        storage.
        """
        if fusion_size < 0:
            raise ArgumentValueError(f"Negative 'fusion_size' {fusion_size} is invalid.")
        self._warn_no_effect("flatten_weights", fusion_size)

    def set_boost(self: S, boost_type: str) -> S:
        """Store the flag of a training acceleration algorithm: ``"less_bn"``."""
        if boost_type != "less_bn":
            raise ArgumentValueError(
                f"For 'set_boost', the argument 'boost_type' must be 'less_bn', but got {boost_type}."
            )
        self._cell().add_flags_recursive(less_bn=True)
        return self

    def set_broadcast_flag(self: S, mode: bool = True) -> S:
        """Store the flag that parameters are broadcast from the first process."""
        self._cell().add_flags_recursive(broadcast_flag=mode)
        return self

    def set_data_parallel(self) -> None:
        """Stored only: every Cell is data parallel here."""
        self._warn_no_effect("set_data_parallel", True)

    def remove_redundant_parameters(self) -> None:
        """No effect: a network is not sharded over devices, so no parameter is redundant."""

    def set_comm_fusion(self: S, fusion_type: int, recurse: bool = True) -> S:
        """Set the communication fusion group of every trainable parameter."""
        for param in self._cell().trainable_params(recurse):
            param.comm_fusion = fusion_type
        return self

    def set_param_ps(self, recurse: bool = True, init_in_server: bool = False) -> None:
        """Store parameters on parameter servers; needs ``set_ps_context(enable_ps=True)``."""
        for param in self._cell().trainable_params(recurse):
            param.set_param_ps(init_in_server)

    def parameters_broadcast_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter] | None:
        """The parameters that all processes share, by name; None if there are none."""
        parameters = OrderedDict(
            (param.name, param)
            for param in self._cell().get_parameters(expand=recurse)
            if not param.layerwise_parallel
        )
        return parameters or None

    def _cell(self) -> Cell:
        """This object, typed as Cell."""
        return self  # type: ignore[return-value]
