"""Base classes of the public transforms: device(), JSON, and the transform's name on every error."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.core.settings import Settings
from millrace._src.core.stable_ids import public_module
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.offload import OffloadStep
from millrace._src.data.kernels.vision.validation import is_pil

from .argument_types import Device
from .base import FusedTransform, Transform, _eager_rng, display_name

__all__ = [
    "TAG",
    "ImageTensorOperation",
    "TensorOperation",
    "copy_if_shared",
    "register_json_type",
    "plain_value",
]


@public(
    "dataset.transforms.c_transforms",
    "dataset.transforms.py_transforms",
    "dataset.transforms.py_transforms:PyTensorOperation",
)
class TensorOperation(Transform, ours=True):
    """Base of the transforms with MindSpore's methods. Its fields are its arguments, which are printed and pickled."""

    _is_builtin = True
    # MindSpore runs it in Python, not in C++: an eager Compose with such a transform returns a tuple
    runs_in_python: bool = False
    # a transform of one value is applied to each of several columns (an image and its mask), with the same random
    # parameters
    num_inputs: ClassVar[int | None] = 1
    # JSON: the argument of a field, where its name differs; the arguments that take members of an enumeration or lists
    # (not tuples), where the annotation does not show it
    json_arguments: ClassVar[dict[str, str]] = {}
    json_enums: ClassVar[dict[str, type[Enum]]] = {}
    json_lists: ClassVar[frozenset[str]] = frozenset()

    @property
    def is_per_column(self) -> bool:  # type: ignore[override]
        return self.num_inputs == 1

    @checked
    def device(self, device_target: Device = "CPU") -> TensorOperation:
        """Select the device: "CPU", or "GPU" for transforms with a GPU kernel; returns the transform itself.

        On "GPU" it runs after batching, on the GPU that receives the batches (``create_device_iterator("GPU")``,
        ``device_que``, ``Model`` on a GPU). Without such a GPU, and before a transform without a GPU kernel, it runs on
        the host: the rows are the same in both cases, their values bit for bit or within the tolerance that the how-to
        *Feed a device* lists.

        >>> import millrace.dataset.vision as vision
        >>> vision.HorizontalFlip().device("GPU")
        HorizontalFlip()
        """
        if device_target == "GPU" and self.device_step() is None:
            raise ArgumentValueError(
                f"{self!r} has no GPU kernel. Omit device() to run it on the host. The how-to 'Feed a device' lists "
                "the transforms with GPU kernels."
            )
        self._device = device_target
        return self

    @property
    def device_target(self) -> str:
        return getattr(self, "_device", "")

    def device_step(self) -> OffloadStep | None:
        from .device_lowering import device_step_for  # imports the subclasses of this class

        return device_step_for(self)

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        """A function of (i, *values); an error gets the name of this transform."""
        row = self.row
        name, takes = type(self).__name__, self.num_inputs
        params = self.params(rng) if self.random and rng is not None else ()

        def call(i: int, *values: Any) -> Any:
            try:
                if len(values) != takes and takes is not None:
                    return self._apply_per_column(values, [p[i] for p in params])
                return row(*values, *[p[i] for p in params]) if params else row(*values)
            except Exception as error:
                if not hasattr(error, "millrace_op"):
                    error.millrace_op = name  # type: ignore[attr-defined]
                raise

        return call

    def _apply_per_column(self, values: tuple[Any, ...], params: list[Any]) -> tuple[Any, ...]:
        """Apply the transform to each of several columns separately."""
        name = type(self).__name__
        if self.num_inputs != 1 or not values:
            wanted = "one column" if self.num_inputs == 1 else f"{self.num_inputs} columns"
            raise ArgumentTypeError(f"{name} takes {wanted}, but got {len(values)}.")
        results = tuple([self.row(value, *params) for value in values])
        if any(type(part) is tuple for part in results):
            raise ArgumentTypeError(
                f"{name} takes one column and returns several, but got {len(values)} columns. Use a separate map for "
                "each: .map(operation, input_columns=[one], output_columns=[...])."
            )
        return results

    def __call__(self, *values: Any) -> Any:
        """Apply the transform eagerly to one value."""
        inputs = tuple([self.as_input(v) for v in values])
        rng = _eager_rng() if self.random else None
        output = self.row_function(rng)(0, *inputs)
        if type(output) is tuple:
            return tuple([copy_if_shared(part, inputs) for part in output])
        return copy_if_shared(output, inputs)

    def as_input(self, value: Any) -> Any:
        """Convert a user's value to the input of `row`."""
        return value if is_pil(value) else np.asarray(value)

    def to_json(self) -> str:
        """Convert this transform to JSON: its name and its arguments.

        >>> import millrace.dataset.vision as vision
        >>> vision.RandomHorizontalFlip(0.25).to_json()
        '{"tensor_op_params": {"prob": 0.25}, "tensor_op_name": "RandomHorizontalFlip", ...}'
        """
        fields = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        description = {
            "tensor_op_params": plain_value(fields),
            "tensor_op_name": type(self).__name__,
            "python_module": public_module(type(self)),
        }
        return json.dumps(description)

    @classmethod
    def from_json(cls, json_string: str) -> TensorOperation:
        """Build a transform from JSON; `json_string` holds the ``tensor_op_params`` of to_json().

        >>> import millrace.dataset.vision as vision
        >>> vision.RandomHorizontalFlip.from_json('{"prob": 0.25}')
        RandomHorizontalFlip(prob=0.25)
        """
        from .serialization import from_json_text  # imports every transform

        return from_json_text(cls, json_string)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> TensorOperation:
        """Build a transform from its fields as `to_json` stores them; the constructor checks them."""
        from .serialization import construct

        if cls.user_code:  # a user's class: its constructor may have other arguments, as in MindSpore
            operation = cls.__new__(cls)
            operation.__dict__.update(fields)
            return operation
        return construct(cls, fields)


