"""``Cell``: base class of networks and layers, with parameters, children and their names."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.autograd.recompute import call_with_recompute
from millrace._src.runtime.graph.replay import run_graph
from millrace._src.runtime.ops.framework.custom_op import call_with_custom_backward
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.error_translation import add_cell_path, translate_call_error
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple
from millrace._src.runtime.tensor.rollback import rollback

from .cell_hooks import CellHooks, HookHandle
from .cell_settings import CellSettings
from .cell_state_dict import CellState
from .compute_dtype import cast_floats, parameters_cast_to

__all__ = ["Cell"]

C = TypeVar("C", bound="Cell")


@public("nn")
class Cell(CellState, CellSettings):
    """Base class of networks and layers: create parameters and children in ``__init__``, implement
    ``construct``.

    Parameters are named after the attributes that hold them, prefixed with the path of the Cell:
    ``fc1.weight``.

    >>> class Scale(Cell):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = Parameter(Tensor([2.0]))
    ...
    ...     def construct(self, x):
    ...         return x * self.factor
    >>> net = Scale()
    >>> net(Tensor([3.0])).asnumpy().tolist(), [p.name for p in net.trainable_params()]
    ([6.0], ['factor'])
    """

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None) -> None:
        state = self.__dict__
        state["_params"] = OrderedDict()
        state["_cells"] = OrderedDict()
        state["_buffers"] = OrderedDict()
        state["_hooks"] = None
        state["_to_float"] = None
        # backward mode: None (autograd), "own" (the method bprop), "again" (recompute)
        state["_backward_mode"] = "own" if hasattr(type(self), "bprop") else None
        state["_auto_prefix"] = auto_prefix
        state["_param_prefix"] = ""
        state["_flags"] = {}
        state["training"] = False
        state["requires_grad"] = False
        state["cls_name"] = type(self).__name__
        state["_create_time"] = time.time_ns()
        if flags:
            self.add_flags(**flags)

    # --- calling ---------------------------------------------------------------------------------------------

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """The computation of the Cell; every Cell implements it."""
        named = " It has a 'forward': rename it to 'construct'." if hasattr(type(self), "forward") else ""
        raise AttributeError(f"For '{type(self).__name__}', the method 'construct' is not defined.{named}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:  # free unless an error is raised
            if (
                modes.mode == modes.GRAPH_MODE
                and not modes.thread_state.capturing
                and not modes.thread_state.differentiation_depth
            ):
                return self.compile_and_run(*args, **kwargs)
            if self._hooks is None and self._to_float is None and self._backward_mode is None:
                return self.construct(*args, **kwargs)
            return self._call_with_hooks(args, kwargs)
        except Exception as error:
            translated = translate_call_error(error, self, args, kwargs)
            add_cell_path(translated, self)
            if translated is error:
                raise
            raise translated from error

    def _call_eager(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks is None and self._to_float is None and self._backward_mode is None:
            return self.construct(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the Cell as a graph, in any mode."""
        if self._input_signature is not None:
            self._input_signature.check(args)
        if self._jit_config is not None and self._jit_config.get("jit_syntax_level") == "STRICT":
            with modes.raising_on_graph_break(True):
                return run_graph(self, self._call_eager, args, kwargs)
        return run_graph(self, self._call_eager, args, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Capture the Cell as a graph for these arguments, so that the first call in Graph mode is fast.

        The step runs once. Its writes to parameters and buffers and its random numbers are undone; side
        effects of user hooks and prints are not.
        """
        with rollback(each._torch for each in (*self.get_parameters(), *self.buffers())):
            self.compile_and_run(*args, **kwargs)

    def run_construct(self, cast_inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``construct`` without hooks and casts."""
        return self.construct(*cast_inputs, **kwargs)

    def cast_inputs(self, inputs: Any, dst_type: DType) -> Any:
        """Cast the floating tensors of the arguments to another floating dtype."""
        return cast_floats(inputs, dst_type)

    def capture_key(self) -> Any:
        """What a capture of this Cell depends on besides its arguments."""
        cells = tuple(
            (id(c), c.training, c._to_float, bool(c._hooks), repr(c._flags) if c._flags else "")
            for c in self._all_cells()
        )
        kept = tuple(id(buffer._torch) for buffer in self.buffers())
        return cells, tuple((id(p._torch), p.requires_grad) for p in self.get_parameters()), kept

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._to_float is not None:
            with parameters_cast_to(self, self._to_float):
                return self._hooked_call(
                    cast_floats(args, self._to_float), cast_floats(kwargs, self._to_float)
                )
        return self._hooked_call(args, kwargs)

    def _hooked_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._hooks is None:
            return self._call_construct(*args, **kwargs)
        return self._hooks.call_with_hooks(self, args, kwargs)

    def _call_construct(self, *args: Any, **kwargs: Any) -> Any:
        """``construct``, with a custom backward function or recomputation if enabled."""
        if self._backward_mode == "own":
            return call_with_custom_backward(
                lambda *inputs: self.construct(*inputs, **kwargs),
                lambda inputs, output, gradient: self.bprop(*inputs, output, gradient),
                args,
            )
        if self._backward_mode == "again":
            return call_with_recompute(self.construct, args, kwargs)
        return self.construct(*args, **kwargs)

    def recompute(self, **kwargs: Any) -> None:
        """Enable recomputation: the backward pass recomputes intermediate results instead of storing them.
        Less memory, more time.
        """
        if self._backward_mode is None and kwargs.get("mode", True):
            self.__dict__["_backward_mode"] = "again"
            modes.invalidate_captures()

    def to_float(self: C, dst_type: DType) -> C:
        """Compute in a floating dtype: inputs are cast, here and in all children."""
        if dst_type not in (mstype.float16, mstype.float32, mstype.bfloat16):
            raise ArgumentValueError(
                "For 'to_float', the argument 'dst_type' must be mstype.float32, mstype.float16 or mstype.bfloat16, "
                f"but got type: {type(dst_type)} and value: {dst_type}."
            )
        flags = {
            name: dst_type is dtype
            for name, dtype in (("fp16", mstype.float16), ("fp32", mstype.float32), ("bf16", mstype.bfloat16))
        }
        for cell in self._all_cells():
            cell.__dict__["_to_float"] = dst_type
            cell.add_flags(**flags)
        modes.invalidate_captures()
        return self

    def _get_or_create_hooks(self) -> CellHooks:
        if self._hooks is None:
            self.__dict__["_hooks"] = CellHooks()
            modes.invalidate_captures()
        return self._hooks

    def register_forward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Register ``hook_fn(cell, inputs)``, called before ``construct``; its return value replaces the
        inputs.
        """
        return self._get_or_create_hooks().add("pre", hook_fn)

    def register_forward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Register ``hook_fn(cell, inputs, output)``, called after ``construct``; its return value replaces
        the output.
        """
        return self._get_or_create_hooks().add("post", hook_fn)

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Register ``hook_fn(cell, grad_input, grad_output)``, called when gradients are computed."""
        return self._get_or_create_hooks().add("backward", hook_fn)

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Register ``hook_fn(cell, grad_output)``, called before the backward pass of the Cell; its return
        value replaces the gradients.
        """
        return self._get_or_create_hooks().add("backward_pre", hook_fn)

    # --- attributes ------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, Cell):
            self._register_child(name, value)
        elif isinstance(value, ParameterTuple):
            self._check_initialized("insert_param_to_cell")
            for each in value:
                if not each.is_named:
                    each.name = f"{name}.{each.name}"
                self._params[each.name] = each
            object.__setattr__(self, name, value)
        else:
            params, cells = self.__dict__.get("_params"), self.__dict__.get("_cells")
            buffers = self.__dict__.get("_buffers")
            if buffers and name in buffers:
                if value is not None:
                    raise ArgumentTypeError(
                        f"Buffer '{name}' already exists in network, can not assign this type: '{type(value)}' as a "
                        f"buffer. Write to it in place: self.{name}.copy_(...), or register_buffer({name!r}, ...)."
                    )
                self.register_buffer(name, None, name not in self._non_persistent_buffers)
                return
            if params and name in params:
                if isinstance(value, Tensor):
                    params[name].set_data(
                        value
                    )  # as in MindSpore, assigning a tensor sets the parameter's value
                    return
                if value is not None:
                    raise ArgumentTypeError(
                        f"For 'Cell', the type of {name} must be Parameter or ParameterTuple, but got "
                        f"{type(value).__name__}."
                    )
                del params[name]
            if cells and name in cells:
                if value is not None:
                    raise ArgumentTypeError(
                        f"For 'Cell', the type of {name} must be Cell, but got {type(value).__name__}."
                    )
                del cells[name]
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        # members that containers keep only in the tables
        for table in ("_params", "_cells", "_buffers"):
            members = self.__dict__.get(table)
            if members is not None and name in members:
                return members[name]
        raise AttributeError(
            f"The '{type(self).__name__}' object has no attribute '{name}'.", name=name, obj=self
        )

    def __delattr__(self, name: str) -> None:
        self._params.pop(name, None)
        self._cells.pop(name, None)
        if name in self._buffers:
            del self._buffers[name]
            modes.invalidate_captures()
        self.__dict__.pop(name, None)

    def _check_initialized(self, what: str) -> None:
        if "_params" not in self.__dict__:
            raise AttributeError(f"For '{what}', please call Cell.__init__() firstly.")

    def insert_param_to_cell(
        self, param_name: str, param: Parameter, check_name_contain_dot: bool = True
    ) -> None:
        """Add a parameter under a name."""
        self._check_initialized("insert_param_to_cell")
        if not param_name:
            raise ArgumentValueError(
                "For 'insert_param_to_cell', the argument 'param_name' should not be None."
            )
        if check_name_contain_dot and "." in param_name:
            raise ArgumentValueError(
                f"For 'insert_param_to_cell', the argument 'param_name' should not contain '.', but got {param_name}."
            )
        if not isinstance(param, Parameter):
            raise ArgumentTypeError(
                "For 'insert_param_to_cell', the argument 'param' must be 'Parameter' if not None, "
                f"but got {type(param)}."
            )
        if not param.is_named:
            param.name, param.is_named = param_name, True
        self._params[param_name] = param
        modes.invalidate_captures()
        object.__setattr__(self, param_name, param)

    def insert_child_to_cell(self, child_name: str, child_cell: Cell) -> None:
        """Add a child under a name."""
        if not isinstance(child_name, str):
            raise ArgumentTypeError(
                f"For 'insert_child_to_cell', 'child_name' must be str, but got {child_name!r}."
            )
        if not child_name or "." in child_name:
            raise ArgumentValueError(f"For 'insert_child_to_cell', {child_name!r} is no name for a child.")
        if child_name in self._cells or (hasattr(self, child_name) and child_name not in self._cells):
            raise ArgumentValueError(
                f"For 'insert_child_to_cell', the {child_name} child cell already exists."
            )
        if not isinstance(child_cell, Cell):
            raise ArgumentTypeError(
                f"For 'insert_child_to_cell', the argument 'child_cell' must be 'Cell', but got {type(child_cell)}."
            )
        self._cells[child_name] = child_cell
        object.__setattr__(self, child_name, child_cell)

    def _register_child(self, name: str, child: Cell) -> None:
        """Register a child; its parameters get its name as a prefix."""
        self._check_initialized("Cell.__setattr__")
        if self._auto_prefix:
            child.update_parameters_name(f"{name}.")
        self._params.pop(name, None)
        self._cells[name] = child
        modes.invalidate_captures()
        object.__setattr__(self, name, child)

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name all parameters after the attributes that hold them, with a prefix."""
        if not isinstance(prefix, str):
            raise ArgumentTypeError(
                f"For 'update_parameters_name', 'prefix' must be str, but got {prefix!r}."
            )
        for name, param in self.parameters_and_names(expand=recurse):
            if prefix:
                param.is_init = False
            param.name, param.is_named = prefix + name, True

    @property
    def param_prefix(self) -> str:
        """The prefix of this Cell's parameters that :meth:`update_cell_prefix` set."""
        return str(self._param_prefix)

    def update_cell_prefix(self) -> None:
        """Set the path of every child as its parameter prefix."""
        for name, cell in self.cells_and_names():
            cell.__dict__["_param_prefix"] = name

    # --- parameters and children -----------------------------------------------------------------------------

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterate over all parameters with the paths of their attributes; each once."""
        seen: set[int] = set()
        cells = self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]
        for path, cell in cells:
            for name, param in cell._params.items():
                if param is not None and id(param) not in seen:
                    seen.add(id(param))
                    yield (f"{path}.{name}" if path else name), param

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Iterate over all parameters, including those of children unless `expand` is False."""
        for _, param in self.parameters_and_names(expand=expand):
            yield param

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters that require a gradient."""
        return [param for param in self.get_parameters(expand=recurse) if param.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters that require no gradient."""
        return [param for param in self.get_parameters(expand=recurse) if not param.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """The parameters by their names."""
        return OrderedDict((param.name, param) for param in self.get_parameters(expand=recurse))

    def cells_and_names(
        self, cells: set[int] | None = None, name_prefix: str = ""
    ) -> Iterator[tuple[str, Cell]]:
        """Iterate over this Cell and all descendants with their paths; each once."""
        seen: set[int] = set() if cells is None else cells
        if id(self) in seen:
            return
        seen.add(id(self))
        yield name_prefix, self
        for name, child in self._cells.items():
            if child is not None:
                yield from child.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    def cells(self) -> Iterable[Cell]:
        """The children."""
        return self.name_cells().values()

    def name_cells(self) -> OrderedDict[str, Cell]:
        """The children by name; each once."""
        children: OrderedDict[str, Cell] = OrderedDict()
        for name, child in self._cells.items():
            if child is not None and all(child is not existing for existing in children.values()):
                children[name] = child
        return children

    def _all_cells(self) -> Iterator[Cell]:
        for _, cell in self.cells_and_names():
            yield cell

    def apply(self: C, fn: Callable[[Cell], Any]) -> C:
        """Apply a function to every descendant, then to this Cell."""
        for child in self.cells():
            child.apply(fn)
        fn(self)
        return self

    def check_names(self) -> None:
        """Check that parameter names are unique."""
        seen: set[str] = set()
        for path, param in self.parameters_and_names():
            if param.name in seen:
                raise ArgumentValueError(
                    f"The value of {path} is {param}, its name '{param.name}' already exists. "
                    "Please set a unique name for the parameter."
                )
            seen.add(param.name)

    def check_names_and_refresh_name(self) -> None:
        """Check that parameter names are unique; names are always up to date."""
        self.check_names()

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Any, Any]:
        """Parameters are initialized on creation: nothing is replaced."""
        return {}

    # --- modes and flags -------------------------------------------------------------------------------------

    def set_train(self: C, mode: bool = True) -> C:
        """Set training mode, here and in all children; it controls Dropout and BatchNorm."""
        for cell in self._all_cells():
            cell.__dict__["training"] = mode
            cell.__dict__["phase"] = "train" if mode else "predict"
        modes.invalidate_captures()
        return self

    def set_grad(self: C, requires_grad: bool = True) -> C:
        """Store whether gradients are wanted; ``grad`` and related functions compute them."""
        self.__dict__["requires_grad"] = requires_grad
        return self

    def add_flags(self: C, **flags: Any) -> C:
        """Set flags, also as attributes; a capture depends on the flags."""
        self._flags.update(flags)
        self.__dict__.update(flags)
        modes.invalidate_captures()
        return self

    def add_flags_recursive(self: C, **flags: Any) -> C:
        """Set flags here and in all children."""
        for cell in self._all_cells():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """The flags."""
        return dict(self._flags)

    # --- printing --------------------------------------------------------------------------------------------

    def extend_repr(self) -> str:
        """The text between the brackets in the repr of a Cell."""
        return ""

    def __repr__(self) -> str:
        attributes, children = self.extend_repr(), self.name_cells()
        if not children:
            return f"{type(self).__name__}({attributes})"
        lines = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in children.items()]
        return (
            f"{type(self).__name__}(\n  " + "\n  ".join(([attributes] if attributes else []) + lines) + "\n)"
        )
