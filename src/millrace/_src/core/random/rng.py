"""Counter-based random numbers: a pure function of (seed, epoch, row id, op, slot).

All random numbers of the data pipeline come from here. A value does not depend on the worker, on the order of calls
or on the rows of a chunk: the same five numbers give the same bits. The mixing function is the 64-bit
finaliser of splitmix64; vector and scalar paths are the same numpy code.
"""

from __future__ import annotations

import functools
import inspect
import random
import secrets
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "RandomStream",
    "RandomPermutation",
    "fresh_seed",
    "global_state",
    "is_generator",
    "hash_integers",
    "derive_row_ids",
    "rng_parameter_index",
    "seed_globals",
    "set_global_state",
    "reseed_after_fork",
    "with_rng",
]

U64 = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_MASK = 0xFFFFFFFFFFFFFFFF
_TO_UNIT = 1.0 / (1 << 53)

# Up to this size a permutation is a sort of hashes: exactly uniform, 8 bytes a row. Above it, a keyed Feistel
# network computes any block of the order without holding all of it.
SORT_LIMIT = 1 << 20
# The first batch does not wait for the sort of all rows: about this many rows are computed without it.
HEAD = 1024
# Hashes per block; memory of this size comes from the heap, larger memory page by page from the system.
BLOCK = 1 << 13


def _scramble(x: U64) -> U64:
    """splitmix64's finaliser, in place on a fresh array."""
    x = x + _GOLDEN
    x ^= x >> _S30
    x *= _M1
    x ^= x >> _S27
    x *= _M2
    x ^= x >> _S31
    return x


def hash_integers(*parts: int) -> int:
    """Hash integers into one 64-bit integer; their order matters.

    >>> hash_integers(1, 2) == hash_integers(2, 1)
    False
    """
    value = 0
    for part in parts:
        value = ((value ^ (part & _MASK)) + 0x9E3779B97F4A7C15) & _MASK
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        value ^= value >> 31
    return value


def derive_row_ids(ids: U64, *parts: int) -> U64:
    """New row ids, hashed from the old ones and some integers (a repeat count, a child number)."""
    return _scramble(ids ^ np.uint64(hash_integers(*parts)))


def fresh_seed() -> int:
    """A seed from the operating system, for pipelines without a seed."""
    return secrets.randbits(32)


def seed_globals(seed: int) -> None:
    """Seed the global generators of Python and numpy, which only user functions use."""
    random.seed(seed)
    np.random.seed(seed)


def global_state() -> dict[str, Any]:
    """The state of the global generators of Python and numpy, for JSON; user functions may use them.

    >>> kept = global_state()
    >>> sampled = random.random(), np.random.rand()
    >>> set_global_state(kept)
    >>> (random.random(), np.random.rand()) == sampled
    True
    """
    version, internal_state, gauss = random.getstate()
    bit_generator, keys, *rest = np.random.get_state()
    return {
        "python": [version, np.array(internal_state, "<u4").tobytes().hex(), gauss],
        "numpy": [str(bit_generator), np.asarray(keys, "<u4").tobytes().hex(), *map(float, rest)],
    }


def set_global_state(state: dict[str, Any]) -> None:
    """Restore a state of :func:`global_state`."""
    version, internal_state, gauss = state["python"]
    random.setstate((version, tuple(np.frombuffer(bytes.fromhex(internal_state), "<u4").tolist()), gauss))
    bit_generator, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state(
        (bit_generator, np.frombuffer(bytes.fromhex(keys), "<u4"), int(position), int(has_gauss), cached)
    )


def reseed_after_fork() -> None:
    """Reseed the global generators in a forked process, so that they differ from those of the parent."""
    random.seed()
    np.random.seed()


@functools.lru_cache(maxsize=256)
def _slot_keys(slots: range) -> U64:
    return np.array([hash_integers(slot) for slot in slots], np.uint64)


