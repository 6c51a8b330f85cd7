"""Parameter initializers: constant, normal, uniform, Xavier, He, orthogonal and others.

Formulas are MindSpore's, random numbers are PyTorch's. All use one generator, which ``set_seed`` seeds: the
same seed and the same order of calls give the same values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor

from .method_binding import bind_tensor_methods
from .rng_state import initializer_generator
from .storage import DTYPES_FROM_TORCH, as_torch_tensor, to_torch_dtype

__all__ = [
    "Constant",
    "Dirac",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "Normal",
    "One",
    "Orthogonal",
    "Sparse",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
    "XavierNormal",
    "XavierUniform",
    "Zero",
    "initializer",
]

bind_tensor_methods()

_ALIASES: dict[str, type[Initializer]] = {}


@public("common.initializer")
class Initializer:
    """Base class of all initializers. A subclass implements ``_initialize(arr)``, which fills an array or
    tensor.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _ALIASES[cls.__name__.lower()] = cls

    def __call__(self, arr: Any) -> Any:
        return self._initialize(arr)

    def _initialize(self, arr: Any) -> Any:
        raise NotImplementedError("Must be overridden!")

    def fill(self, tensor: torch.Tensor) -> None:
        """Fill a PyTorch tensor; a user-defined class fills an array, which is copied."""
        array = torch.zeros(tensor.shape, dtype=tensor.dtype).numpy()
        self._initialize(array)
        tensor.copy_(torch.from_numpy(array))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._kwargs.items())
        return f"{type(self).__name__}({arguments})"


class _TorchInitializer(Initializer):
    """A built-in initializer: it fills a PyTorch tensor, and an array through it."""

    def _initialize(self, arr: Any) -> Any:
        tensor = torch.from_numpy(arr)
        self.fill(tensor)
        return arr


