"""Normalisation."""

from tests.parity.runtime.nn.layers import Later, cases_of, made, make

case = cases_of(__name__)
float16 = Later("float16")

X1, X2, X3 = make(4, 3), make(4, 3, 5, 4), make(2, 3, 3, 4, 3)
for name, x in (("BatchNorm1d", X1), ("BatchNorm2d", X2), ("BatchNorm3d", X3), ("SyncBatchNorm", X2)):
    case(name, [x], 3)
    case(name, [x], 3, options={"train": True})
    case(name, [x], 3, 1e-3, 0.7, options={"train": True})
    case(name, [x], 3, affine=False, options={"train": True})
    case(name, [x], 3, use_batch_statistics=True)
    case(name, [x], 3, use_batch_statistics=False, options={"train": True})
    case(
        name,
        [x],
        3,
        gamma_init=made("common.initializer.Normal"),
        beta_init=0.5,
        moving_mean_init="ones",
        moving_var_init=2.0,
    )
    case(name, [x], 3, momentum=1.5)
    case(name, [x], 0)
    case(name, [x], "a")
    case(name, [x], 5)
    case(name, [x], 3, eps=-1.0)
    case(name, [x], 3, momentum=0.0, options={"train": True})
case("BatchNorm1d", [make(4, 3, 6)], 3, options={"train": True})
case("BatchNorm1d", [X2], 3)
case("BatchNorm2d", [X1], 3)
case(
    "BatchNorm2d",
    [make(4, 5, 4, 3)],
    3,
    data_format="NHWC",
    options={"better": "MindSpore takes NHWC on a GPU only"},
)
case("BatchNorm2d", [make(4, 3, 5, 4, dtype="float16")], 3, options={"train": True})
case("BatchNorm2d", [make(1, 3, 1, 1)], 3, options={"train": True})
case("LayerNorm", [make(2, 3, 4)], (4,))
case("LayerNorm", [make(2, 3, 4)], [3, 4], begin_norm_axis=1, begin_params_axis=1)
case("LayerNorm", [make(2, 3, 4)], (4,), epsilon=1e-5, gamma_init="zeros", beta_init="ones")
case(
    "LayerNorm",
    [make(2, 3, 4)],
    (3, 4),
    begin_norm_axis=-2,
    begin_params_axis=-2,
    options={"better": "MindSpore takes -1 and up"},
)
case("LayerNorm", [make(2, 3, 4, dtype="float16")], (4,), dtype=float16, options={"tolerance": 3e-3})
case("LayerNorm", [make(2, 3, 4)], 4)
case("LayerNorm", [make(2, 3, 4)], (5,))
case("LayerNorm", [make(2, 3, 4)], ())
case("LayerNorm", [make(2, 3, 4)], (4,), begin_norm_axis=1.5)
case("LayerNormExt", [make(2, 3, 4)], (4,))
case("LayerNormExt", [make(2, 3, 4)], [3, 4], eps=1e-3)
case("LayerNormExt", [make(2, 3, 4)], 4, elementwise_affine=False)
case("LayerNormExt", [make(2, 3, 4)], 4, bias=False)
case("GroupNorm", [make(2, 6, 4, 3)], 2, 6)
case("GroupNorm", [make(2, 6, 4, 3)], 3, 6, 1e-3, False)
case("GroupNorm", [make(2, 6, 4, 3)], 2, 6, gamma_init="zeros", beta_init="normal")
case("GroupNorm", [make(2, 6, 4, 3)], 4, 6)
case("GroupNorm", [make(2, 6)], 2, 6)
case("GroupNorm", [make(2, 4, 4, 3)], 2, 6)
case("GroupNorm", [make(2, 6, 4, 3)], "a", 6)
OURS = {"better": "MindSpore has no InstanceNorm for a CPU, and cannot make the layer there"}
for name, x in (("InstanceNorm1d", make(2, 3, 5)), ("InstanceNorm2d", X2), ("InstanceNorm3d", X3)):
    case(name, [x], 3, options=OURS)
    case(name, [x], 3, options={"train": True, **OURS})
    case(name, [x], 3, affine=False, options=OURS)
    case(name, [x], 3, eps=1e-3, momentum=0.5, gamma_init="zeros", beta_init="ones", options=OURS)
    case(name, [x], 0)
    case(name, [x], 3, momentum=2.0)
