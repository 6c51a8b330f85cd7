"""Schedulers that are a function of the number of calls."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.tensor.parameter import Parameter

from .scheduler import LRScheduler

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]


def _check_int(value: Any, name: str, owner: str, what: str = "the '{}' must be int") -> int:
    if not isinstance(value, int):
        raise ArgumentTypeError(f"For '{owner}', {what.format(name)}, but got {type(value)}.")
    return value


def _check_float(value: Any, name: str, owner: str) -> float:
    if not isinstance(value, float):
        raise ArgumentTypeError(f"For '{owner}', the '{name}' must be float, but got {type(value)}.")
    return value


@public("experimental.optim.lr_scheduler")
class StepLR(LRScheduler):
    """Multiply the rate by `gamma` every `step_size` calls.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = StepLR(SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), 2, 0.5)
    >>> [scheduler.step() and scheduler.get_last_lr()[0].item() for _ in range(4)]
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = (
            _check_int(step_size, "step_size", "StepLR"),
            _check_float(gamma, "gamma", "StepLR"),
        )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        now = self._epoch != 0 and self._epoch % self.step_size == 0
        return [rate * self.gamma if now else rate for rate in self._rates]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self._epoch // self.step_size) for base in self._bases]


@public("experimental.optim.lr_scheduler")
class LinearLR(LRScheduler):
    """Linear change of the rate from `start_factor` to `end_factor` in `total_iters` calls.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = LinearLR(SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), 0.5, 1.0, 2)
    >>> [scheduler.step() and scheduler.get_last_lr()[0].item() for _ in range(3)]
    [0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ArgumentValueError(
                "Starting multiplicative factor expected to be greater than 0 and less than or equal to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ArgumentValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = _check_int(total_iters, "total_iters", "LinearLR", "the type of {} must be int")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch, rise = self._epoch, self.end_factor - self.start_factor
        if epoch == 0:
            return [rate * self.start_factor for rate in self._rates]
        if epoch > self.total_iters:
            return self._rates
        factor = 1.0 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise)
        return [rate * factor for rate in self._rates]

    def _get_closed_form_lr(self) -> list[Any]:
        rise = self.end_factor - self.start_factor
        factor = self.start_factor + rise * min(self.total_iters, self._epoch) / self.total_iters
        return [base * factor for base in self._bases]


@public("experimental.optim.lr_scheduler")
class ConstantLR(LRScheduler):
    """`factor` times the rate for `total_iters` calls, then the full rate.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = ConstantLR(SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), 0.5, 2)
    >>> [scheduler.step() and scheduler.get_last_lr()[0].item() for _ in range(3)]
    [0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ArgumentValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = _check_int(total_iters, "total_iters", "ConstantLR", "the type of {} must be int")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self._epoch == 0:
            return [rate * self.factor for rate in self._rates]
        if self._epoch != self.total_iters:
            return self._rates
        return [rate / self.factor for rate in self._rates]

    def _get_closed_form_lr(self) -> list[Any]:
        whole = self._epoch >= self.total_iters
        return [base * (1.0 if whole else self.factor) for base in self._bases]


@public("experimental.optim.lr_scheduler")
class ExponentialLR(LRScheduler):
    """Multiply the rate by `gamma` in every call.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = ExponentialLR(SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), 0.5)
    >>> [scheduler.step() and scheduler.get_last_lr()[0].item() for _ in range(3)]
    [0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = _check_float(gamma, "gamma", "ExponentialLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return [rate if self._epoch == 0 else rate * self.gamma for rate in self._rates]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self._epoch for base in self._bases]


@public("experimental.optim.lr_scheduler")
class PolynomialLR(LRScheduler):
    """Polynomial decay of the rate to 0 in `total_iters` calls.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = PolynomialLR(SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), 4)
    >>> [scheduler.step() and round(scheduler.get_last_lr()[0].item(), 6) for _ in range(3)]
    [0.75, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.power = _check_float(power, "power", "PolynomialLR")
        if power < 0:
            raise ArgumentValueError(f"For 'PolynomialLR', the 'power' must be >= 0, but got {power}.")
        self.total_iters = _check_int(
            total_iters, "total_iters", "PolynomialLR", "the type of {} must be int"
        )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch, total = self._epoch, self.total_iters
        if epoch == 0 or epoch > total:
            return self._rates
        factor = ((1.0 - epoch / total) / (1.0 - (epoch - 1) / total)) ** self.power
        return [rate * factor for rate in self._rates]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self._epoch) / self.total_iters
        return [base * left**self.power for base in self._bases]


