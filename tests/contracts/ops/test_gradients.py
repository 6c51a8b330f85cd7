"""The gradients of every operation are MindSpore's, at plain places and at edges: ties, zeros, borders."""

import pytest

torch = pytest.importorskip("torch")

from tests.contracts.ops.gradients import GRADIENTS, apart, gradient  # noqa: E402
from tests.contracts.ops.sample_cases import VALUES, gaps, key, operations  # noqa: E402
from tests.contracts.ops.test_registry import RECORD  # noqa: E402

torch.set_num_threads(1)
TABLE = [
    spec
    for spec in operations()
    if any(True for _ in GRADIENTS.cases(spec)) and (spec.public_names or spec.primitives)
]


def gap_name(spec, case):
    """Under what a difference is listed, for all faces."""
    return f"{key(spec)}/{case.number} gradient"


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
    found = [(case, text) for case, text in differences(spec) if text]
    known = {name for name in gaps() if name.endswith(" gradient") and name.startswith(f"{key(spec)}/")}
    wrong = {case.name: text for case, text in found if gap_name(spec, case) not in known}
    assert wrong == {}, "\n" + "\n".join(f"{name}: {text}" for name, text in wrong.items())
    healed = known - {gap_name(spec, case) for case, _ in found}
    assert sorted(healed) == [], "these agree now: strike them off tests/contracts/ops/gaps.json"


def test_known_differences_are_of_operations_that_exist():
    names = {key(spec) for spec in TABLE}
    listed = {name.rpartition("/")[0] for name in gaps() if name.endswith(" gradient")}
    assert sorted(listed - names) == []


def test_every_gradient_has_its_operation():
    assert {path.stem for path in GRADIENTS.folder.glob("*.json")} <= {
        key(spec).partition(".")[0] for spec in TABLE
    }
