"""What holds for every operation of the table, through each of its faces."""

import inspect
import json
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace._src.core.errors import MillraceError  # noqa: E402
from millrace._src.runtime.tensor.storage import unwrap_all  # noqa: E402
from tests.contracts.ops.gradients import floats, replaced  # noqa: E402
from tests.contracts.ops.sample_cases import (  # noqa: E402
    VALUES,
    cases,
    difference,
    encode,
    gaps,
    key,
    operations,
    run,
)
from tests.contracts.ops.samples import Typed, load  # noqa: E402
from tests.contracts.public_api import make_public  # noqa: E402
from tests.support import public_surface as surface  # noqa: E402

torch.set_num_threads(1)
TABLE = operations()
each_operation = pytest.mark.parametrize("spec", TABLE, ids=key)
RECORD = "python -m tests.parity.runtime.ops.record_ops"


@each_operation
def test_it_has_samples(spec):
    assert load().get(key(spec)), "give it a few calls in tests/contracts/ops/samples/"


def test_samples_are_of_operations():
    assert sorted(set(load()) - {key(spec) for spec in TABLE}) == []


def outcome(case):
    """The encoded result, or the error."""
    try:
        return encode(run(case)), None
    except Exception as error:
        return None, error


def verdict(case, expected):
    """What sets us apart from MindSpore in a case, or nothing."""
    made, error = outcome(case)
    if error is not None and not isinstance(error, (MillraceError, AttributeError)):
        return f"a bare {type(error).__name__}: {error}"
    if "lacking" in expected:
        return ""  # MindSpore has no kernel for it here: nothing to compare with
    if "e" in expected:
        if error is None:
            if expected["e"] == "TypeError" and not case.sample.fails:
                return ""  # MindSpore takes fewer types, or only by keyword: `Call` says that we mean to take them
            return f"gives a value, MindSpore raises {expected['e']}: {expected['m']}"
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return (
            ""
            if expected["e"] in kinds
            else f"{type(error).__name__} instead of {expected['e']}: {expected['m']}"
        )
    return f"raises {error!r}, MindSpore gives a value" if error is not None else difference(made, expected)


@each_operation
def test_values_types_and_errors_are_mindspores(spec):
    if not spec.public_names and not spec.primitives:
        return  # only layers call it, and their results are recorded (tests/unit/runtime/nn)
    recorded, known = VALUES.read(spec), gaps()
    assert recorded.get("digest") == VALUES.digest(spec), f"its samples changed: run `{RECORD}`"
    wrong, healed = {}, []
    for case in cases(spec):
        found = verdict(case, recorded[case.name])
        names = [case.name, f"{case.path}/*", f"{key(spec)}/*", f"{key(spec)}/{case.number}"]
        listed = [name for name in names if name in known]
        if found and not listed:
            wrong[case.name] = found
        elif not found and case.name in known:
            healed.append(case.name)
    assert wrong == {}, "\n" + "\n".join(f"{name}: {text}" for name, text in wrong.items())
    assert healed == [], "these agree now: strike them off tests/contracts/ops/gaps.json"


def test_gaps_are_of_cases_that_exist():
    names = {name for spec in TABLE for case in cases(spec) for name in (case.name, f"{case.path}/*")}
    names |= {f"{key(spec)}/{number}" for spec in TABLE for number in [*range(len(load()[key(spec)])), "*"]}
    assert sorted(name for name in set(gaps()) - names if not name.endswith(("()", " gradient"))) == []
    assert [name for name, reason in gaps().items() if len(reason) < 10] == [], "a gap needs a reason"


@each_operation
def test_fails_means_that_it_fails_with_words(spec):
    for case in cases(spec):
        if case.sample.fails:
            made, error = outcome(case)
            if made is None and isinstance(error, MillraceError):
                assert len(str(error)) > 20, case.name


def tensors_in(sample):
    values = [*sample.args, *sample.kwargs.values()]
    return [v for v in values if isinstance(v, np.ndarray | Typed)]


