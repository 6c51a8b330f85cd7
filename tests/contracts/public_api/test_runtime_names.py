"""The list of training names that are still missing is true."""

import json

import pytest

pytest.importorskip("torch")

from tests.contracts.public_api.shrinking import compare
from tests.contracts.public_api.update_runtime import NOT_YET, missing


def test_what_is_missing_is_listed_and_the_list_only_shrinks():
    lost, here = compare(NOT_YET, missing())
    assert lost == [], "Millrace has lost these"
    assert here == [], "these exist now: run `python -m tests.contracts.public_api.update_runtime`"


# Modules and classes that are finished: what is missing there is left out for a reason.
FINISHED = (
    "class Tensor",
    "class Parameter",
    "class nn.Cell",
    "ops",
    "mint",
    "mint.special",
    "scipy.optimize",
    "utils",
)


def test_what_is_left_out_for_good_has_a_reason():
    """tests/contracts/public_api/left_out.json: "module.name" -> why. Any name of the list may have one.

    Finished parts must.
    """
    listed = json.loads(NOT_YET.read_text())
    known = {f"{module}.{name}" for module, names in listed.items() for name in names}
    reasons = json.loads((NOT_YET.parent / "left_out.json").read_text())
    assert sorted(set(reasons) - known) == [], "these are not missing: strike them off left_out.json"
    assert [name for name, why in reasons.items() if len(why.split()) < 3] == []
    finished = {f"{module}.{name}" for module in FINISHED for name in listed.get(module, ())}
    assert sorted(finished - set(reasons)) == [], "give these, or say in left_out.json why not"