class RandomStream:
    """Random numbers of one op for one chunk: one independent stream per row.

    >>> stream = RandomStream.for_rows(np.arange(3, dtype=np.uint64), seed=1, epoch=0, op=2)
    >>> stream.uniform(0).shape
    (3,)
    >>> one = RandomStream.for_rows(np.array([1], dtype=np.uint64), seed=1, epoch=0, op=2)
    >>> bool(one.uniform(0)[0] == stream.uniform(0)[1])
    True
    """

    __slots__ = ("keys",)

    def __init__(self, keys: U64) -> None:
        self.keys = keys

    @classmethod
    def for_rows(cls, ids: U64, *, seed: int, epoch: int, op: int) -> RandomStream:
        return cls(_scramble(ids ^ np.uint64(hash_integers(seed, epoch, op))))

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, rows: Any) -> RandomStream:
        return RandomStream(np.atleast_1d(self.keys[rows]))

    def split(self, number: int) -> RandomStream:
        """An independent stream for a transform inside a composite one, by its number."""
        return RandomStream(_scramble(self.keys ^ np.uint64(hash_integers(number, 0xC0))))

    def bits(self, slot: int) -> U64:
        return _scramble(self.keys + np.uint64(hash_integers(slot)))

    def uniform(self, slot: int, low: float = 0.0, high: float = 1.0) -> npt.NDArray[np.float64]:
        """Floats in [low, high)."""
        return low + (self.bits(slot) >> _S11).astype(np.float64) * (_TO_UNIT * (high - low))

    def uniforms(self, slots: range, low: float = 0.0, high: float = 1.0) -> npt.NDArray[np.float64]:
        """uniform() of several slots, one column per slot."""
        bits = _scramble(self.keys[:, None] + _slot_keys(slots))
        return low + (bits >> _S11).astype(np.float64) * (_TO_UNIT * (high - low))

    def integers(self, slot: int, low: int, high: int) -> npt.NDArray[np.int64]:
        """Integers in [low, high)."""
        span = high - low
        if span <= 0:
            raise ValueError(f"integers() needs low < high, got [{low}, {high})")
        # 53 bits of fraction: the bias is below 2**-21 for spans up to 2**32
        return low + np.minimum((self.uniform(slot) * span).astype(np.int64), span - 1)

    def bernoulli(self, slot: int, probability: float) -> npt.NDArray[np.bool_]:
        """True with the given probability."""
        return self.uniform(slot) < probability

    def normal(self, slot: int, mean: float = 0.0, sigma: float = 1.0) -> npt.NDArray[np.float64]:
        """Normally distributed floats (Box-Muller on two sub-slots)."""
        radius = np.sqrt(-2.0 * np.log1p(-self.uniform(2 * slot + (1 << 32))))
        angle = 2.0 * np.pi * self.uniform(2 * slot + 1 + (1 << 32))
        return mean + sigma * radius * np.cos(angle)

    def generator(self, row: int, slot: int = 0) -> np.random.Generator:
        """A numpy Generator for one row, for kernels that need many numbers (takes about 10 us)."""
        return np.random.Generator(np.random.Philox(key=int(self.bits(slot)[row])))


def rng_parameter_index(function: Any) -> int | None:
    """The index of a function's parameter ``rng``; None where it has none, or where ``rng`` is bound already.

    >>> rng_parameter_index(lambda image, rng: image), rng_parameter_index(lambda image: image)
    (1, None)
    """
    if isinstance(function, functools.partial) and "rng" in function.keywords:
        return None
    code = getattr(function, "__code__", None)
    if code is not None and "rng" not in code.co_varnames and not hasattr(function, "__wrapped__"):
        return None  # as inspect.signature would find, which is slow and would delay the first batch
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    parameter = parameters.get("rng")
    if parameter is None or parameter.kind in (
        parameter.POSITIONAL_ONLY,
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    ):
        return None
    return sys.maxsize if parameter.kind is parameter.KEYWORD_ONLY else list(parameters).index("rng")


