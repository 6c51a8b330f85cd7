"""What the public transforms share beyond Transform: device(), JSON, and their name on every error."""

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
    """A transform with MindSpore's methods. Its fields are its arguments, so it prints and pickles as itself."""

    _is_builtin = True
    # MindSpore runs it in Python, not in C++: an eager Compose that holds such a one gives a tuple
    runs_in_python: bool = False
    # where it takes one value, several columns (an image and its mask) each go through it, with the same random
    # parameters
    num_inputs: ClassVar[int | None] = 1
    # JSON: the argument that a field comes from, where its name differs; the arguments that take members of an
    # enumeration or lists (not tuples), where the annotation does not say so
    json_arguments: ClassVar[dict[str, str]] = {}
    json_enums: ClassVar[dict[str, type[Enum]]] = {}
    json_lists: ClassVar[frozenset[str]] = frozenset()

    @property
    def is_per_column(self) -> bool:  # type: ignore[override]
        return self.num_inputs == 1

    @checked
    def device(self, device_target: Device = "CPU") -> TensorOperation:
        """Where to run: "CPU", or "GPU" for transforms that a card does as well; returns the transform itself.

        On "GPU" it runs behind the batch, on the card that the batches go to (``create_device_iterator("GPU")``,
        ``device_que``, ``Model`` on a GPU). Without such a card, and in front of a transform that has no such form, it
        runs on the host: the rows are the same either way, their numbers bit for bit or as near as the how-to *Feed a
        device* says for each.

        >>> import millrace.dataset.vision as vision
        >>> vision.HorizontalFlip().device("GPU")
        HorizontalFlip()
        """
        if device_target == "GPU" and self.device_step() is None:
            raise ArgumentValueError(
                f"{self!r} has no form for a GPU; leave device() out, and it runs on the host. The how-to 'Feed a "
                "device' lists those that have one."
            )
        self._device = device_target
        return self

    @property
    def device_target(self) -> str:
        return getattr(self, "_device", "")

    def device_step(self) -> OffloadStep | None:
        from .device_lowering import device_step_for  # it names the classes that are derived from this one

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
        """Each of several columns by itself."""
        name = type(self).__name__
        if self.num_inputs != 1 or not values:
            wanted = "one column" if self.num_inputs == 1 else f"{self.num_inputs} columns"
            raise ArgumentTypeError(f"{name} takes {wanted}, but got {len(values)}.")
        results = tuple([self.row(value, *params) for value in values])
        if any(type(part) is tuple for part in results):
            raise ArgumentTypeError(
                f"{name} takes one column and makes several of it, but got {len(values)} columns. Give each a map of "
                "its own: .map(operation, input_columns=[one], output_columns=[...])."
            )
        return results

    def __call__(self, *values: Any) -> Any:
        """Apply it to one value, here and now."""
        inputs = tuple([self.as_input(v) for v in values])
        rng = _eager_rng() if self.random else None
        output = self.row_function(rng)(0, *inputs)
        if type(output) is tuple:
            return tuple([copy_if_shared(part, inputs) for part in output])
        return copy_if_shared(output, inputs)

    def as_input(self, value: Any) -> Any:
        """A user's value as `row` takes it."""
        return value if is_pil(value) else np.asarray(value)

    def to_json(self) -> str:
        """This transform as JSON: its name and its arguments.

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
        """The transform with these arguments; `json_string` holds what to_json() calls tensor_op_params.

        >>> import millrace.dataset.vision as vision
        >>> vision.RandomHorizontalFlip.from_json('{"prob": 0.25}')
        RandomHorizontalFlip(prob=0.25)
        """
        from .serialization import from_json_text  # it names every transform

        return from_json_text(cls, json_string)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> TensorOperation:
        """The transform with these fields, as `to_json` keeps them; the constructor checks them."""
        from .serialization import construct

        if cls.user_code:  # a class of the user: its constructor may take other names, as in MindSpore
            operation = cls.__new__(cls)
            operation.__dict__.update(fields)
            return operation
        return construct(cls, fields)


@public("dataset.vision.c_transforms")
class ImageTensorOperation(TensorOperation):
    """An operation on images: eagerly it takes arrays and Pillow images and nothing else."""

    _is_builtin = True
    _family = "vision"
    libraries = ("cv2",)

    def fuse_decode(self, following: Sequence[Transform], settings: Settings) -> FusedTransform | None:
        from .vision.decode import Decode  # it is an operation on images itself

        joined = Decode().fuse((self, *following), settings)
        return None if joined is None or len(joined.operations) == 1 else joined

    def as_input(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) or is_pil(value):
            return value
        raise ArgumentTypeError(f"Input should be NumPy or PIL image, got {type(value)}.")


def copy_if_shared(output: Any, inputs: tuple[Any, ...]) -> Any:
    """A result that shares no memory with what was given, in C order."""
    if type(output) is not np.ndarray:
        return output
    if any(type(v) is np.ndarray and np.may_share_memory(output, v) for v in inputs):
        return output.copy()
    return np.ascontiguousarray(output) if output.ndim else output


def plain_value(value: Any) -> Any:
    """A value as JSON keeps it. What JSON has no form for is tagged, so that `stored` gives it back."""
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
# Kinds of argument with a JSON form of their own: what to_plain() gives, their class method fromplain_value() takes.
_JSON_TYPES: dict[str, type[Any]] = {}


def register_json_type(*classes: type[Any]) -> None:
    """Let arguments of these kinds (a vocabulary, say) be part of a transform's JSON."""
    _JSON_TYPES.update({cls.__name__: cls for cls in classes})
