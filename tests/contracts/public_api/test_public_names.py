"""The public surface is pinned: a name comes, goes or changes its parameters only on purpose.

To change it: edit the code, run `python -m tests.contracts.public_api.update_names`, read the difference, commit it.
"""

import fnmatch

import pytest

from tests.support import public_surface as surface

UPDATE = "run `python -m tests.contracts.public_api.update_names` if this is meant"


def test_public_names_are_the_listed_ones():
    assert surface.public_names() == surface.load("public_names.json"), UPDATE


def test_all_is_true():
    """Its order is ruff's business (RUF022)."""
    for name in surface.public_names():
        module = surface.face(name)
        listed = getattr(module, "__all__", None)
        if listed is not None:
            assert len(listed) == len(set(listed)), f"{name}.__all__ says a name twice"
            assert [n for n in listed if not hasattr(module, n)] == [], (
                f"{name}.__all__ lists what is not there"
            )


def test_what_is_missing_from_mindspore_is_listed_and_the_list_only_shrinks():
    missing, listed = surface.missing_names(), surface.load("not_yet.json")
    flat_missing = {f"{module}.{name}" for module, names in missing.items() for name in names}
    flat_listed = {f"{module}.{name}" for module, names in listed.items() for name in names}
    assert sorted(flat_missing - flat_listed) == [], "MindSpore has these and Millrace has lost them"
    assert sorted(flat_listed - flat_missing) == [], (
        f"these exist now: strike them off not_yet.json ({UPDATE})"
    )


def test_enums_are_enums():
    assert [path for path, thing in surface.enums() if not surface.is_our_enum(thing)] == []


@pytest.mark.parametrize(
    ("theirs", "thing"),
    [pytest.param(theirs, thing, id=path) for path, theirs, thing in surface.parameters()],
)
def test_same_parameters_in_the_same_order(theirs, thing):
    ours, _ = surface.split_parameters(thing)
    if theirs is not None:  # None: MindSpore's own signature cannot be read
        assert ours == theirs


def test_our_extra_parameters_are_keyword_only_and_listed():
    assert surface.extra_parameters() == surface.load("extra_parameters.json"), UPDATE


def test_the_rules_for_what_is_not_public_are_all_used():
    listed = surface.load("api_mindspore_2.7.0.json")
    paths = {f"{module}.{name}" for module, names in listed.items() for name in names}
    paths |= {
        f"{module}.{name}.{method}"
        for module, names in listed.items()
        for name, entry in names.items()
        if isinstance(entry, dict)
        for method in entry.get("methods", ())
    }
    assert [p for p in surface.NOT_PUBLIC if not fnmatch.filter(paths, p)] == []
