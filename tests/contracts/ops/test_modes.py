"""Every operation in Graph mode, recorded and replayed: the same bits as in PyNative mode, gradients too; and under
vmap: what each row gives by itself."""

import json
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace  # noqa: E402
from millrace._src.runtime.graph.replay import capture_cache_of  # noqa: E402
from millrace._src.runtime.tensor.backend.torch_private import release  # noqa: E402
from tests.contracts.ops.gradients import floats, weighted  # noqa: E402
from tests.contracts.ops.sample_cases import HERE, applied, cases, key, operations, tensor  # noqa: E402
from tests.contracts.ops.samples import Typed  # noqa: E402

torch.set_num_threads(1)
TABLE = [spec for spec in operations() if spec.public_names or spec.primitives]
each_operation = pytest.mark.parametrize("spec", TABLE, ids=key)
# "family.operation" -> why a step with it runs operation by operation ("leaves"), why its bits differ in the two modes
# ("bits"), or why it cannot be mapped over rows ("rows"); they only shrink.
KNOWN = json.loads((HERE / "modes.json").read_text())
if release < (2, 13):  # torch.quantile reads q there, to check it
    KNOWN["leaves"] |= dict.fromkeys(
        ("statistics.quantile", "statistics.nanquantile", "statistics.quantile_of"), "it reads q to check it"
    )
SAMPLES = 2  # so many of each operation


def arrays(value):
    """The arrays in arguments, in order."""
    if isinstance(value, (np.ndarray, Typed)):
        return [value]
    parts = list(value.values()) if isinstance(value, dict) else value
    return [each for part in parts for each in arrays(part)] if isinstance(parts, (list, tuple)) else []


def placed(value, tensors):
    """Arguments with the next of `tensors` in the place of each array."""
    if isinstance(value, (np.ndarray, Typed)):
        return next(tensors)
    if isinstance(value, dict):
        return {name: placed(part, tensors) for name, part in value.items()}
    return type(value)(placed(part, tensors) for part in value) if isinstance(value, (list, tuple)) else value


def function_of(case):
    """What a case calls, as a function of its tensors."""

    def function(*tensors):
        place = iter(tensors)
        return applied(case, placed(case.args, place), placed(case.kwargs, place))

    return function


def fresh(array):
    """Other values of the same kind: those of a floating array in another order."""
    if isinstance(array, Typed) or array.dtype.kind not in "f":
        return array
    return array.ravel()[::-1].copy().reshape(array.shape)


def chosen(spec, usable=lambda case: True):
    """The first samples that give a value, each through one face."""
    seen = {}
    for case in cases(spec):
        if (
            not case.sample.fails
            and case.number not in seen
            and len(seen) < SAMPLES
            and arrays([case.args, case.kwargs])
        ):
            seen[case.number] = case
    return [case for case in seen.values() if usable(case)]


def bits(value):
    """A result as what can be compared: bytes of tensors, other values as they are."""
    if isinstance(value, millrace.Tensor):
        raw = value._torch.detach().resolve_conj().resolve_neg()
        wide = raw.float() if raw.dtype is torch.bfloat16 else raw
        return str(raw.dtype), tuple(raw.shape), wide.numpy().tobytes()
    if isinstance(value, (tuple, list)):
        return [bits(part) for part in value]
    return repr(value)


def attempt(function, *args):
    """What a call gives, or the class of its error."""
    try:
        return function(*args)
    except Exception as error:
        return type(error)


def same_in_both_modes(spec, case, make):
    """Whether a step gives the same bits recorded, replayed with fresh values, and called plainly."""
    plain = make(function_of(case))
    step = millrace.jit(make(function_of(case)))
    given = arrays([case.args, case.kwargs])
    for values in (given, given, [fresh(each) for each in given]):
        wanted = attempt(plain, *map(tensor, values))
        made = attempt(step, *map(tensor, values))
        assert bits(made) == bits(wanted), f"{case.name}: {made} instead of {wanted}"
    return capture_cache_of(step)


@each_operation
def test_recorded_and_replayed_it_gives_the_same_bits(spec):
    if spec.random or key(spec) in KNOWN["bits"]:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        left = [case.name for case in chosen(spec) if same_in_both_modes(spec, case, lambda f: f).eager_calls]
    assert not left or key(spec) in KNOWN["leaves"], f"{left} run operation by operation in a graph"


@each_operation
def test_its_gradient_has_the_same_bits_in_both_modes(spec):
    if spec.random or not spec.differentiable or key(spec) in KNOWN["bits"]:
        return

    def usable(case):
        found = arrays([case.args, case.kwargs])
        return (
            not case.path.endswith("_")
            and len(floats(found)) == len(found)
            and isinstance(found[0], np.ndarray)
        )

    def differentiated(function):
        return lambda *tensors: millrace.grad(
            lambda *given: weighted(function(*given)), tuple(range(len(tensors)))
        )(*tensors)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in chosen(spec, usable)[:1]:
            same_in_both_modes(spec, case, differentiated)


@each_operation
def test_mapped_over_rows_it_gives_what_each_row_gives(spec):
    if spec.random or key(spec) in KNOWN["rows"]:
        return
    for case in chosen(spec, lambda case: not case.path.endswith("_"))[:1]:
        given = arrays([case.args, case.kwargs])
        function = function_of(case)
        turned = [fresh(each) for each in given]
        rows = [attempt(function, *map(tensor, values)) for values in (given, turned)]
        mapped = [isinstance(each, np.ndarray) and each.dtype.kind == "f" for each in given]
        if not any(mapped) or not all(whole(row) for row in rows):
            continue
        axes = tuple(0 if several else None for several in mapped)
        stacked = [
            millrace.Tensor(np.stack([a, b])) if several else tensor(a)
            for a, b, several in zip(given, turned, mapped, strict=True)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch tells where it takes row after row
            made = millrace.vmap(function, axes)(*stacked)
        for place, row in enumerate(rows):
            for mine, wanted in zip(parts(made), parts(row), strict=True):
                np.testing.assert_allclose(
                    mine.asnumpy()[place], wanted.asnumpy(), rtol=1e-4, atol=1e-5, err_msg=case.name
                )


def parts(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def whole(value):
    """Whether a result is a tensor, or tensors."""
    return all(isinstance(part, millrace.Tensor) for part in parts(value))


def test_what_is_known_has_a_reason():
    names = {key(spec) for spec in TABLE}
    for reasons in KNOWN.values():
        assert sorted(set(reasons) - names) == []
        assert [name for name, why in reasons.items() if len(why.split()) < 3] == []