def fan_in_and_fan_out(shape: Sequence[int]) -> tuple[int, int]:
    """Fan-in and fan-out of a weight.

    >>> fan_in_and_fan_out((16, 3, 5, 5))
    (75, 400)
    """
    if len(shape) < 2:
        raise ArgumentValueError(
            "'fan_in' and 'fan_out' can not be computed for tensor with fewer than 2 dimensions, "
            f"but got dimensions {len(shape)}."
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The gain of He initialization for a nonlinearity."""
    plain = {
        "linear",
        "sigmoid",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
    }
    if nonlinearity in plain:
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ArgumentValueError(f"For 'HeUniform', 'negative_slope' {param} is not a valid number.")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ArgumentValueError(
        "For 'HeUniform', the argument 'nonlinearity' must be one of ['sigmoid', 'tanh', 'relu', 'leaky_relu' ...], "
        f"but got {nonlinearity}."
    )


def _fan(shape: Sequence[int], mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentValueError(f"'mode' {mode} not supported, please use one of ['fan_in', 'fan_out'].")
    return fan_in_and_fan_out(shape)[0 if mode == "fan_in" else 1]


@public("common.initializer")
class Zero(_TorchInitializer):
    """Fill with zeros."""

    def fill(self, tensor: torch.Tensor) -> None:
        tensor.zero_()


@public("common.initializer")
class One(_TorchInitializer):
    """Fill with ones."""

    def fill(self, tensor: torch.Tensor) -> None:
        tensor.fill_(1)


@public("common.initializer")
class Constant(_TorchInitializer):
    """Fill with one value, or with the values of a tensor."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def fill(self, tensor: torch.Tensor) -> None:
        if isinstance(self.value, (bool, int, float, complex)):
            tensor.fill_(self.value)
        else:
            tensor.copy_(as_torch_tensor(self.value).to(tensor.dtype).expand(tensor.shape))


@public("common.initializer")
class Normal(_TorchInitializer):
    """Normal distribution."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        super().__init__(sigma=sigma, mean=mean)
        self.sigma, self.mean = sigma, mean

    def fill(self, tensor: torch.Tensor) -> None:
        tensor.normal_(self.mean, self.sigma, generator=initializer_generator())


@public("common.initializer")
class Uniform(_TorchInitializer):
    """Uniform distribution on ``[-scale, scale]``."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def fill(self, tensor: torch.Tensor) -> None:
        tensor.uniform_(-self.scale, self.scale, generator=initializer_generator())


@public("common.initializer")
class TruncatedNormal(_TorchInitializer):
    """Normal distribution truncated at `a` and `b` standard deviations from the mean."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def fill(self, tensor: torch.Tensor) -> None:
        fill_truncated_normal(tensor, self.sigma, self.mean, self.a, self.b)


def fill_truncated_normal(tensor: torch.Tensor, sigma: float, mean: float, a: float, b: float) -> None:
    """Inverse transform sampling of the truncated normal distribution: one random number per element."""
    low, high = (0.5 * (1 + math.erf(edge / math.sqrt(2))) for edge in (a, b))
    uniform_samples = torch.empty(tensor.shape, dtype=torch.float64).uniform_(
        2 * low - 1, 2 * high - 1, generator=initializer_generator()
    )
    values = torch.erfinv(uniform_samples).mul_(math.sqrt(2)).clamp_(a, b)
    tensor.copy_(values.mul_(sigma).add_(mean))


@public("common.initializer")
class XavierUniform(_TorchInitializer):
    """Xavier (Glorot) uniform initialization."""

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def fill(self, tensor: torch.Tensor) -> None:
        bound = self.gain * math.sqrt(6.0 / sum(fan_in_and_fan_out(tensor.shape)))
        tensor.uniform_(-bound, bound, generator=initializer_generator())


@public("common.initializer")
class XavierNormal(_TorchInitializer):
    """Xavier (Glorot) normal initialization."""

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def fill(self, tensor: torch.Tensor) -> None:
        tensor.normal_(
            0,
            self.gain * math.sqrt(2.0 / sum(fan_in_and_fan_out(tensor.shape))),
            generator=initializer_generator(),
        )


class _He(_TorchInitializer):
    def __init__(
        self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
    ) -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        self.negative_slope, self.mode, self.nonlinearity = negative_slope, mode, nonlinearity

    def deviation(self, shape: Sequence[int]) -> float:
        return calculate_gain(self.nonlinearity, self.negative_slope) / math.sqrt(_fan(shape, self.mode))


@public("common.initializer")
class HeUniform(_He):
    """He (Kaiming) uniform initialization."""

    def fill(self, tensor: torch.Tensor) -> None:
        bound = math.sqrt(3.0) * self.deviation(tensor.shape)
        tensor.uniform_(-bound, bound, generator=initializer_generator())


@public("common.initializer")
class HeNormal(_He):
    """He (Kaiming) normal initialization."""

    def fill(self, tensor: torch.Tensor) -> None:
        tensor.normal_(0, self.deviation(tensor.shape), generator=initializer_generator())


@public("common.initializer")
class VarianceScaling(_TorchInitializer):
    """Initialization with a variance of `scale` divided by the number of units."""

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"
    ) -> None:
        if scale <= 0.0:
            raise ArgumentValueError(
                f"For 'VarianceScaling', the argument 'scale' must be greater than 0.0, but got {scale}."
            )
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ArgumentValueError(
                "For 'VarianceScaling', the argument 'mode' must be fan_in, fan_out or fan_avg, "
                f"but got {mode}."
            )
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ArgumentValueError(
                "For 'VarianceScaling', the argument 'distribution' must be uniform, truncated_norm or "
                f"untruncated_norm, but got {distribution}."
            )
        super().__init__(scale=scale, mode=mode, distribution=distribution)
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def fill(self, tensor: torch.Tensor) -> None:
        inputs, outputs = fan_in_and_fan_out(tensor.shape)
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        scale = self.scale / max(1.0, count)
        if self.distribution == "truncated_normal":
            # the standard deviation of a normal distribution truncated at two standard deviations
            fill_truncated_normal(tensor, math.sqrt(scale) / 0.87962566103423978, 0.0, -2.0, 2.0)
        elif self.distribution == "untruncated_normal":
            tensor.normal_(0, math.sqrt(scale), generator=initializer_generator())
        else:
            bound = math.sqrt(3.0 * scale)
            tensor.uniform_(-bound, bound, generator=initializer_generator())


@public("common.initializer")
class Identity(_TorchInitializer):
    """Identity matrix."""

    def fill(self, tensor: torch.Tensor) -> None:
        if tensor.ndim != 2:
            raise ArgumentValueError(
                f"For 'Identity', the dimension of tensor must be 2, but got {tensor.ndim}."
            )
        tensor.copy_(torch.eye(*tensor.shape, dtype=tensor.dtype))


@public("common.initializer")
class Sparse(_TorchInitializer):
    """Normal distribution with a fraction of zeros in each column."""

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        super().__init__(sparsity=sparsity, sigma=sigma)
        self.sparsity, self.sigma = sparsity, sigma

    def fill(self, tensor: torch.Tensor) -> None:
        if tensor.ndim != 2:
            raise ArgumentValueError(
                f"For 'Sparse', the dimension of tensor must be 2, but got {tensor.ndim}."
            )
        tensor.normal_(0, self.sigma, generator=initializer_generator())
        zeros = math.ceil(self.sparsity * tensor.shape[0])
        for column in range(tensor.shape[1]):
            tensor[torch.randperm(tensor.shape[0], generator=initializer_generator())[:zeros], column] = 0


@public("common.initializer")
class Dirac(_TorchInitializer):
    """Dirac delta initialization: a convolution that preserves its input channels."""

    def __init__(self, groups: int = 1) -> None:
        super().__init__(groups=groups)
        self.groups = groups

    def fill(self, tensor: torch.Tensor) -> None:
        if tensor.ndim not in (3, 4, 5):
            raise ArgumentValueError(
                f"For 'Dirac', only support 3D/4D/5D tensors, but got the tensor with {tensor.ndim} dimensions."
            )
        if tensor.shape[0] % self.groups:
            raise ArgumentValueError("For 'Dirac', 'groups' must divide the first dimension.")
        torch.nn.init.dirac_(tensor, self.groups)


@public("common.initializer")
class Orthogonal(_TorchInitializer):
    """(Semi-)orthogonal matrix."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def fill(self, tensor: torch.Tensor) -> None:
        if tensor.ndim < 2:
            raise ArgumentValueError(
                f"For 'Orthogonal', the dimension of tensor must be >= 2, but got {tensor.ndim}."
            )
        torch.nn.init.orthogonal_(tensor, self.gain, generator=initializer_generator())


_ALIASES |= {
    "zeros": Zero, "ones": One, "he_uniform": HeUniform, "he_normal": HeNormal, "xavier_uniform": XavierUniform,
    "xavier_normal": XavierNormal, "truncated_normal": TruncatedNormal, "variance_scaling": VarianceScaling,
}  # fmt: skip


def resolve_initializer(init: Any) -> Initializer:
    """An initializer from an instance, a name, or a constant."""
    if isinstance(init, Initializer):
        return init
    if isinstance(init, str):
        initializer_class = _ALIASES.get(init.lower())
        if initializer_class is None:
            raise ArgumentValueError(f"The class corresponding to '{init}' was not found.")
        return initializer_class()
    if isinstance(init, (bool, int, float)):
        return Constant(init)
    raise ArgumentTypeError(
        "For 'initializer', the argument 'init' must be one of the classes above, a name or a number, "
        f"but got {type(init).__name__}."
    )


def defer_initialization(tensor: Tensor, init: Any, shape: Any, dtype: Any) -> None:
    """Set up a tensor that is initialized on first use."""
    sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    torch_dtype = to_torch_dtype(dtype)
    if any(size < 0 for size in sizes):
        raise ArgumentValueError(f"For 'initializer', a shape has no negative lengths, but got {shape}.")
    tensor._dtype = DTYPES_FROM_TORCH[torch_dtype]
    tensor.init = resolve_initializer(init)  # type: ignore[attr-defined]
    tensor.__dict__["_lazy"] = torch.empty(sizes, dtype=torch_dtype, device="meta")


@public("common.initializer")
def initializer(init: Any, shape: Any = None, dtype: DType = mstype.float32) -> Tensor:
    """Create a tensor that an initializer fills on first use; ``init_data`` fills it immediately.

    >>> initializer("ones", (2, 2)).init_data().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if isinstance(init, Tensor):
        if shape is not None and init.shape != (tuple(shape) if not isinstance(shape, int) else (shape,)):
            raise ArgumentValueError(
                "For 'initializer', when the variable 'init' is an instance of Tensor, 'shape' must be its shape, "
                f"but got {shape} and {init.shape}."
            )
        return init
    return Tensor(shape=() if shape is None else shape, dtype=dtype, init=init)
