"""Q35: how do I set a Conv2d so that the output has the size of the input?"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import Tensor, nn


def image(*shape: int) -> Tensor:
    return Tensor(np.ones(shape, np.float32))


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5, (3, 5)])
def test_same_keeps_height_and_width_for_every_kernel(kernel) -> None:
    net = nn.Conv2d(3, 4, kernel, pad_mode="same")
    assert net(image(2, 3, 17, 20)).shape == (2, 4, 17, 20)


def test_same_is_what_it_does_unless_told_otherwise() -> None:
    assert nn.Conv2d(3, 4, 3)(image(1, 3, 9, 9)).shape == (1, 4, 9, 9)


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ({"pad_mode": "same", "stride": 2}, (1, 4, 5, 5)),
        ({"pad_mode": "valid"}, (1, 4, 7, 7)),
        ({"pad_mode": "pad", "padding": 1}, (1, 4, 9, 9)),
        ({"pad_mode": "pad", "padding": 2, "dilation": 2}, (1, 4, 9, 9)),
    ],
)
def test_the_other_ways_to_pad(given, shape) -> None:
    assert nn.Conv2d(3, 4, 3, **given)(image(1, 3, 9, 9)).shape == shape


def test_padding_with_same_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="'padding' must be zero"):
        nn.Conv2d(3, 4, 3, pad_mode="same", padding=1)
