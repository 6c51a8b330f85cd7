"""Layers that join several."""

from tests.parity.runtime.nn.layers import cases_of, make

case = cases_of(__name__)

X = make(2, 3, 6, 6)
case("Conv2dBnAct", [X], 3, 4, 3)
case("Conv2dBnAct", [X], 3, 4, 3, has_bn=True, activation="relu", options={"train": True})
case(
    "Conv2dBnAct",
    [X],
    3,
    4,
    3,
    stride=2,
    pad_mode="pad",
    padding=1,
    has_bias=True,
    activation="leakyrelu",
    alpha=0.1,
)
case("Conv2dBnAct", [X], 3, 4, 3, has_bn=True, momentum=0.9, eps=1e-3)
case("DenseBnAct", [make(4, 3)], 3, 2)
case("DenseBnAct", [make(4, 3)], 3, 2, has_bn=True, activation="relu", options={"train": True})
case("DenseBnAct", [make(4, 3)], 3, 2, has_bias=False, activation="leakyrelu")
