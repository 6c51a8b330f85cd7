"""Layers that hold few or no weights: dense maps, dropout, shapes, clipping."""

from tests.parity.runtime.nn.layers import Later, cases_of, made, make

case = cases_of(__name__)
float16 = Later("float16")

X = make(2, 3)
case("Dense", [X], 3, 4)
case("Dense", [X], 3, 4, has_bias=False)
case("Dense", [make(2, 2, 3)], 3, 4, activation="relu")
case("Dense", [X], 3, 4, weight_init="ones", bias_init="zeros")
case(
    "Dense",
    [X],
    3,
    4,
    made("common.initializer.Normal", 0.02),
    made("common.initializer.Constant", 0.5),
    True,
    made("nn.GELU"),
)
case("Dense", [X], 3, 4, weight_init=make(4, 3), bias_init=make(4))
case("Dense", [make(2, 3, dtype="float16")], 3, 4, dtype=float16, options={"tolerance": 3e-3})
case("Dense", [make(2, 3, dtype="float64")], 3, 4)
case("Dense", [X], 30, 4)
case("Dense", [make(3)], 3, 4)
case("Dense", [X], 3, 4, activation=3)
case("Dense", [X], 3, 4, has_bias=1)
case("Dense", [X], 3, 4, weight_init=make(3, 4))
case("Dense", [X], 3, 4, bias_init=make(3))
case("Linear", [X], 3, 4)
case("Linear", [make(2, 2, 3)], 3, 4, bias=False)
case("Linear", [X], 3, 4, weight_init="ones", bias_init="zeros")
case("BiDense", [make(4, 3), make(4, 5)], 3, 5, 2)
case("BiDense", [make(4, 3), make(4, 5)], 3, 5, 2, has_bias=False, weight_init="normal")
case("BiDense", [make(4, 3), make(4, 5)], 3, 5, 2, weight_init=make(2, 5, 3))
case("BiDense", [make(4, 3), make(4, 5)], 3, 0, 2)
for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "DropoutExt"):
    shape = {"Dropout1d": (2, 3, 4), "Dropout2d": (2, 3, 4, 4), "Dropout3d": (2, 3, 4, 4, 4)}.get(
        name, (4, 4)
    )
    # MindSpore prints 1 - p as p of the layers over two and three axes
    whole = {"whole": name not in ("Dropout2d", "Dropout3d")}
    case(name, [make(*shape)], p=0.4, options=whole)
    case(name, [make(*shape)], p=0.4, options={"train": True, "random": True, "grads": False, **whole})
    case(name, [make(*shape)], p=0.0, options={"train": True, **whole})
    case(name, [make(*shape)], p=1.0, options={"train": True, **whole})
    if name != "DropoutExt":
        case(name, [make(*shape)], p=-0.1)
        case(name, [make(*shape)], p="a")
