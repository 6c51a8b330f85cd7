"""Convolutions and their transposes."""

from tests.parity.runtime.nn.layers import Later, cases_of, made, make

case = cases_of(__name__)
float16 = Later("float16")

X1, X2, X3 = make(2, 4, 9), make(2, 4, 8, 7), make(1, 4, 5, 6, 5)
for name, x in (("Conv1d", X1), ("Conv2d", X2), ("Conv3d", X3)):
    case(name, [x], 4, 6, 3)
    case(name, [x], 4, 6, 3, stride=2)
    case(name, [x], 4, 6, 2, stride=2, has_bias=True)
    case(name, [x], 4, 6, 3, pad_mode="valid", weight_init="normal", bias_init="ones", has_bias=True)
    case(name, [x], 4, 6, 3, 2, "pad", 1, 1, 1, True)
    case(name, [x], 4, 6, 3, dilation=2, group=2)
    case(name, [x], 4, 6, 3, pad_mode="pad", padding=2, dilation=2)
    case(name, [x], 4, 6, 3, padding=1)
    case(name, [x], 4, 6, 3, pad_mode="full")
    case(name, [x], 4, 6, 3, group=3)
    case(name, [x], 4, 6, 0)
    case(name, [x], 4, 6, 3, stride=0)
    case(name, [x], "a", 6, 3)
    case(name, [x], 5, 6, 3)
    case(name, [x], 4, 6, (1.5, 2))
    case(name, [x], 4, 6, 3, has_bias=1)
    case(name, [make(3)], 4, 6, 3)
case("Conv2d", [X2], 4, 6, (3, 2), (1, 2), dilation=(2, 1))
case("Conv2d", [X2], 4, 4, 3, group=4)
case("Conv2d", [X2], 4, 4, 3, pad_mode="pad", padding=(1, 2, 0, 1))
case("Conv2d", [X2], 4, 4, 3, pad_mode="pad", padding=(1, 2))
case("Conv2d", [make(2, 4, 8, 8, dtype="float16")], 4, 2, 3, dtype=float16, options={"tolerance": 3e-3})
case(
    "Conv2d",
    [X2],
    4,
    3,
    3,
    weight_init=made("common.initializer.HeNormal"),
    has_bias=True,
    bias_init=made("common.initializer.Constant", 0.2),
)
case("Conv2d", [X2], 4, 2, 3, weight_init=make(2, 4, 3, 3), options={"whole": False})
case(
    "Conv2d",
    [make(2, 8, 7, 4)],
    4,
    2,
    3,
    data_format="NHWC",
    options={"better": "MindSpore takes NHWC on a GPU only"},
)
case("Conv2d", [X2], 4, 2, 3, data_format="NWHC")
case("Conv2d", [X2], 16, 64, 3)
case("Conv3d", [X3], 4, 2, (1, 2, 3), (2, 1, 1), pad_mode="pad", padding=(0, 1, 1, 0, 2, 1))
case("Conv1d", [make(4, 9)], 4, 6, 3)
for name, x in (("Conv1dTranspose", X1), ("Conv2dTranspose", X2), ("Conv3dTranspose", make(1, 4, 3, 3, 3))):
    case(name, [x], 4, 6, 3)
    case(name, [x], 4, 6, 3, stride=2)
    case(name, [x], 4, 6, 4, stride=2, has_bias=True)
    case(name, [x], 4, 6, 3, pad_mode="valid", stride=2)
    case(name, [x], 4, 6, 3, stride=2, pad_mode="pad", padding=1)
    case(name, [x], 4, 6, 3, pad_mode="valid", group=2)
    dilated = {"better": "MindSpore refuses dilation over three axes"} if "3d" in name else {}
    case(name, [x], 4, 6, 3, pad_mode="valid", dilation=2, options=dilated)
    case(name, [x], 4, 6, 3, padding=1)
    case(name, [x], 4, 6, 3, pad_mode="full")
    case(name, [x], 4, 6, 0)
    case(name, [x], 5, 6, 3)
    case(name, [x], 4, 2, 2, stride=3, pad_mode="valid")
    case(name, [x], 4, 2, 2, stride=3, pad_mode="pad", padding=0)
case("Conv2dTranspose", [X2], 4, 6, 3, 2, pad_mode="pad", padding=1, output_padding=1)
case("Conv2dTranspose", [X2], 4, 6, 3, 2, pad_mode="pad", padding=1, output_padding=(1, 0), has_bias=True)
case("Conv2dTranspose", [X2], 4, 6, (3, 2), (2, 1), pad_mode="pad", padding=(1, 0, 1, 0))
case("Conv2dTranspose", [X2], 4, 6, 3, output_padding=1)
case("Conv2dTranspose", [X2], 4, 6, 2, stride=3)
case("Conv3dTranspose", [make(1, 4, 3, 3, 3)], 4, 2, 3, 2, pad_mode="pad", padding=1, output_padding=1)
