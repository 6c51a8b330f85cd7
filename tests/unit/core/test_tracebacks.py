"""Errors of Millrace reach the user without internal frames, unless MILLRACE_TRACEBACK=full."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

import millrace.dataset as ds
from millrace._src.core.tracebacks import VARIABLE, hide_internal_frames, hides_internal_frames
from millrace.dataset import vision
from millrace.errors import ArgumentValueError, DataError, MillraceError


def invalid_argument() -> None:
    vision.Resize(-1)


def failing_row() -> None:
    def fails(x: object) -> object:
        raise KeyError("of the user")

    for _ in ds.NumpySlicesDataset([1, 2], shuffle=False).map(fails):
        pass


def invalid_operation() -> None:
    pytest.importorskip("torch")
    from millrace import Tensor, ops

    ops.matmul(Tensor([[1.0, 2.0]]), Tensor([[1.0, 2.0]]))


def frames(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def raised(call: Callable[[], None]) -> MillraceError:
    with pytest.raises(MillraceError) as info:
        call()
    return info.value


@pytest.mark.parametrize("call", [invalid_argument, failing_row, invalid_operation])
def test_frames_are_those_of_the_user(call: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert set(frames(raised(call))) == {__file__}


@pytest.mark.parametrize("call", [invalid_argument, failing_row, invalid_operation])
def test_the_variable_keeps_every_frame(call: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "full")
    assert any("_src" in file for file in frames(raised(call)))


def test_text_and_type_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = {}
    for value in ("", "full"):
        monkeypatch.setenv(VARIABLE, value)
        errors[value] = raised(invalid_argument)
    assert type(errors[""]) is type(errors["full"]) is ArgumentValueError
    assert str(errors[""]) == str(errors["full"])


def test_the_cause_shows_the_line_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    error = raised(failing_row)
    assert isinstance(error, DataError)
    assert isinstance(error.__cause__, KeyError)
    assert set(frames(error.__cause__)) == {__file__}


def test_an_error_of_another_class_keeps_its_frames() -> None:
    from millrace._src.core import tracebacks

    @hides_internal_frames
    def defect() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as info:
        defect()
    assert tracebacks.__file__ in frames(info.value)


def test_causes_in_a_circle_end() -> None:
    first, second = MillraceError("1"), MillraceError("2")
    first.__cause__, second.__cause__ = second, first
    hide_internal_frames(first)
