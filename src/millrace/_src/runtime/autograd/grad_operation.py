"""``GradOperation``: the older interface of ``grad``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public

from .differentiation import differentiate
from .graph_step import as_graph_step

__all__ = ["GradOperation"]


@public("ops")
class GradOperation:
    """Create gradient functions: by the first input, by all inputs (`get_all`), by weights (`get_by_list`).

    With `sens_param` the last argument of the call is the gradient of the output.

    >>> from millrace._src.core.values.tensor import Tensor
    >>> gradients = GradOperation(get_all=True)(lambda x, y: x * y)
    >>> [g.item() for g in gradients(Tensor(2.0), Tensor(3.0))]
    [3.0, 2.0]
    """

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False) -> None:
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(value, bool):
                raise ArgumentTypeError(
                    f"For 'GradOperation', the '{name}' should be bool, but got {type(value).__name__}"
                )
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        if not callable(fn):
            raise ArgumentTypeError(
                f"For 'GradOperation', 'fn' must be a function or a Cell, but got {fn!r}."
            )

        def after_grad(*args: Any, **kwargs: Any) -> Any:
            return self._gradients(fn, weights, args, kwargs)

        return as_graph_step(fn, after_grad)

    def _gradients(self, fn: Any, weights: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        sens = None
        if self.sens_param:
            if "sens" in kwargs:
                sens = kwargs.pop("sens")
            elif args:
                args, sens = args[:-1], args[-1]
            else:
                raise ArgumentValueError(
                    "For 'GradOperation' with 'sens_param', the last argument is the sens value."
                )
        watched: list[Any] = []
        if self.get_by_list:
            watched = list(
                fn.trainable_params()
                if weights is None and hasattr(fn, "trainable_params")
                else weights or ()
            )
        inputs = self.get_all or not self.get_by_list
        positions = range(len(args)) if self.get_all else range(1 if inputs else 0)
        result = differentiate(fn, list(positions), watched, args, kwargs, sens=sens)
        input_gradients = tuple(gradient for gradient in result.inputs if gradient is not None)
        by_input: Any = input_gradients if self.get_all else input_gradients[0] if input_gradients else ()
        if not self.get_by_list:
            return by_input
        return (by_input, tuple(result.weights)) if self.get_all else tuple(result.weights)