def exact(value):
    """An argument as a body sees it; what is no floating array stays what it is."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value))
    if isinstance(value, (tuple, list)):
        return type(value)(exact(part) for part in value)
    return unwrap_all(value)


# Operations whose gradient is not that of finite differences, at least not in their first samples.
UNLIKE = {
    "affine.embedding": "a padding row has no gradient, and `max_norm` is written into the table",
    "boxes.crop_and_resize": "the sample's boxes end on the grid, where the result has a kink",
    "ctc.ctc_loss": "its gradient is that of the logits, as MindSpore's and PyTorch's",
    "ctc.ctc_loss_each": "its gradient is that of the logits, as MindSpore's and PyTorch's",
    "margins.multi_margin_loss": "the weights of classes have no gradient",
    "margins.multi_margin_of": "the weights of classes have no gradient",
}


@each_operation
def test_its_gradient_is_that_of_finite_differences(spec):
    if not spec.differentiable or spec.random or key(spec) in UNLIKE:
        return
    checked = 0
    for sample in load()[key(spec)]:
        found = floats([sample.args, sample.kwargs])
        if sample.fails or not found or not all(isinstance(each, np.ndarray) and each.size for each in found):
            continue

        reached = []

        def function(*given, sample=sample, reached=reached):
            place = iter(given)
            args, kwargs = (replaced(part, lambda _: next(place)) for part in (sample.args, sample.kwargs))
            made = spec.function(*map(exact, args), **{name: exact(part) for name, part in kwargs.items()})
            parts = made if isinstance(made, (tuple, list)) else (made,)
            parts = [part for part in parts if getattr(part, "dtype", None) is torch.float64]
            return tuple(part for place, part in enumerate(parts) if place in reached or not reached)

        inputs = [torch.from_numpy(np.array(each, np.float64)).requires_grad_() for each in found]
        try:
            found = [place for place, part in enumerate(function(*inputs)) if part.requires_grad]
        except (MillraceError, TypeError, RuntimeError):
            continue  # it takes no float64, or not beside these types
        if found:
            reached.extend(found)
            torch.autograd.gradcheck(function, inputs, fast_mode=True)
            checked += 1
        if checked == 3:
            break


@each_operation
def test_strided_inputs_change_nothing(spec):
    if spec.random:
        return
    for case in cases(spec):
        if case.sample.fails or not any(isinstance(a, np.ndarray) and a.ndim > 1 for a in case.args):
            continue
        plainly, error = outcome(case)
        if error is not None:
            continue
        case.args = tuple(
            np.ascontiguousarray(a.T).T if isinstance(a, np.ndarray) and a.ndim > 1 else a for a in case.args
        )
        strided, error = outcome(case)
        assert error is None, case.name
        assert difference(strided, plainly) == "", case.name


def expected_type(rule, first, all_types):
    if rule == "SAME":
        return first
    if rule == "BOOL":
        return torch.bool
    if rule in ("INT32", "INT64"):
        return getattr(torch, rule.lower())
    whole = not (first.is_floating_point or first.is_complex)
    if rule == "SUM":
        return torch.int64 if whole else first
    if rule == "FLOAT" and len(all_types) == 1:
        return torch.float32 if whole else first
    return None


@each_operation
def test_the_result_has_the_type_that_its_rule_says(spec):
    for case in cases(spec):
        arrays = tensors_in(case.sample)
        if case.sample.fails or not arrays or "dtype" in case.sample.kwargs or case.init:
            continue
        first = case.sample.args[0] if case.sample.args else None
        if not isinstance(first, np.ndarray):
            continue
        wanted = expected_type(spec.dtype.name, torch.from_numpy(np.array(first)).dtype, arrays)
        try:
            made = run(case)
        except MillraceError:
            continue
        if wanted is not None:
            assert made._torch.dtype is wanted, case.name


@each_operation
def test_it_pickles(spec):
    assert pickle.loads(pickle.dumps(spec.call)) is spec.call
    for case in cases(spec):
        if case.init is not None and not case.sample.fails:
            module = __import__("millrace.ops", fromlist=["x"])
            made = getattr(module, case.path.rpartition(".")[2])(**case.init)
            assert pickle.loads(pickle.dumps(made)).options == made.options
            return


def written(signature):
    """Names and defaults of parameters as the list of MindSpore's names writes them."""
    return [
        (p.name, None if p.default is p.empty else repr(p.default).replace("torch.", ""))
        for p in signature.parameters.values()
    ]


def parsed(text):
    def names(**kwargs):
        return kwargs

    tree = __import__("ast").parse(f"f({text})", mode="eval").body
    plain = [(a.id, None) for a in tree.args if hasattr(a, "id")]
    return plain + [(k.arg, __import__("ast").unparse(k.value)) for k in tree.keywords]


@pytest.mark.parametrize(
    "face", ["ops", "mint", "mint.nn.functional", "mint.special", "mint.linalg", "numpy"]
)
def test_signatures_are_mindspores(face):
    listed = surface.load("runtime_names_2.7.0.json")[face]
    wrong = []
    for name in make_public.by_module().get(face, {}):
        theirs = listed.get(name, {}).get("args")
        if theirs is None or "*" in theirs:
            continue
        thing = getattr(__import__(f"millrace.{face}", fromlist=[name]), name)
        if isinstance(thing, type) or callable(thing):
            try:
                ours = written(inspect.signature(thing))
            except (TypeError, ValueError):
                continue
            wanted = parsed(theirs)
            same = len(ours) == len(wanted) and all(
                a == c and (b == d or d == "..." or b == "<unrepresentable>")
                for (a, b), (c, d) in zip(ours, wanted, strict=True)
            )
            if not same and f"{face}.{name}()" not in gaps():
                wrong.append(f"{face}.{name}: {ours} instead of {wanted}")
    assert wrong == [], "\n" + "\n".join(wrong)


def test_every_golden_has_its_operation():
    names = {key(spec) for spec in TABLE}
    for path in (make_public.ROOT.parents[1] / "tests/parity/runtime/ops/goldens").glob("*.json"):
        assert {f"{path.stem}.{name}" for name in json.loads(path.read_text())} <= names
