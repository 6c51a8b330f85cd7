"""Linear algebra in a fixed order: right, and independent of what BLAS and LAPACK do on this processor."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from millrace._src.data.formats.column_readers import map_gray_bmp
from millrace._src.data.kernels.vision import affine as warp
from millrace._src.data.kernels.vision import color as colour
from millrace._src.data.kernels.vision import color_space as spaces
from millrace._src.data.kernels.vision.enums import Inter
from millrace._src.data.kernels.vision.fixed_order_linalg import (
    multiply_vector,
    perspective_coefficients,
    solve,
)
from tests.parity.data.vision.inputs import u8, unit


def one_after_the_other(vector: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The product by its definition, every step rounded."""
    total = np.zeros(matrix.shape[1], np.result_type(vector, matrix))
    for number, row in zip(vector, matrix, strict=True):
        total = total + number * row
    return total


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 5), (12, 12), (700, 1), (400, 401), (3, 140_000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_rows_are_added_in_their_order(shape, dtype):
    vector, matrix = (100 * unit(shape[0])).astype(dtype), (100 * unit(*shape, salt=2) - 50).astype(dtype)
    wanted = one_after_the_other(vector, matrix)
    for form in (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        product = multiply_vector(vector, form)
        assert product.dtype == wanted.dtype
        assert product.tobytes() == wanted.tobytes()


def test_linear_transformation_does_not_depend_on_how_the_matrix_lies():
    image, matrix, mean = unit(3, 13, 17), unit(663, 663, salt=2), unit(663, salt=3)
    wanted = one_after_the_other(image.ravel() - mean, matrix).reshape(image.shape)
    for form in (matrix, np.asfortranarray(matrix)):
        assert spaces.linear_transform(image, form, mean).tobytes() == wanted.tobytes()


def test_integers_keep_the_type_of_their_product():
    product = spaces.linear_transform(
        np.arange(4, dtype=np.int32), np.eye(4, dtype=np.int32), np.ones(4, np.int32)
    )
    assert product.dtype == np.int32
    assert product.tolist() == [-1, 0, 1, 2]


def test_equations_are_solved():
    for salt in range(1, 20):
        rows = unit(8, 9, salt=salt) + np.eye(8, 9, k=salt % 8) * 3 + np.eye(8, 9, k=salt % 8 - 8) * 3
        solution = solve(rows.tolist())
        np.testing.assert_allclose(rows[:, :8] @ solution, rows[:, 8], atol=1e-9)


def test_equations_without_a_single_solution():
    assert solve([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]) is None
    assert solve([[float("nan"), 1.0, 1.0], [0.0, 1.0, 1.0]]) is None
    assert (
        perspective_coefficients([(0, 0), (1, 1), (2, 2), (3, 3)], [(0, 0), (1, 0), (1, 1), (0, 1)]) is None
    )


@pytest.mark.parametrize("salt", range(1, 30))
def test_a_projection_moves_the_four_points(salt):
    start, end = (corners(salt), corners(salt + 100))
    a, b, c, d, e, f, g, h = map(Fraction, perspective_coefficients(start, end))
    for (x, y), (to_x, to_y) in zip(start, end, strict=True):
        below = g * x + h * y + 1
        assert float((a * x + b * y + c) / below) == pytest.approx(to_x, abs=1e-9)
        assert float((d * x + e * y + f) / below) == pytest.approx(to_y, abs=1e-9)


def corners(salt: int) -> list[tuple[int, int]]:
    moved = u8(8, salt=salt).astype(int) % 30
    return [
        (moved[0], moved[1]),
        (100 - moved[2], moved[3]),
        (100 - moved[4], 80 - moved[5]),
        (moved[6], 80 - moved[7]),
    ]


@pytest.mark.parametrize("salt", range(1, 30))
def test_a_projection_is_that_of_opencv_to_the_last_bit(salt):
    import cv2

    start = np.float32(corners(salt)) + np.float32(0.3)
    end = np.float32(corners(salt + 100)) + np.float32(0.7)
    ours = perspective_coefficients(start.tolist(), end.tolist(), single=True)
    assert [*ours, 1.0] == cv2.getPerspectiveTransform(start, end).ravel().tolist()


def test_corners_that_stay_leave_every_pixel_as_it_is():
    from PIL import Image

    image = Image.fromarray(u8(13, 17, 3))
    points = [(0, 0), (16, 0), (16, 12), (0, 12)]
    same = warp.perspective(image, points, points, Inter.BICUBIC)
    np.testing.assert_array_equal(np.asarray(same), np.asarray(image))


def test_points_on_a_line_still_give_an_image():
    from PIL import Image

    line, square = [(0, 0), (1, 1), (2, 2), (3, 3)], [(0, 0), (9, 0), (9, 9), (0, 9)]
    assert warp.perspective(u8(10, 10, 3), line, square, Inter.LINEAR).shape == (10, 10, 3)
    assert warp.perspective(Image.new("RGB", (10, 10)), line, square, Inter.BILINEAR).size == (10, 10)


@pytest.mark.parametrize("module", ["linear", "lighting", "affine", "perspective", "bmp"])
def test_neither_blas_nor_lapack_is_called(module, monkeypatch, tmp_path):
    from PIL import Image

    def refused(*_):
        raise AssertionError("its last bits depend on the processor")

    for name in ("dot", "matmul", "einsum", "inner", "vdot", "tensordot"):
        monkeypatch.setattr(np, name, refused)
    for name in ("lstsq", "solve", "inv"):
        monkeypatch.setattr(np.linalg, name, refused)
    points, moved = [(0, 0), (16, 0), (16, 12), (0, 12)], [(2, 1), (14, 3), (15, 11), (1, 10)]
    image = u8(13, 17, 3)
    if module == "linear":
        spaces.linear_transform(unit(12), unit(12, 12), unit(12))
    elif module == "lighting":
        colour.lighting(image, Refusing(unit(3)))
    elif module == "affine":
        warp.affine(image, 15, (0.1, 0.1), 1.1, (5, 5), Inter.LINEAR, (0,))
    elif module == "perspective":
        monkeypatch.setattr("cv2.getPerspectiveTransform", refused)
        warp.perspective(image, points, moved, Inter.LINEAR)
        warp.perspective(Image.fromarray(image), points, moved, Inter.BILINEAR)
    else:
        Image.fromarray(image).save(tmp_path / "a.bmp")
        grey = map_gray_bmp(str(tmp_path / "a.bmp"))
        red, green, blue = (image[..., c].astype(np.float64) for c in range(3))
        np.testing.assert_array_equal(grey, np.rint(blue * 0.114 + green * 0.587 + red * 0.299))


class Refusing(np.ndarray):
    """Numbers that cannot be a factor of ``@``."""

    def __new__(cls, values: np.ndarray) -> Refusing:
        return values.view(cls)

    def __rmatmul__(self, other: object) -> None:
        raise AssertionError("its last bits depend on the processor")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        assert ufunc is not np.matmul, "its last bits depend on the processor"
        plain = [x.view(np.ndarray) if isinstance(x, Refusing) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **options)
