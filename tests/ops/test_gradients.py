"""The gradients of every operation are MindSpore's, at plain places and at edges: ties, zeros, borders."""

import pytest

torch = pytest.importorskip("torch")

from tests.ops.cases import VALUES, gaps, key, operations  # noqa: E402
from tests.ops.gradients import GRADIENTS, apart, gradient  # noqa: E402
from tests.ops.test_table import RECORD  # noqa: E402

torch.set_num_threads(1)
TABLE = [
    spec
    for spec in operations()
    if any(True for _ in GRADIENTS.cases(spec)) and (spec.faces or spec.primitives)
]


def gap_names(spec, case):
    """Under which of these a difference may be listed."""
    number = str(case.number)
    kinds = (case.name, f"{case.path}/*", f"{key(spec)}/{number}", f"{key(spec)}/*")
    return [f"{name} gradient" for name in (*kinds, *(f"{key(spec)}/~",) * number.endswith("~"))]


def differences(spec):
    """Case -> what sets our gradient apart from MindSpore's, for each answer of MindSpore that is not another's."""
    recorded, values, seen = GRADIENTS.read(spec), VALUES.read(spec), set()
    assert recorded.get("digest") == GRADIENTS.digest(spec), f"its samples changed: run `{RECORD}`"
    for case in GRADIENTS.cases(spec):
        answer = recorded[case.name]
        if "g" not in answer or "e" in values.get(f"{case.path}/{str(case.number).rstrip('~')}", {}):
            continue  # MindSpore has none, or does not even give a value
        once = (case.number, case.init is None, *answer["g"])
        if once in seen:
            continue  # another face with the same arguments and the same answer
        seen.add(once)
        try:
            yield case, apart(case, gradient(case), answer["g"])
        except Exception as error:
            yield case, f"raises {error!r:.300}, MindSpore gives a gradient"


@pytest.mark.parametrize("spec", TABLE, ids=key)
def test_gradients_are_mindspores(spec):
    known, wrong, healed = gaps(), {}, []
    for case, found in differences(spec):
        listed = [name for name in gap_names(spec, case) if name in known]
        if found and not listed:
            wrong[case.name] = found
        elif not found and f"{case.name} gradient" in known:
            healed.append(case.name)
    assert wrong == {}, "\n" + "\n".join(f"{name}: {text}" for name, text in wrong.items())
    assert healed == [], "these agree now: strike them off tests/ops/gaps.json"


def test_every_gradient_has_its_operation():
    assert {path.stem for path in GRADIENTS.folder.glob("*.json")} <= {
        key(spec).partition(".")[0] for spec in TABLE
    }
