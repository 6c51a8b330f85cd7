"""Callback base class, run context, and the dispatch of events to callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, Literal, Self

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor

__all__ = [
    "Callback",
    "CallbackList",
    "CallbackParams",
    "RunContext",
    "callback_states",
    "load_callback_states",
    "callback_tensors",
]

# Events of training and evaluation. The older names stand for both: `step_end` is on_train_step_end, and
# on_eval_step_end where a class does not define that one.
EVENTS = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")


@public("train", "millrace")
class Callback:
    """Base class of callbacks: override the methods of the events that you need.

    ``on_train_*`` are called while training, ``on_eval_*`` while evaluating; ``begin``, ``epoch_begin``,
    ``step_begin``, ``step_end``, ``epoch_end`` and ``end`` are older names for both. Each gets the
    :class:`RunContext`. A callback is entered (``__enter__``) before the first event and exited (``__exit__``) after
    the last, also on errors.

    >>> class Count(Callback):
    ...     steps = 0
    ...
    ...     def on_train_step_end(self, run_context):
    ...         self.steps = run_context.original_args().cur_step_num
    >>> count = Count()
    >>> count.on_train_step_end(RunContext(CallbackParams(cur_step_num=3)))
    >>> count.steps
    3
    """

    # Attributes that a checkpoint saves and a resumed run restores after `on_train_begin`: numbers, strings, lists.
    state_attributes: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *err: object) -> None:
        """Nothing to release."""

    def state_tensors(self) -> dict[str, Tensor]:
        """Tensors that a checkpoint saves in addition to `state_attributes`."""
        return {}

    def load_state_tensors(self, values: dict[str, Tensor]) -> None:
        """Restore the tensors of :meth:`state_tensors`; a resumed run calls it after `state_attributes`."""

    def begin(self, run_context: RunContext) -> None:
        """Called once before a training, and before an evaluation."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Called before each epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Called before each step."""

    def step_end(self, run_context: RunContext) -> None:
        """Called after each step."""

    def epoch_end(self, run_context: RunContext) -> None:
        """Called after each epoch."""

    def end(self, run_context: RunContext) -> None:
        """Called once after a training, and after an evaluation."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Called once before a training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Called before each epoch of a training."""
        self.epoch_begin(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Called before each step of a training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Called after each step of a training."""
        self.step_end(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Called after each epoch of a training; an evaluation by ``Model.fit`` comes before."""
        self.epoch_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """Called once after a training."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Called once before an evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Called before the only epoch of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Called before each step of an evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Called after each step of an evaluation."""
        self.step_end(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Called after the only epoch of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Called once after an evaluation."""
        self.end(run_context)


class _MissingAttributeError(KeyError, AttributeError):
    """A missing callback parameter: a KeyError as in MindSpore, and an AttributeError for ``getattr`` defaults."""

    __str__ = AttributeError.__str__


class CallbackParams(dict[str, Any]):
    """Parameters of a run for callbacks: a dict whose entries are also attributes.

    >>> params = CallbackParams(cur_step_num=1)
    >>> params.epoch_num = 10
    >>> params.cur_step_num, params["epoch_num"], getattr(params, "metrics", None)
    (1, 10, None)
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise _MissingAttributeError(
                f"'{name}' is not known at this moment of the run; there are: {', '.join(sorted(self)) or 'none'}."
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        self.pop(name, None)


@public("train", "millrace")
class RunContext:
    """Context of a run for callbacks: ``original_args()`` returns its parameters, ``request_stop()`` stops it.

    ``original_args()`` has, among others, ``cur_epoch_num`` and ``cur_step_num`` (both count from 1), ``batch_num``,
    ``epoch_num``, ``net_outputs`` (the loss, while training), ``network``, ``train_network``, ``optimizer``,
    ``loss_fn``, ``train_dataset`` and, after an evaluation, ``metrics``.

    >>> context = RunContext(CallbackParams(cur_epoch_num=1))
    >>> context.request_stop()
    >>> context.get_stop_requested(), context.original_args().cur_epoch_num
    (True, 1)
    """

    def __init__(self, original_args: dict[str, Any]) -> None:
        if not isinstance(original_args, dict):
            raise ArgumentTypeError(
                "The argument 'original_args' of RunContext should be dict type, but got "
                f"{type(original_args)}."
            )
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> Any:
        """The parameters of the run."""
        return self._original_args

    def request_stop(self) -> None:
        """Stop the training after this step; the events at the end of the epoch and training still occur."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether a stop was requested."""
        return self._stop_requested


def callback_states(callbacks: Iterable[Callback]) -> dict[str, dict[str, Any]]:
    """State attributes of callbacks, by position and class.

    >>> class Count(Callback):
    ...     state_attributes = ("steps",)
    ...     steps = 3
    >>> callback_states([Count()])
    {'0 Count': {'steps': 3}}
    """
    return {
        f"{number} {type(each).__name__}": {
            name: _to_python_number(getattr(each, name)) for name in each.state_attributes
        }
        for number, each in enumerate(callbacks)
        if each.state_attributes
    }


def callback_tensors(callbacks: Iterable[Callback]) -> dict[str, Tensor]:
    """State tensors of callbacks, by position, class and name."""
    return {
        f"{number} {type(each).__name__}.{name}": value
        for number, each in enumerate(callbacks)
        for name, value in each.state_tensors().items()
    }


def load_callback_states(
    callbacks: Iterable[Callback], kept: dict[str, dict[str, Any]], values: dict[str, Tensor]
) -> None:
    """Restore the values of :func:`callback_states` and :func:`callback_tensors`.

    A callback that is new, or at another position in the list, starts as it is.
    """
    for number, each in enumerate(callbacks):
        key = f"{number} {type(each).__name__}"
        for name, value in kept.get(key, {}).items():
            if name in each.state_attributes:
                setattr(each, name, value)
        if key in kept:
            callback_values = {name: value for name, value in values.items() if name.startswith(f"{key}.")}
            each.load_state_tensors(
                {name.removeprefix(f"{key}."): value for name, value in callback_values.items()}
            )


def _to_python_number(value: Any) -> Any:
    """Convert a number of a tensor or array to a Python number."""
    return value.item() if hasattr(value, "item") else value


class CallbackList:
    """A list of callbacks that dispatches each event to the callbacks that override it, in order.

    Use it as a context manager: it enters and exits the callbacks.
    """

    def __init__(self, callbacks: Any = None) -> None:
        self.callbacks = check_callbacks(callbacks)
        self._handlers: dict[str, tuple[Callable[[RunContext], Any], ...]] = {
            f"on_{what}_{moment}": () for what in ("train", "eval") for moment in EVENTS
        }

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.callbacks = [stack.enter_context(each) for each in self.callbacks]
            self._stack = stack.pop_all()
        for each in self.callbacks:
            self.add(each)
        return self

    def add(self, callback: Callback) -> None:
        """Add an internal callback."""
        for what in ("train", "eval"):
            for moment in EVENTS:
                name = f"on_{what}_{moment}"
                if _overrides(callback, name, moment):
                    self._handlers[name] = (*self._handlers[name], getattr(callback, name))

    def __exit__(self, *err: Any) -> bool | None:
        return self._stack.__exit__(*err)

    def call(self, moment: str, run_context: RunContext) -> None:
        """Call the methods of an event, such as ``on_train_step_end``."""
        for method in self._handlers[moment]:
            method(run_context)

    def watched(self, moment: str) -> bool:
        """Whether any callback overrides the method of an event."""
        return bool(self._handlers[moment])


def check_callbacks(callbacks: Any, known: Literal["callbacks"] = "callbacks") -> list[Callback]:
    """Check the callbacks argument (None, one, several), and return a list."""
    if isinstance(callbacks, Callback):
        return [callbacks]
    callback_list = (
        list(callbacks) if isinstance(callbacks, Iterable) else [] if callbacks is None else [callbacks]
    )
    for each in callback_list:
        if not isinstance(each, Callback):
            raise ArgumentTypeError(
                f"When the '{known}' is a list, the elements in '{known}' must be Callback functions, but got "
                f"{each!r}; write a class over millrace.train.Callback, and give an object of it."
            )
    return callback_list


def _overrides(callback: Callback, *names: str) -> bool:
    """Whether a callback overrides one of these methods."""
    return any(
        name in vars(callback) or getattr(type(callback), name) is not getattr(Callback, name)
        for name in names
    )
