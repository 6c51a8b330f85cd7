"""What the random transforms draw: the right numbers, about as often as they should."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import millrace.dataset.transforms as T
import millrace.dataset.vision as V
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.transforms.vision.crop import choose_crop_box

ROWS = 4000


def drawn(op):
    return op.params(RandomStream.for_rows(np.arange(ROWS, dtype=np.uint64), seed=3, epoch=0, op=9))


def share(values) -> float:
    return float(np.mean(values))


@pytest.mark.parametrize("prob", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(
    "kind",
    ["RandomHorizontalFlip", "RandomVerticalFlip", "RandomGrayscale", "RandomInvert", "RandomEqualize"],
)
def test_probability(kind, prob):
    (now,) = drawn(getattr(V, kind)(prob))
    assert abs(share(now) - prob) < 0.03


def test_crops_reach_every_place_evenly():
    picture = np.arange(6 * 9, dtype=np.int32).reshape(6, 9)
    op = V.RandomCrop((4, 5))
    corners = np.array([op.row(picture, *p)[0, 0] for p in zip(*drawn(op), strict=True)])
    places, counts = np.unique(corners, return_counts=True)
    assert places.tolist() == sorted(9 * y + x for y in range(3) for x in range(5))
    assert counts.min() > ROWS / 15 * 0.75


def test_resized_crops_have_areas_and_ratios_within_the_ranges():
    op = V.RandomResizedCrop(8, (0.2, 0.6), (0.5, 2.0))
    boxes = np.array([choose_crop_box(row, op.ratio, 300, 400) for row in drawn(op)[0]])
    area = boxes[:, 2] * boxes[:, 3] / (300 * 400)
    ratio = boxes[:, 3] / boxes[:, 2]
    assert 0.19 < area.min() < 0.22
    assert 0.55 < area.max() < 0.61
    assert 0.49 < ratio.min() < 0.55
    assert 1.8 < ratio.max() < 2.02
    assert abs(np.log(ratio).mean()) < 0.1, (
        "ratios are uniform in their logarithm; a few tall ones do not fit"
    )
    assert (boxes[:, 0] + boxes[:, 2] <= 300).all()
    assert (boxes[:, 1] + boxes[:, 3] <= 400).all()
    assert abs(area.mean() - 0.4) < 0.02


def test_a_crop_that_never_fits_falls_back_to_the_middle():
    op = V.RandomResizedCrop(8, (5.0, 5.0), (1.0, 1.0))
    assert choose_crop_box(drawn(op)[0][0], op.ratio, 30, 40) == (0, 5, 30, 30)


def test_angles_of_rotations():
    (angles,) = drawn(V.RandomRotation(30))
    assert -30 <= angles.min() < -29
    assert 29 < angles.max() <= 30
    (angles,) = drawn(V.RandomRotation((350, 370)))
    assert angles.min() >= 350
    assert angles.max() <= 370


def test_colour_factors_and_their_order():
    op = V.RandomColorAdjust((0.5, 1.5), 0.2, (1, 1), (-0.1, 0.3))
    factors, order = drawn(op)
    np.testing.assert_allclose(factors.min(axis=0), [0.5, 0.8, 1, -0.1], atol=0.01)
    np.testing.assert_allclose(factors.max(axis=0), [1.5, 1.2, 1, 0.3], atol=0.01)
    assert len(np.unique(order, axis=0)) == 24


def test_bits_and_thresholds():
    (bits,) = drawn(V.RandomPosterize((2, 5)))
    assert np.unique(bits).tolist() == [2, 3, 4, 5]
    one, two = drawn(V.RandomSolarize((10, 20)))
    assert (min(one.min(), two.min()), max(one.max(), two.max())) == (10, 20)


def test_affine_ranges():
    angle, shift, scale, shear = drawn(V.RandomAffine((5, 10), (0.1, 0.2), (0.5, 1.5), (1, 2, 3, 4)))
    assert (round(angle.min()), round(angle.max())) == (5, 10)
    assert (round(scale.min(), 1), round(scale.max(), 1)) == (0.5, 1.5)
    assert np.allclose(shear.min(axis=0), [1, 3], atol=0.01)
    assert np.allclose(shear.max(axis=0), [2, 4], atol=0.01)
    assert shift.min() >= 0
    assert shift.max() < 1


def test_choice_order_and_apply():
    draws = RandomStream.for_rows(np.arange(ROWS, dtype=np.uint64), seed=3, epoch=0, op=9)
    ops = [lambda x: [*x, "a"], lambda x: [*x, "b"], lambda x: [*x, "c"]]
    one_of = T.RandomChoice(ops).row_function(draws)
    chosen = [one_of(i, [])[0] for i in range(ROWS)]
    assert all(abs(chosen.count(letter) / ROWS - 1 / 3) < 0.03 for letter in "abc")
    in_order = T.RandomOrder(ops).row_function(draws)
    orders = ["".join(in_order(i, [])) for i in range(ROWS)]
    assert len(set(orders)) == 6
    assert all(abs(orders.count(o) / ROWS - 1 / 6) < 0.03 for o in set(orders))
    applied = T.RandomApply(ops, 0.25).row_function(draws)
    assert abs(share([len(applied(i, [])) == 3 for i in range(ROWS)]) - 0.25) < 0.03


def test_uniform_augment_applies_half_of_what_it_draws():
    draws = RandomStream.for_rows(np.arange(ROWS, dtype=np.uint64), seed=3, epoch=0, op=9)
    call = V.UniformAugment([lambda x: x + 1, lambda x: x + 1, lambda x: x + 1], 2).row_function(draws)
    counts = np.bincount([call(i, 0) for i in range(ROWS)], minlength=3) / ROWS
    np.testing.assert_allclose(counts, [0.25, 0.5, 0.25], atol=0.04)


def test_inner_transforms_draw_independently():
    draws = RandomStream.for_rows(np.arange(ROWS, dtype=np.uint64), seed=3, epoch=0, op=9)
    call = T.Compose([V.RandomHorizontalFlip(), V.RandomVerticalFlip()]).row_function(draws)
    picture = np.array([[1, 2], [3, 4]], np.uint8)
    found = [int(call(i, picture)[0, 0]) for i in range(ROWS)]
    assert all(abs(found.count(v) / ROWS - 0.25) < 0.03 for v in (1, 2, 3, 4))


def test_mixes_conserve_their_labels():
    images = np.arange(4 * 8 * 8 * 3, dtype=np.uint8).reshape(4, 8, 8, 3)
    labels = np.eye(4, dtype=np.float32)
    for op in (V.MixUpBatch(), V.CutMixBatch(V.ImageBatchFormat.NHWC), V.MixUp(4, 0.5)):
        for _ in range(5):
            mixed, shares = op(images, labels)
            assert mixed.shape == images.shape
            np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)


def test_perspective_moves_corners_inwards():
    picture = Image.new("RGB", (40, 30), "white")
    made = np.asarray(V.RandomPerspective(0.9, 1.0)(picture))
    assert made.shape == (30, 40, 3)
    assert made.min() == 0, "outside is black"


def test_erasing_paints_a_rectangle_within_its_share():
    ones = np.ones((3, 40, 40), np.float32)
    for _ in range(20):
        made = V.RandomErasing(1.0, (0.1, 0.2), (0.5, 2.0))(ones)
        assert 0.07 < (made[0] == 0).mean() < 0.23
        assert (made[0] == made[2]).all()
