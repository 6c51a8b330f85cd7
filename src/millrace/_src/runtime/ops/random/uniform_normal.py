"""Uniform and normal random numbers: rand, randn, uniform, normal, randint.

One global generator, which `set_seed` resets, and one per `seed` of a call.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import INTEGERS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.rng_state import op_generator

__all__ = [
    "NonDeterministicInts",
    "StandardNormal",
    "UniformInt",
    "UniformReal",
    "exponential_",
    "non_deterministic_ints",
    "normal",
    "normal_",
    "normal_mint",
    "rand",
    "rand_like",
    "rand_like_mint",
    "rand_mint",
    "randint",
    "randint_like",
    "randint_like_mint",
    "randint_mint",
    "randn",
    "randn_like",
    "randn_like_mint",
    "randn_mint",
    "random_",
    "standard_normal",
    "standard_normal_of",
    "to_shape",
    "uniform",
    "uniform_",
    "uniform_int",
    "uniform_method",
    "uniform_real",
]


def to_shape(size: Any) -> tuple[int, ...]:
    """Shape from ints, a tuple, a list or a tensor."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    elif len(size) == 1 and isinstance(size[0], Tensor):
        size = to_python_list(size[0].reshape(-1))
    if any(isinstance(length, bool) or not isinstance(length, int) for length in size):
        raise ArgumentTypeError(f"a shape must be integers, but got {tuple(size)!r}.")
    if any(length < 0 for length in size):
        raise ArgumentValueError(f"a shape must not have negative numbers, but got {tuple(size)!r}.")
    return tuple(size)


def _number(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=torch.float32)


def _check_floating(name: str, dtype: Any, otherwise: torch.dtype = torch.float32) -> torch.dtype:
    result_dtype = dtype or otherwise
    if not result_dtype.is_floating_point:
        raise ArgumentValueError(
            f"For '{name}', 'dtype' must be a type of floating numbers, but got {result_dtype}."
        )
    return result_dtype


def _torch_generator(generator: Any) -> torch.Generator | None:
    """PyTorch generator of a user's generator, or None."""
    return getattr(generator, "_torch", generator)


# --- normal -----------------------------------------------------------------------------------------------------


