"""Q10: an ndarray written to MindRecord came back eight times shorter. Here it comes back, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.data.sources.mindrecord import MindDataset
from millrace.mindrecord import FileReader, FileWriter

FRAMES = np.random.default_rng(0).integers(0, 256, (4, 10, 13, 3))


def written(tmp_path, kind, array):
    name = str(tmp_path / "frames.mindrecord")
    writer = FileWriter(name, overwrite=True)
    writer.add_schema({"frames": {"type": kind, "shape": [4, 10, 13, 3]}})
    writer.write_raw_data([{"frames": array}])
    writer.commit()
    return name


@pytest.mark.parametrize("kind", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("given", ["uint8", "int16", "int32", "int64", "uint64", "float32", "float64"])
def test_values_and_shape_are_kept_whatever_the_type(tmp_path, kind, given):
    name = written(tmp_path, kind, FRAMES.astype(given))
    (row,) = FileReader(name).get_next()
    assert (row["frames"].dtype, row["frames"].shape) == (np.dtype(kind), (4, 10, 13, 3))
    np.testing.assert_array_equal(row["frames"], FRAMES)
    (row,) = MindDataset(name).create_dict_iterator(num_epochs=1, output_numpy=True)
    np.testing.assert_array_equal(row["frames"], FRAMES)


def test_values_that_the_type_cannot_hold_are_refused_by_name(tmp_path):
    with pytest.raises(ArgumentValueError, match=r"row 0, field 'frames': an array of float64 holds .*int32"):
        written(tmp_path, "int32", FRAMES + 0.5)
    with pytest.raises(ArgumentValueError, match="int32 cannot"):
        written(tmp_path, "int32", FRAMES + 2**40)
    with pytest.raises(ArgumentTypeError, match="frames"):
        written(tmp_path, "int32", FRAMES.astype(complex))


def test_another_number_of_elements_is_refused(tmp_path):
    with pytest.raises(ArgumentValueError, match=r"1170 elements of shape \[3, 10, 13, 3\] do not fit"):
        written(tmp_path, "int32", FRAMES[:3])
