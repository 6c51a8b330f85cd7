"""imshow_det_bbox draws what MindSpore 2.7.0 draws (sums of its pictures, recorded)."""

import cv2
import numpy as np
import pytest

from millrace.dataset.utils import imshow_det_bbox

IMAGE = np.zeros((60, 80, 3), np.uint8)
BOXES = np.array([[10, 10, 40, 30, 0.9], [5, 5, 20, 20, 0.2]], np.float32)
LABELS = np.array([[0], [1]])
MASKS = np.zeros((2, 60, 80), np.uint8)
MASKS[0, 12:20, 12:20] = MASKS[1, 30:40, 30:50] = 1


def draw(path, **more):
    given = {"image": IMAGE.copy(), "bboxes": BOXES, "labels": LABELS, "class_names": ["cat", "dog"]}
    return imshow_det_bbox(**(given | {"show": False, "out_file": str(path / "o.png")} | more))


# without text, which versions of OpenCV draw differently
RECORDED = {
    "boxes": ({}, 161670),
    "masks": ({"image": IMAGE + 100, "segm": MASKS}, 1406300),
    "channels first": ({"image": (IMAGE + 50).transpose(2, 0, 1)}, 786570),
    "other looks": ({"thickness": 1, "bbox_color": (1, 2, 3)}, 1308),
    "a mask of another colour": ({"image": IMAGE + 100, "segm": MASKS, "mask_color": (1, 200, 50)}, 1405508),
    "places between pixels": ({"bboxes": BOXES[:, :4] + 0.7}, 167790),
}


@pytest.mark.parametrize("name", RECORDED)
def test_the_same_picture(name, tmp_path):
    more, total = RECORDED[name]
    drawn = draw(tmp_path, **({"bboxes": BOXES[:, :4], "class_names": ["", ""]} | more))
    assert (drawn.shape, drawn.dtype, int(drawn.sum())) == ((60, 80, 3), np.uint8, total)
    assert np.array_equal(cv2.imread(str(tmp_path / "o.png")), drawn)


def test_names_and_scores_are_written_above_the_threshold(tmp_path):
    pink = (203, 192, 255)
    both, one = draw(tmp_path), draw(tmp_path, score_threshold=0.5)
    assert 0 < (one == pink).all(2).sum() < (both == pink).all(2).sum()
    assert (draw(tmp_path, score_threshold=0.95) == 0).all()


def test_the_image_is_taken_as_rgb_and_not_changed(tmp_path):
    image = IMAGE + np.array([1, 2, 3], np.uint8)
    assert draw(tmp_path, image=image, bboxes=BOXES[:0], labels=LABELS[:0])[0, 0].tolist() == [3, 2, 1]
    assert image[0, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "bad",
    [
        {"image": [1]}, {"image": IMAGE[:, :, 0]}, {"bboxes": BOXES[:, :3]}, {"labels": LABELS[:, 0]},
        {"segm": MASKS[:1]}, {"class_names": None}, {"bbox_color": (1, 2)}, {"thickness": 1.5}, {"thickness": -1},
        {"show": 1}, {"wait_time": -1}, {"out_file": 5},
    ],
)  # fmt: skip
def test_bad_arguments_are_named(bad, tmp_path):
    (name,) = bad
    with pytest.raises((TypeError, ValueError), match=name):
        draw(tmp_path, **bad)
