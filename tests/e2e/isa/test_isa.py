"""The short form of `make isa`: a few transforms under a few settings, each in a process of its own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contracts.transforms.bit_examples import ALL
from tests.e2e.isa.environments import SHORT as SETTINGS
from tests.e2e.isa.environments import environments
from tests.e2e.isa.results import DIFFERENCES, beyond, compare, compute, difference_of
from tests.e2e.isa.results import SHORT as NAMES
from tests.e2e.isa.run import compute_results


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_same_results_under_another_instruction_set(setting, tmp_path):
    env = environments().get(setting)
    if env is None:
        return  # this processor has nothing to switch off
    results = compute_results(env, tmp_path / "results", short=True)
    assert set(results) == set(NAMES)
    assert not beyond(compare(compute(NAMES), results))


def test_results_that_must_not_differ_at_all():
    """Where we choose the order of summation, no difference is allowed."""
    ours = ["LinearTransformation, dense", "Perspective, large", "RandomPerspective, large", "ToVectors"]
    assert set(ours) <= set(NAMES)
    assert [
        name for name in ("LinearTransformation", "RandomPerspective", "ToVectors") if difference_of(name)
    ] == []


def test_every_listed_difference_belongs_to_an_example():
    assert not set(DIFFERENCES) - set(ALL)


def test_a_difference_is_seen():
    rows = {"Resize": [(np.array([1, 2], np.uint8),)], "Invert": [(np.array([1.0, 2.0]),)]}
    other = {"Resize": [(np.array([1, 3], np.uint8),)], "Invert": [(np.array([1.0, np.nextafter(2.0, 3)]),)]}
    apart = compare(rows, other)
    assert apart["Resize"] == 1
    assert 0 < apart["Invert"] < 1e-15
    assert list(beyond(apart)) == ["Invert"]
    assert beyond({"Resize": 2.0}) == {"Resize": 2.0}
    assert compare(rows, rows) == {}
    assert compare(rows, {**rows, "Invert": [(np.array([1.0, np.nan]),)]}) == {"Invert": float("inf")}


def test_settings_name_features_that_this_machine_has():
    settings = environments()
    assert next(iter(settings)) == "as it is"
    assert all(env for name, env in settings.items() if name != "as it is")
    assert set(SETTINGS) - set(settings) <= {"NumPy without AVX2"}