def with_rng(function: Callable[..., Any], stream: RandomStream) -> Callable[..., Any]:
    """A function of (i, *values) that passes the generator of row i to a user function with a parameter ``rng``.

    A value at the position of ``rng`` is passed unchanged: a column may have that name.
    """
    index, keys = rng_parameter_index(function), stream.bits(0)
    if index is None:
        return lambda i, *values: function(*values)

    def call(i: int, *values: Any) -> Any:
        if len(values) > index:
            return function(*values)
        return function(*values, rng=np.random.Generator(np.random.Philox(key=int(keys[i]))))

    return call


class RandomPermutation:
    """A random permutation of ``range(size)``, addressable by position and determined by one key.

    >>> order = RandomPermutation(5, key=7)
    >>> sorted(order.at(0, 5).tolist())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, size: int, key: int) -> None:
        self.size, self.key = size, key
        # the first values of the order, or all of them; None where the order is not computed by sorting
        self._sorted: npt.NDArray[np.int64] | None = None
        if size <= SORT_LIMIT:
            self._sorted = self._lowest(HEAD * _MASK // size) if size > 4 * HEAD else self._all()

    def at(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        """The values at positions [start, stop)."""
        stop = min(stop, self.size)
        if self._sorted is None:
            return self.take(np.arange(start, stop, dtype=np.int64))
        if stop > len(self._sorted):
            self._sorted = self._all()
        return self._sorted[start:stop]

    def take(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The values at these positions."""
        if self._sorted is not None:
            if len(self._sorted) < self.size:
                self._sorted = self._all()
            return self._sorted[positions]
        values = self._feistel(positions.astype(np.uint64))
        # cycle walking: the network permutes a power of four that covers size; walk until inside
        outside = values >= np.uint64(self.size)
        while outside.any():
            values[outside] = self._feistel(values[outside])
            outside = values >= np.uint64(self.size)
        return values.astype(np.int64)

    def _lowest(self, most: int) -> npt.NDArray[np.int64]:
        """The numbers whose hashes are at most ``most``, sorted by hash: the beginning of the order.

        The hash is injective, so there are no ties and any sort gives the same order.
        """
        rows: list[npt.NDArray[np.int64]] = []
        keys: list[U64] = []
        for start in range(0, self.size, BLOCK):
            block = np.arange(start, min(start + BLOCK, self.size), dtype=np.uint64)
            hashes = self._hashes(block)
            low = hashes <= np.uint64(most)
            keys.append(hashes[low])
            rows.append(block[low].view(np.int64))
        order: npt.NDArray[np.int64] = np.concatenate(rows)[np.argsort(np.concatenate(keys))]
        return order

    def _all(self) -> npt.NDArray[np.int64]:
        return np.argsort(self._hashes(np.arange(self.size, dtype=np.uint64))).astype(np.int64, copy=False)

    def _hashes(self, numbers: U64) -> U64:
        return _scramble(numbers ^ np.uint64(self.key & _MASK))

    def _feistel(self, x: U64) -> U64:
        half = np.uint64(max(1, ((self.size - 1).bit_length() + 1) // 2))
        mask = np.uint64((1 << int(half)) - 1)
        left, right = x >> half, x & mask
        for round_index in range(6):
            left, right = (
                right,
                left ^ (_scramble(right ^ np.uint64(hash_integers(self.key, round_index))) & mask),
            )
        return (left << half) | right


def is_generator(value: Any) -> bool:
    """Whether an object is a random number generator of Python or numpy, whose state changes with every call.

    >>> is_generator(np.random.default_rng(1)), is_generator(1)
    (True, False)
    """
    generator_classes = (
        ("random", ("Random",)),
        ("numpy.random", ("Generator", "RandomState", "BitGenerator")),
    )
    types = [
        getattr(sys.modules[module], name)
        for module, names in generator_classes
        if module in sys.modules
        for name in names
    ]
    return isinstance(value, tuple(types))
