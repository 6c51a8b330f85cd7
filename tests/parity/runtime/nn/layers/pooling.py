"""Pooling."""

from tests.parity.runtime.nn.layers import cases_of, make

case = cases_of(__name__)

X1, X2, X3 = make(2, 3, 9), make(2, 3, 8, 7), make(1, 2, 5, 6, 7)
for name, x in (
    ("MaxPool1d", X1), ("MaxPool2d", X2), ("MaxPool3d", X3), ("AvgPool1d", X1), ("AvgPool2d", X2), ("AvgPool3d", X3),
):  # fmt: skip
    case(name, [x])
    case(name, [x], 3)
    case(name, [x], 3, 2)
    case(name, [x], 3, 2, "same")
    case(name, [x], kernel_size=2, stride=2, pad_mode="same")
    case(name, [x], 3, 2, pad_mode="pad", padding=1)
    case(name, [x], 3, 2, pad_mode="pad", padding=1, ceil_mode=True)
    case(name, [x], 3, 2, padding=1)
    case(name, [x], 0)
    case(name, [x], 3, 0)
    case(name, [x], 3, pad_mode="full")
    case(name, [x], "a")
    case(name, [x], 3, pad_mode="pad", padding=2)
    case(name, [make(3, 9) if name.endswith("1d") else x[0]], 2, 2)
    if name.startswith("Max"):
        case(name, [x], 2, 2, return_indices=True, pad_mode="pad")
        case(name, [x], 2, 1, pad_mode="pad", dilation=2)
        case(name, [x], 2, 2, return_indices=True)
    else:
        case(name, [x], 3, 2, pad_mode="pad", padding=1, count_include_pad=False)
        case(name, [x], 3, 2, pad_mode="PAD", padding=1)
        if name != "AvgPool1d":
            case(name, [x], 2, 2, pad_mode="pad", divisor_override=3)
case("MaxPool2d", [X2], (3, 2), (1, 2))
case(
    "MaxPool2d",
    [make(2, 8, 7, 3)],
    3,
    2,
    data_format="NHWC",
    options={"better": "MindSpore takes NHWC on a GPU only"},
)
case(
    "AvgPool2d",
    [make(2, 8, 7, 3)],
    3,
    2,
    data_format="NHWC",
    options={"better": "MindSpore takes NHWC on a GPU only"},
)
case("AvgPool2d", [X2], (3, 2), (1, 2))
case("AdaptiveAvgPool1d", [make(2, 3, 6)], 2)
case("AdaptiveAvgPool1d", [make(2, 3, 6)], "a")
case("AdaptiveAvgPool2d", [X2], 3)
case("AdaptiveAvgPool2d", [X2], (None, 3))
case("AdaptiveAvgPool2d", [X2], (1, 1))
case("AdaptiveAvgPool2d", [X2[0]], (2, 5))
case("AdaptiveAvgPool3d", [X3], 3)
case("AdaptiveAvgPool3d", [X3], (None, 3, 2))
case("AdaptiveMaxPool1d", [make(2, 3, 6)], 2)
case("AdaptiveMaxPool1d", [make(2, 3, 6)], 0)
case("AdaptiveMaxPool2d", [X2], 3)
case("AdaptiveMaxPool2d", [X2], (None, 3), return_indices=True)
case("AdaptiveMaxPool2d", [X2], (1, 1))
case("AdaptiveMaxPool3d", [X3], 3)
case("AdaptiveMaxPool3d", [X3], (2, 3, 2), return_indices=True)
case("LPPool1d", [make(2, 3, 6, low=0)], 2.0, 3)
case("LPPool1d", [make(2, 3, 6, low=0)], norm_type=1, kernel_size=2, stride=1, ceil_mode=True)
case("LPPool2d", [make(2, 3, 6, 7, low=0)], 2, 3)
case("LPPool2d", [make(2, 3, 6, 7, low=0)], 3.0, (2, 3), stride=(1, 2))
case("LPPool2d", [make(2, 3, 6, 7, low=0)], "a", 3)
case("MaxUnpool1d", [make(1, 1, 3), make(1, 1, 3, dtype="int64", low=0, high=5)], 2, options={"grads": False})
case(
    "MaxUnpool2d",
    [make(1, 1, 2, 2), make(1, 1, 2, 2, dtype="int64", low=0, high=15)],
    2,
    options={"grads": False},
)
case(
    "MaxUnpool2d",
    [make(1, 1, 2, 2), make(1, 1, 2, 2, dtype="int64", low=0, high=15)],
    kernel_size=2,
    stride=2,
    padding=0,
    options={"grads": False},
)
case(
    "MaxUnpool3d",
    [make(1, 1, 2, 1, 2), make(1, 1, 2, 1, 2, dtype="int64", low=0, high=30)],
    2,
    options={"grads": False},
)
SAMPLES = make(2, 3, 2, low=0, high=1)
case(
    "FractionalMaxPool2d",
    [make(2, 3, 8, 8)],
    3,
    output_size=(3, 3),
    _random_samples=SAMPLES,
    options={"grads": False},
)
case(
    "FractionalMaxPool2d",
    [make(2, 3, 8, 8)],
    3,
    output_ratio=(0.5, 0.4),
    _random_samples=SAMPLES,
    return_indices=True,
    options={"grads": False},
)
case(
    "FractionalMaxPool2d",
    [make(2, 3, 8, 8)],
    3,
    output_size=(3, 3),
    output_ratio=(0.5, 0.5),
    options={"random": True, "grads": False},
)
SAMPLES3 = make(2, 3, 3, low=0, high=1)
case("FractionalMaxPool3d", [make(2, 3, 8, 8, 8)], 3, output_size=(3, 3, 3), _random_samples=SAMPLES3)
case(
    "FractionalMaxPool3d",
    [make(2, 3, 8, 8, 8)],
    3,
    output_ratio=(0.5, 0.5, 0.5),
    _random_samples=SAMPLES3,
    return_indices=True,
)
for name, x in (("AvgPool1dExt", X1), ("AvgPool2dExt", X2), ("AvgPool3dExt", X3), ("MaxPool2dExt", X2)):
    case(name, [x], 3)
    case(name, [x], 3, stride=2, padding=1, ceil_mode=True)