case("Dropout", [X])
case("Dropout", [X], keep_prob=0.9)
case("Dropout", [X], 1.0, options={"train": True})
case("Dropout", [X], keep_prob=0.0)
case("Dropout", [X], keep_prob=1.5)
case("Dropout", [X], p=1.0)
case("Flatten", [make(2, 3, 4)])
case("Flatten", [make(2, 3, 4, 5)], start_dim=1, end_dim=2)
case("Flatten", [make(2, 3, 4, 5)], 0)
case("Flatten", [make(3)], start_dim=0)
case("Flatten", [make(3)])
case("Flatten", [make(2, 3)], start_dim=5)
case("Flatten", [make(2, 3)], "a")
case("Unflatten", [make(2, 12)], 1, (3, 4))
case("Unflatten", [make(2, 12)], axis=1, unflattened_size=(2, -1))
case("Unflatten", [make(2, 12)], 1, (5, 2))
case("Unflatten", [make(2, 12)], "a", (5, 2))
case("Identity", [X])
case("Identity", [X], 1, a=2)
case("ClipByNorm", [make(4, 4), make(high=1, low=0.5)], options={"grads": False})
case(
    "ClipByNorm",
    [make(4, 4), make(1, low=0.5)],
    axis=0,
    options={"better": "MindSpore takes the norms of other elements"},
)
case("ClipByNorm", [make(4, 4), make(1, low=0.5)], axis=(0, 1), options={"grads": False})
case("ClipByNorm", [make(4, 4), make(low=100, high=101)], options={"grads": False})
case("ClipByNorm", [make(4, 4), make(low=0.5)], axis="a", options={"grads": False})
case("L1Regularizer", [make(3, 4)], 0.5)
case("L1Regularizer", [make(3, 4)], 2)
case("L1Regularizer", [make(3, 4)], -0.5)
case("L1Regularizer", [make(3, 4)], "a")
case("Norm", [make(3, 4)])
case("Norm", [make(3, 4)], axis=0)
case("Norm", [make(2, 3, 4)], axis=(0, 2), keep_dims=True)
case("OneHot", [make(2, 3, dtype="int32", low=0, high=4)], depth=4)
case("OneHot", [make(2, 3, dtype="int64", low=0, high=4)], axis=0, depth=3, on_value=2.0, off_value=-1.0)
case("OneHot", [make(3, dtype="int32", low=0, high=4)], axis=1, depth=4, dtype=float16)
case("OneHot", [make(3, dtype="int32", low=0, high=4)], axis=-2, depth=4)
for mode in ("CONSTANT", "REFLECT", "SYMMETRIC"):
    case("Pad", [make(3, 4)], ((1, 1), (2, 1)), mode)
    case("Pad", [make(2, 3, 4)], paddings=((0, 0), (1, 2), (2, 0)), mode=mode)
case("Pad", [make(3, 4)], ((1, 1), (2, 1)), "EDGE")
case("Pad", [make(3, 4)], [[1, 1], [2, 1]])
case("Pad", [make(3, 4)], ((1, 1, 1), (2, 1, 1)))
case("Unfold", [make(1, 2, 5, 5)], [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1])
case(
    "Unfold",
    [make(2, 2, 6, 7)],
    ksizes=[1, 3, 2, 1],
    strides=[1, 2, 1, 1],
    rates=[1, 1, 2, 1],
    padding="valid",
)
case(
    "Unfold",
    [make(2, 2, 6, 7)],
    ksizes=[1, 3, 2, 1],
    strides=[1, 2, 1, 1],
    rates=[1, 1, 1, 1],
    padding="same",
)
case("Unfold", [make(2, 2, 6, 7)], ksizes=[2, 3, 2, 1], strides=[1, 2, 1, 1], rates=[1, 1, 1, 1])
case("Tril", [make(3, 4)])
case("Tril", [make(3, 4), 1])
case("Triu", [make(3, 4)])
case("Triu", [make(2, 3, 4), -1])
case("Triu", [make(3, 4), 0.5])
case("MatrixDiag", [make(3)])
case("MatrixDiag", [make(2, 3)])
case("MatrixDiagPart", [make(3, 3)])
case("MatrixDiagPart", [make(2, 3, 4)])
case("MatrixSetDiag", [make(2, 3, 3), make(2, 3)])
case("MatrixSetDiag", [make(2, 3, 4), make(2, 3)])
case("Roll", [make(3, 4)], 1, 0)
case("Roll", [make(3, 4)], shift=[1, -2], axis=[0, 1])
case("Roll", [make(3, 4)], shift="a", axis=0)
case("TimeDistributed", [make(4, 3, 5)], made("nn.Dense", 5, 2), time_axis=1, reshape_with_axis=0)
case("TimeDistributed", [make(4, 3, 5)], made("nn.Dense", 5, 2), time_axis=1)
case("TimeDistributed", [make(4, 3, 5)], 3, time_axis=1)
