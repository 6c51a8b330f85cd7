"""Cases of distributions and bijectors: what is made, what it is asked. Imports nothing of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

CASES: dict[str, Case] = {}
# A kernel that this build has not got is no statement about the distribution.
LACKING = ("Kernel select failed", "Unsupported op", "unregistered", "Select CPU operator")


@dataclass
class Case:
    build: Any  # (library, tensor) -> distribution or bijector
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    better: str = ""


def make(*shape, seed=0, low=0.2, high=2.0, dtype="float32"):
    return np.random.RandomState(seed).uniform(low, high, shape).astype(dtype)


def live(ms: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ms.Tensor(value)
    if isinstance(value, str) and value.startswith("type:"):
        return getattr(ms, value[5:])
    return value


def build(ms: Any, spec: Any) -> Any:
    name, args, kwargs = spec
    module = ms.nn.probability.bijector if name.startswith("b:") else ms.nn.probability.distribution
    given = [build(ms, each) if isinstance(each, tuple) else live(ms, each) for each in args]
    return getattr(module, name.removeprefix("b:"))(*given, **{k: live(ms, v) for k, v in kwargs.items()})


def value_of(ms: Any, case: Case) -> Any:
    made = build(ms, case.build)
    if case.method == "print":
        return str(made)
    if case.method in ("batch_shape", "broadcast_shape", "is_scalar_batch", "seed", "name"):
        found = getattr(made, case.method)
        return list(found) if isinstance(found, tuple) else found
    args, kwargs = [live(ms, v) for v in case.args], {k: live(ms, v) for k, v in case.kwargs.items()}
    return made(case.method, *args, **kwargs)


def run(ms: Any, case: Case) -> dict[str, Any]:
    """What a case gives, as JSON; of an error its class and words."""
    try:
        return {"v": plain(value_of(ms, case), case.method)}
    except Exception as error:
        text = str(error)
        if any(words in text for words in LACKING):
            return {"lacking": True}
        return {"e": type(error).__name__, "m": text.strip()[:120]}


def plain(value: Any, method: str) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, list):
        return value
    if isinstance(value, tuple):
        return [plain(each, method) for each in value]
    array = value.asnumpy()
    made = {"d": str(value.dtype), "s": list(array.shape)}
    if method != "sample":
        made["x"] = [float(f"{float(each):.8g}") for each in array.reshape(-1)]
    return made


def case(spec, method, *args, better="", **kwargs):
    key = f"{spec[0]}.{method}"
    count = sum(name.rpartition("/")[0] == key for name in CASES)
    CASES[f"{key}/{count}"] = Case(spec, method, args, kwargs, better)


def of(name, /, *args, **kwargs):
    return name, args, kwargs


X = np.array([[0.3, 0.9], [1.4, 2.2]], np.float32)
WIDE = np.array([-1.5, -0.5, 0.0, 0.5, 1.0, 2.0], np.float32)
SCALAR = np.array(0.7, np.float32)
HALF = make(2, seed=5, low=0.2, high=0.8, dtype="float16")
VALUES = ("prob", "log_prob", "cdf", "log_cdf", "survival_function", "log_survival")
MOMENTS = ("mean", "mode", "sd", "var", "entropy")

# name -> parameters as numbers, as arrays, in calls, of the other distribution; the values it is asked about
TWO = ((0.5, 1.5), (make(2, seed=1), make(2, 1, seed=2)), (make(2, seed=3), make(2, seed=4)))
PROBS = ((0.3,), (make(2, seed=1, low=0.1, high=0.9),), (make(2, seed=3, low=0.1, high=0.9),))
FAMILIES = {
    "Normal": (*TWO, WIDE), "Cauchy": (*TWO, WIDE), "Logistic": (*TWO, WIDE * 9),
    "Laplace": (*TWO, WIDE), "HalfNormal": (*TWO, WIDE), "LogNormal": (*TWO, WIDE),
    "Uniform": ((0.5, 1.5), (make(2, seed=1), 2 + make(2, 1, seed=2)), (make(2, seed=3), 2 + make(2, seed=4)), WIDE),
    "Exponential": ((1.5,), (make(2, seed=1),), (make(2, seed=3),), WIDE),
    "Bernoulli": (*PROBS, WIDE), "Geometric": (*PROBS, WIDE),
    "Gamma": ((np.array([0.5], "float32"), [1.5]), *TWO[1:], WIDE),
    "Beta": ((np.array([1.5], "float32"), [2.5]), *TWO[1:], np.array([0.1, 0.5, 0.9], np.float32)),
    "Poisson": ((np.array([1.5], "float32"),), (make(2, seed=1),), (make(2, seed=3),), WIDE),
    "StudentT": ((3.0, 0.5, 1.5), (make(2, seed=1), make(2, 1, seed=2), make(1, seed=6)),
                 (make(2, seed=3), make(2, seed=4), make(2, seed=7)), WIDE),
}  # fmt: skip
for name, (numbers, arrays, called, wide) in FAMILIES.items():
    plainly, broadly, empty = of(name, *numbers, seed=3), of(name, *arrays), of(name)
    for spec in (plainly, broadly, empty):
        for asked in ("print", "batch_shape", "broadcast_shape", "is_scalar_batch"):
            case(spec, asked)
    for method in VALUES:
        case(plainly, method, wide)
        case(plainly, method, SCALAR)
        case(plainly, method, 0.5)
        case(broadly, method, X)
        case(empty, method, X, *called)
        case(plainly, method, X, called[0])
        case(empty, method, X)
    case(plainly, "prob", (X * 2).astype("int32"))
    case(plainly, "prob", X.astype("float64"))
    for method in MOMENTS:
        case(plainly, method)
        case(broadly, method)
        case(empty, method, *called)
        case(plainly, method, called[0])
        case(plainly, method, 0.5)
        case(empty, method)
    for method in ("kl_loss", "cross_entropy"):
        case(plainly, method, name, *called)
        case(broadly, method, name, *called)
        case(empty, method, name, *called, *called[::-1])
        case(plainly, method, "Other", *called)
        case(plainly, method, None, *called)
        case(plainly, method, name, *numbers)
    for shape in ((), (3,), (2, 3)):
        case(plainly, "sample", shape)
        case(broadly, "sample", shape)
        case(empty, "sample", shape, *called)
    case(plainly, "sample", 3)
    case(plainly, "sample", [3])
    case(plainly, "get_dist_type")
    case(plainly, "get_dist_args")
    case(plainly, "nonsense")
    for dtype in ("float16", "int32", "bool_"):
        case(of(name, *numbers, dtype=f"type:{dtype}"), "prob", X)
        case(of(name, *numbers, dtype=f"type:{dtype}"), "mean")
    for seed in (-1, 1.5, "a"):
        case(of(name, *numbers, seed=seed), "seed")
    case(of(name, *numbers, name=3), "name")
    case(of(name, *["a"] * len(numbers)), "mean")
    case(of(name, *[True] * len(numbers)), "mean")
    case(of(name, *[np.array([-1.0, 0.5], "float32")] * len(numbers)), "mean")
    case(of(name, *[np.array([1, 2])] * len(numbers)), "mean")

GUMBEL = of("Gumbel", 0.5, 1.5)
BROAD = of("Gumbel", make(2, seed=1), make(2, 1, seed=2))
for spec in (GUMBEL, BROAD):
    for asked in ("print", "batch_shape", "broadcast_shape", *MOMENTS):
        case(spec, asked)
    for method in VALUES:
        case(spec, method, WIDE if spec is GUMBEL else X)
        case(spec, method, 0.5)
    for method in ("kl_loss", "cross_entropy"):
        case(spec, method, "Gumbel", make(2, seed=3), make(2, seed=4))
        case(spec, method, "Normal", make(2, seed=3), make(2, seed=4))
    case(spec, "sample", ())
    case(spec, "sample", (3,))
case(of("Gumbel", 0.5, -1.0), "mean")
case(of("Gumbel", 0.5, 1), "mean")

for probs in ([0.2, 0.3, 0.5], np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], np.float32)):
    spec = of("Categorical", probs)
    for asked in ("print", "batch_shape", "broadcast_shape", "is_scalar_batch", *MOMENTS):
        case(spec, asked)
    for method in VALUES:
        case(spec, method, np.array([[0], [1], [2]]))
        case(spec, method, np.array([[-1.5], [-0.5], [1.7], [3.0]], np.float32))
        case(spec, method, np.array(1))
    for method in ("kl_loss", "cross_entropy"):
        case(spec, method, "Categorical", np.array([0.3, 0.3, 0.4], np.float32))
        case(spec, method, "Normal", np.array([0.3, 0.3, 0.4], np.float32))
    for shape in ((), (3,), (2, 3)):
        case(spec, "sample", shape)
for probs in ([0.5, 0.6], 0.5, [1.5, -0.5], [1.0, 0.0]):
    case(of("Categorical", probs), "mean")
case(of("Categorical"), "mean", np.array([0.3, 0.3, 0.4], np.float32))
case(of("Categorical"), "mean")

for way in (of("b:Exp"), of("b:ScalarAffine", 2.0, 0.5), of("b:Softplus", 2.0), of("b:PowerTransform", 0.5)):
    spec = of("TransformedDistribution", way, of("Normal", 0.5, 1.5))
    for asked in ("print", "batch_shape", "name", *MOMENTS, "get_dist_type"):
        case(spec, asked)
    for method in VALUES:
        case(spec, method, X)
        case(spec, method, X, make(2, seed=3), make(2, seed=4))
    case(spec, "sample", (3,))
case(of("TransformedDistribution", of("Normal"), of("Normal")), "name")
case(of("TransformedDistribution", of("b:Exp"), of("b:Exp")), "name")
case(of("TransformedDistribution", of("b:Exp"), of("Bernoulli", 0.5)), "name")

WAYS = ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian")
for way in (
    of("b:Exp"),
    of("b:PowerTransform", 0.5),
    of("b:PowerTransform", np.array([0.0, 1.0], np.float32)),
    of("b:ScalarAffine", 2.0, 0.5),
    of("b:ScalarAffine", np.array([[2.0], [-1.0]], np.float32), np.array([0.5, 1.0], np.float32)),
    of("b:Softplus"),
    of("b:Softplus", np.array([2.0, 0.5], np.float32)),
    of("b:GumbelCDF", 0.5, 1.5),
    of("b:Invert", of("b:Softplus", 2.0)),
    of("b:Invert", of("b:GumbelCDF", 0.5, 1.5)),
):
    for method in WAYS:
        case(way, method, X * 0.4)
        case(way, method, X.astype("float16") * np.float16(0.4))
        case(way, method, SCALAR)
    case(way, "forward", np.array([1, 2]))
    case(way, "inverse", 0.5)
    case(way, "nonsense", X, better="MindSpore raises a bare Exception")
    for asked in ("print", "name", "is_scalar_batch", "batch_shape"):
        case(way, asked)
for wrong in (
    of("b:PowerTransform", -1.0), of("b:PowerTransform", 1), of("b:PowerTransform", None), of("b:Softplus", True),
    of("b:ScalarAffine", np.array([1.0], "float16"), np.array([1.0], "float32")), of("b:GumbelCDF", 0.5, 0.0),
    of("b:Invert", 3), of("b:Exp", 3),
):  # fmt: skip
    case(wrong, "name")