@op("ops", random=True, dtype=UNCHECKED)
def normal(shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Tensor:
    """Samples from normal distributions with the given means and standard deviations."""
    centre, spread = _number(mean), _number(stddev)
    whole = torch.broadcast_shapes(to_shape((shape,)), centre.shape, spread.shape)
    return torch.randn(whole, generator=op_generator(seed)) * spread.float() + centre.float()


@op("mint:normal", random=True, dtype=UNCHECKED)
def normal_mint(mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None) -> Tensor:
    """Samples from normal distributions with the given means and standard deviations."""
    centre, spread = _number(mean), _number(std)
    whole = torch.broadcast_shapes(centre.shape, spread.shape) if size is None else to_shape((size,))
    return torch.randn(whole, generator=_torch_generator(generator)) * spread + centre


@op("ops", random=True, dtype=UNCHECKED)
def standard_normal(shape: Any, seed: int | None = None) -> Tensor:
    """Samples from the standard normal distribution."""
    return torch.randn(to_shape((shape,)), generator=op_generator(seed))


@op(random=True, dtype=UNCHECKED)
def standard_normal_of(shape: Any, seed: int = 0, seed2: int = 0) -> Tensor:
    """Samples from the standard normal distribution."""
    return torch.randn(to_shape((shape,)), generator=op_generator(seed, seed2))


StandardNormal = primitive("StandardNormal", standard_normal_of, init=("seed", "seed2"))


@op("ops", random=True, dtype=UNCHECKED)
def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Samples from the standard normal distribution."""
    return torch.randn(to_shape(size), generator=op_generator(seed), dtype=_check_floating("randn", dtype))


@op("mint:randn", random=True, dtype=UNCHECKED)
def randn_mint(*size: Any, generator: Any = None, dtype: Any = None) -> Tensor:
    """Samples from the standard normal distribution."""
    return torch.randn(to_shape(size), generator=_torch_generator(generator), dtype=dtype)


@op("ops", random=True, dtype=UNCHECKED)
def randn_like(input: Tensor, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Samples from the standard normal distribution, in the shape of a tensor."""
    result_dtype = _check_floating("randn_like", dtype, input.dtype)
    return torch.randn(
        input.shape,
        generator=op_generator(seed, device=input.device),
        dtype=result_dtype,
        device=input.device,
    )


@op("mint:randn_like", random=True, dtype=UNCHECKED)
def randn_like_mint(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Samples from the standard normal distribution, in the shape of a tensor."""
    return torch.randn_like(input, dtype=dtype)


# --- uniform ----------------------------------------------------------------------------------------------------


@op("ops", random=True, dtype=UNCHECKED)
def uniform(
    shape: Any, minval: Any, maxval: Any, seed: int | None = None, dtype: Any = torch.float32
) -> Tensor:
    """Samples from the uniform distribution over [minval, maxval)."""
    low, high = _number(minval), _number(maxval)
    whole = torch.broadcast_shapes(to_shape((shape,)), low.shape, high.shape)
    samples = torch.rand(whole, generator=op_generator(seed))
    if dtype.is_floating_point:
        return (samples * (high - low) + low).to(dtype)
    return torch.floor(samples.double() * (high - low) + low).to(dtype)


@op(random=True, dtype=UNCHECKED)
def uniform_real(shape: Any, seed: int = 0, seed2: int = 0) -> Tensor:
    """Samples from the uniform distribution over [0, 1)."""
    return torch.rand(to_shape((shape,)), generator=op_generator(seed, seed2))


UniformReal = primitive("UniformReal", uniform_real, init=("seed", "seed2"))


@op(random=True, dtype=UNCHECKED)
def uniform_int(shape: Any, minval: Any, maxval: Any, seed: int = 0, seed2: int = 0) -> Tensor:
    """Random integers in [minval, maxval)."""
    low, high = _number(minval).double(), _number(maxval).double()
    samples = torch.rand(to_shape((shape,)), generator=op_generator(seed, seed2), dtype=torch.float64)
    return torch.floor(samples * (high - low) + low).to(torch.int32)


UniformInt = primitive("UniformInt", uniform_int, init=("seed", "seed2"))


@op("ops", random=True, dtype=UNCHECKED)
def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Samples from the uniform distribution over [0, 1)."""
    return torch.rand(to_shape(size), generator=op_generator(seed), dtype=_check_floating("rand", dtype))


@op("mint:rand", random=True, dtype=UNCHECKED)
def rand_mint(*size: Any, generator: Any = None, dtype: Any = None) -> Tensor:
    """Samples from the uniform distribution over [0, 1)."""
    return torch.rand(to_shape(size), generator=_torch_generator(generator), dtype=dtype)


@op("ops", random=True, dtype=UNCHECKED)
def rand_like(input: Tensor, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Samples from the uniform distribution over [0, 1), in the shape of a tensor."""
    result_dtype = _check_floating("rand_like", dtype, input.dtype)
    return torch.rand(
        input.shape,
        generator=op_generator(seed, device=input.device),
        dtype=result_dtype,
        device=input.device,
    )


@op("mint:rand_like", random=True, dtype=UNCHECKED)
def rand_like_mint(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Samples from the uniform distribution over [0, 1), in the shape of a tensor."""
    return torch.rand_like(input, dtype=dtype)


def _sample_integers(
    name: str, low: int, high: int, size: Any, seed: int | None, dtype: torch.dtype
) -> Tensor:
    if low >= high:
        raise OperationError(f"For '{name}', 'low' must be below 'high', but got {low} and {high}.")
    if dtype.is_floating_point or dtype.is_complex:
        raise ArgumentValueError(f"For '{name}', 'dtype' must be an integer dtype, but got {dtype}.")
    return torch.randint(low, high, size, generator=op_generator(seed), dtype=dtype)


@op("ops", random=True, dtype=UNCHECKED)
def randint(low: int, high: int, size: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Random integers in [low, high)."""
    return _sample_integers("randint", low, high, to_shape((size,)), seed, dtype or torch.int64)


@op("ops", random=True, dtype=UNCHECKED)
def randint_like(input: Tensor, low: int, high: int, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Random integers in [low, high), in the shape of a tensor."""
    return _sample_integers("randint_like", low, high, tuple(input.shape), seed, dtype or input.dtype)


@op("mint:randint", random=True, dtype=UNCHECKED)
def randint_mint(*args: Any, generator: Any = None, dtype: Any = None) -> Tensor:
    """Random integers: (high, size) in [0, high), (low, high, size) in [low, high)."""
    low, high, size = args if len(args) == 3 else (0, *args)
    return torch.randint(
        low, high, to_shape((size,)), generator=_torch_generator(generator), dtype=dtype or torch.int64
    )


@op("mint:randint_like", random=True, dtype=UNCHECKED)
def randint_like_mint(input: Tensor, *args: Any, dtype: Any = None) -> Tensor:
    """Random integers in the shape of a tensor: (high) in [0, high), (low, high) in [low, high)."""
    low, high = args if len(args) == 2 else (0, *args)
    return torch.randint_like(input, low, high, dtype=dtype)


# --- in place --------------------------------------------------------------------------------------------------


@op("ops", "Tensor", random=True, dtype=SAME, differentiable=False)
def normal_(input: Tensor, mean: Any = 0, std: Any = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with samples from a normal distribution, in place."""
    with torch.no_grad():
        return input.normal_(generator=_torch_generator(generator)).mul_(std).add_(mean)


@op("ops", "Tensor", random=True, dtype=SAME, differentiable=False)
def uniform_(input: Tensor, from_: Any = 0, to: Any = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with samples from a uniform distribution, in place."""
    with torch.no_grad():
        return input.uniform_(from_, to, generator=_torch_generator(generator))


@op("ops", "Tensor", random=True, dtype=SAME, differentiable=False)
def exponential_(input: Tensor, lambd: Any = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with samples from an exponential distribution, in place."""
    with torch.no_grad():
        return input.exponential_(lambd, generator=_torch_generator(generator))


@op("ops", "Tensor", random=True, dtype=SAME, differentiable=False)
def random_(input: Tensor, from_: Any = 0, to: Any = None, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random integers, in place."""
    with torch.no_grad():
        return (
            input.random_(from_, to, generator=_torch_generator(generator))
            if to is not None
            else input.random_(generator=_torch_generator(generator))
        )


@op("Tensor:uniform", random=True, dtype=SAME)
def uniform_method(input: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Tensor:
    """Samples from a uniform distribution, in the shape of the tensor."""
    return torch.empty_like(input).uniform_(from_, to, generator=_torch_generator(generator))


@op(accepts=INTEGERS, dtype=UNCHECKED, differentiable=False, random=True)
def non_deterministic_ints(shape: Tensor, dtype: Any = torch.int64) -> Tensor:
    """Random integers with uniformly distributed bits."""
    if dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(
            f"For 'NonDeterministicInts', 'dtype' must be int32 or int64, but got {dtype}."
        )
    if shape.ndim != 1:
        raise ArgumentValueError(
            f"For 'NonDeterministicInts', the shape must be a list of numbers, but got {shape.tolist()}."
        )
    limits = torch.iinfo(dtype)
    return torch.empty(to_shape((shape,)), dtype=dtype).random_(limits.min, limits.max)


NonDeterministicInts = primitive("NonDeterministicInts", non_deterministic_ints)