def _lambdas_by_group(optimizer: Any, lr_lambda: Any) -> list[Any]:
    count = len(optimizer.param_groups)
    if isinstance(lr_lambda, (list, tuple)):
        if len(lr_lambda) != count:
            raise ArgumentValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        return list(lr_lambda)
    return [lr_lambda] * count


@public("experimental.optim.lr_scheduler")
class LambdaLR(LRScheduler):
    """The initial rate times a function of the number of calls, or a function for each group.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = LambdaLR(
    ...     SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), lambda epoch: 1 / (1 + epoch)
    ... )
    >>> [scheduler.step() and scheduler.get_last_lr()[0].item() for _ in range(3)]
    [0.5, 0.3333333432674408, 0.25]
    """

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _lambdas_by_group(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self.last_epoch) for function, base in pairs]


@public("experimental.optim.lr_scheduler")
class MultiplicativeLR(LRScheduler):
    """The current rate times a function of the number of calls.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = MultiplicativeLR(
    ...     SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), lambda epoch: 0.5
    ... )
    >>> [scheduler.step() and scheduler.get_last_lr()[0].item() for _ in range(3)]
    [0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _lambdas_by_group(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self._epoch <= 0:
            return self._rates
        pairs = zip(self.lr_lambdas, self._last_lr, strict=True)
        return [rate * function(self.last_epoch) for function, rate in pairs]


@public("experimental.optim.lr_scheduler")
class MultiStepLR(LRScheduler):
    """Multiply the rate by `gamma` at each of `milestones`.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = MultiStepLR(SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), [1, 3], 0.5)
    >>> [scheduler.step() and scheduler.get_last_lr()[0].item() for _ in range(3)]
    [0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Any, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        check_argument_type(milestones, "milestones", "", list)
        for milestone in milestones:
            if not isinstance(milestone, int):
                raise ArgumentTypeError(
                    "For 'MultiStepLR', elements of the 'milestones' must be type of int, but got one element of "
                    f"'milestones' type: {type(milestone)}."
                )
        check_argument_type(gamma, "gamma", "", float, int)
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        factor = self.gamma ** self.milestones[int(self._epoch)]
        return [rate * factor for rate in self._rates]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = sum(count for milestone, count in self.milestones.items() if milestone <= self._epoch)
        return [base * self.gamma**passed for base in self._bases]


@public("experimental.optim.lr_scheduler")
class CosineAnnealingLR(LRScheduler):
    """Cosine annealing from the rate to `eta_min` in `T_max` calls, and back.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = CosineAnnealingLR(SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), 2)
    >>> [scheduler.step() and round(scheduler.get_last_lr()[0].item(), 6) for _ in range(3)]
    [0.5, 0.0, 0.5]
    """

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not isinstance(eta_min, (float, int)):
            raise ArgumentTypeError(
                f"For 'CosineAnnealingLR', the 'eta_min' must be float or int, but got {type(eta_min)}."
            )
        self.T_max, self.eta_min = _check_int(T_max, "T_max", "CosineAnnealingLR"), eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch, low = self._epoch, self.eta_min
        if epoch == 0:
            return self._rates
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - low) * rise for base, rate in zip(self._bases, self._rates, strict=True)]
        current_wave, previous_wave = (
            1 + math.cos(math.pi * number / self.T_max) for number in (epoch, epoch - 1)
        )
        return [current_wave / previous_wave * (rate - low) + low for rate in self._rates]

    def _get_closed_form_lr(self) -> list[Any]:
        wave = (1 + math.cos(math.pi * self._epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self._bases]


@public("experimental.optim.lr_scheduler")
class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing from the rate to `eta_min` with warm restarts: after `T_0` calls, then after `T_mult`
    times as many each time.

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = CosineAnnealingWarmRestarts(SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), 2)
    >>> [scheduler.step() or round(scheduler.get_last_lr()[0].item(), 6) for _ in range(3)]
    [0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Any,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ArgumentValueError(f"T_0 should be an integer and equal or greater than 0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ArgumentValueError(
                f"T_mult should be an integer and equal or greater than 1, but got {T_mult}"
            )
        check_argument_type(eta_min, "eta_min", "", float, int)
        self.T_0 = Parameter(Tensor(float(T_0), float32), name="T_0")
        self.T_i = Parameter(Tensor(float(T_0), float32), name="T_i")
        self.T_cur = Parameter(Tensor(float(last_epoch), float32), name="T_cur")
        self.T_mult, self.eta_min = T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        wave = (1 + math.cos(math.pi * self.T_cur.item() / self.T_i.item())) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self._bases]

    def step(self, epoch: Any = None) -> Any:
        """Advance by one call, or to the given number, which may be a fraction."""
        if epoch is None and self._epoch < 0:
            epoch = 0
        first, length = self.T_0.item(), self.T_i.item()
        if epoch is None:
            epoch, done = self._epoch + 1, self.T_cur.item() + 1
            if done >= length:
                done, length = done - length, length * self.T_mult
        else:
            epoch = float(epoch)
            if epoch < 0:
                raise ArgumentValueError(f"epoch should be a non-negative integer, but got {epoch}")
            done, length = epoch, first
            if epoch >= first and self.T_mult == 1:
                done = epoch % first
            elif epoch >= first:
                passed = int(math.log(epoch / first * (self.T_mult - 1) + 1, self.T_mult))
                done = epoch - first * (self.T_mult**passed - 1) / (self.T_mult - 1)
                length = first * self.T_mult**passed
        self.T_cur.set_data(Tensor(float(done), float32))
        self.T_i.set_data(Tensor(float(length), float32))
        self.last_epoch.set_data(Tensor(float(math.floor(epoch)), float32))
        self._write(self.get_lr())


