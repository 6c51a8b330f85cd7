"""What is not here yet says so, and does not look as if it were."""

import pytest

import millrace.dataset as ds


@pytest.mark.parametrize("name", ["text", "audio"])
def test_a_part_of_the_next_release_says_so(name):
    words = f"millrace.dataset.{name} comes with the next release.*until then"
    with pytest.raises(AttributeError, match=words):
        getattr(ds, name)
    assert not hasattr(ds, name)
    assert name not in dir(ds)
    assert name not in ds.__all__