@public("dataset.vision.c_transforms")
class ImageTensorOperation(TensorOperation):
    """Base of the operations on images; eagerly it takes arrays and Pillow images only."""

    _is_builtin = True
    _family = "vision"
    libraries = ("cv2",)

    def fuse_decode(self, following: Sequence[Transform], settings: Settings) -> FusedTransform | None:
        from .vision.decode import Decode  # a subclass of this class

        joined = Decode().fuse((self, *following), settings)
        return None if joined is None or len(joined.operations) == 1 else joined

    def as_input(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) or is_pil(value):
            return value
        raise ArgumentTypeError(f"Input should be NumPy or PIL image, got {type(value)}.")


def copy_if_shared(output: Any, inputs: tuple[Any, ...]) -> Any:
    """A result in C order that shares no memory with the inputs."""
    if type(output) is not np.ndarray:
        return output
    if any(type(v) is np.ndarray and np.may_share_memory(output, v) for v in inputs):
        return output.copy()
    return np.ascontiguousarray(output) if output.ndim else output


def plain_value(value: Any) -> Any:
    """Convert a value to JSON's types. Types without a JSON form are tagged, so that `serialization` restores them."""
    if isinstance(value, dict):
        return {str(k): plain_value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(v) for v in value]
    if isinstance(value, TensorOperation):
        return json.loads(value.to_json())
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return {TAG: "bytes", "value": base64.b64encode(value).decode()}
    if isinstance(value, slice):
        return {TAG: "slice", "value": [value.start, value.stop, value.step]}
    if value is Ellipsis:
        return {TAG: "ellipsis"}
    if isinstance(value, mstype.DType):
        return {TAG: "type", "value": value.name}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {TAG: "dtype", "value": np.dtype(value).str}
    if isinstance(value, np.ndarray):
        return {TAG: "array", "dtype": value.dtype.str, "value": value.tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if _JSON_TYPES.get(type(value).__name__) is type(value):
        return {TAG: type(value).__name__, "value": plain_value(value.to_plain())}
    if callable(value):
        return {"tensor_op_name": display_name(value), "python_module": public_module(value)}
    return repr(value)


TAG = "millrace"
# Argument types with a separate JSON form: their class method from_plain() takes the result of to_plain().
_JSON_TYPES: dict[str, type[Any]] = {}


def register_json_type(*classes: type[Any]) -> None:
    """Let arguments of these types (a vocabulary, for example) be part of a transform's JSON."""
    _JSON_TYPES.update({cls.__name__: cls for cls in classes})