@public("experimental.optim.lr_scheduler")
class CyclicLR(LRScheduler):
    """Cyclic rates between `base_lr` and `max_lr`: ``triangular``, ``triangular2`` (half the amplitude in
    each cycle) or ``exp_range`` (amplitude times `gamma` per call).

    >>> from millrace.experimental.optim import SGD
    >>> scheduler = CyclicLR(SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0), 0.0, 1.0, 2)
    >>> [scheduler.step() and scheduler.get_last_lr()[0].item() for _ in range(4)]
    [0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Any = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
    ) -> None:
        low, high = (
            self._values_by_group(optimizer, v, n) for v, n in ((base_lr, "base_lr"), (max_lr, "max_lr"))
        )
        if last_epoch == -1:
            for rate, kept in zip(low, optimizer.lrs, strict=True):
                kept.set_data(Tensor(float(rate), float32))
        self.max_lrs = [Tensor(float(rate), float32) for rate in high]
        down = step_size_up if step_size_down is None else step_size_down
        self.total_step_size = float(step_size_up + down)
        self.step_up_ratio = step_size_up / self.total_step_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ArgumentValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        super().__init__(optimizer, last_epoch)
        self.base_lrs = [Tensor(float(rate), float32) for rate in low]

    @staticmethod
    def _values_by_group(optimizer: Any, value: Any, name: str) -> list[Any]:
        count = len(optimizer.param_groups)
        if isinstance(value, (list, tuple)):
            if len(value) != count:
                raise ArgumentValueError(f"Expected {count} values for {name}, got {len(value)}")
            return list(value)
        return [value] * count

    def scale_fn(self, x: Any) -> Any:
        """The amplitude, by the number of the cycle or of the call."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        epoch = self._epoch
        cycle = math.floor(1 + epoch / self.total_step_size)
        x = 1.0 + epoch / self.total_step_size - cycle
        part = x / self.step_up_ratio if x <= self.step_up_ratio else (x - 1) / (self.step_up_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else epoch)
        return [
            base + (most.item() - base) * part * float(height)
            for base, most in zip(self._bases, self.max_lrs, strict=True)
        ]
