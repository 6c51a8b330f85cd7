import numpy as np

from millrace._src.runtime.ops.image import boxes as b
from millrace._src.runtime.ops.image import crop, nms, roi_align
from millrace._src.runtime.ops.nn import fold
from tests.contracts.ops.samples import Call, Fails, samples

ANCHORS = np.array([[0, 0, 10, 10], [5, 5, 15, 15], [2, 3, 4, 9]], np.float32)
TRUTH = np.array([[0, 0, 10, 10], [4, 4, 8, 20]], np.float32)


@samples(b.iou)
def _(make):
    yield Call(ANCHORS, TRUTH)
    yield Call(ANCHORS, TRUTH, "iof")
    yield Call(ANCHORS + 0.3, TRUTH)
    yield Fails(ANCHORS, TRUTH, "text")
    yield Fails(np.zeros((3, 5), np.float32), TRUTH)


SCORED = np.array(
    [
        [50.0, 68.0, 100.0, 100.0, 0.63],
        [150.0, 75.0, 165.0, 115.0, 0.55],
        [12.0, 190.0, 288.0, 200.0, 0.9],
        [28.0, 130.0, 106.0, 172.0, 0.3],
        [20.0, 180.0, 280.0, 200.0, 0.8],
        [25.0, 130.0, 110.0, 170.0, 0.4],
        [26.0, 131.0, 120.0, 175.0, 0.35],
        [60.0, 50.0, 110.0, 90.0, 0.7],
    ],
    np.float32,
)


@samples(nms.nms_with_mask)
def _(make):
    yield Call(SCORED, 0.1)
    yield Call(SCORED, 0.5)
    yield Call(SCORED)
    yield Call(SCORED[:1], 0.5)
    yield Fails(ANCHORS, 0.5)


@samples(b.bounding_box_encode)
def _(make):
    low = make(5, 2, low=0, high=9)
    boxes = np.concatenate([low, low + make(5, 2, low=1, high=9)], 1)
    yield Call(boxes, boxes + make(5, 4, low=0, high=0.5))
    yield Call(boxes, boxes + make(5, 4, low=0, high=0.5), (0.1, 0.2, 0.3, 0.4), (1.0, 2.0, 3.0, 4.0))
    yield Fails(boxes, boxes, (0.1, 0.2))
    yield Fails(boxes[:, :3], boxes)


@samples(b.bounding_box_decode)
def _(make):
    low = make(5, 2, low=0, high=9)
    boxes = np.concatenate([low, low + make(5, 2, low=1, high=9)], 1)
    yield Call(boxes, make(5, 4), (768, 1280))
    yield Call(boxes, make(5, 4), (8, 10), (0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.3, 0.4), 0.5)
    yield Fails(boxes, make(5, 4), (8, 10, 3))


@samples(b.check_valid)
def _(make):
    boxes = np.array([[0, 0, 1, 3], [2, 2, 9, 9], [-1, 0, 1, 1], [0, 0, 2, 3], [0, 0, 2, 2]], np.float32)
    yield Call(boxes, np.array([4, 3, 1], np.float32))
    yield Call(boxes, np.array([8, 6, 0.5], np.float32))
    yield Fails(boxes, np.array([8, 6], np.float32))


ROIS = np.array([[0, 1, 1, 6, 5], [1, 0, 0, 20, 20], [0, 3, 2, 3.5, 2.5], [1, -4, -3, 2, 3]], np.float32)


@samples(roi_align.roi_align)
def _(make):
    yield Call(make(2, 3, 8, 7), ROIS, 2, 2, 0.5, 2, 0)
    yield Call(make(2, 3, 8, 7), ROIS, 2, 2, 0.5, 2, 1)
    yield Call(make(2, 3, 8, 7), ROIS, 3, 2, 1.0)
    yield Call(make(2, 3, 8, 7), ROIS[:2], 2, 3, 0.5, 0)
    yield Fails(make(3, 8, 7), ROIS, 2, 2, 0.5)


@samples(crop.crop_and_resize)
def _(make):
    image = make(2, 4, 5, 3)
    shares = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.6, 1.4], [0.9, 0.9, 0.1, 0.2]], np.float32)
    which = np.array([0, 1, 1], np.int32)
    yield Call(image, shares, which, (2, 3))
    yield Call(image, shares, which, (2, 3), "nearest", 0.5)
    yield Call(image, np.clip(shares, 0.1, 0.7), which, (2, 3), "bilinear_v2")
    yield Call(image, shares, which, (1, 1))
    yield Fails(image, shares, which, (2, 3), "text")
    yield Fails(image, shares, which, (2,))


@samples(fold.extract_patches)
def _(make):
    yield Call(make(1, 2, 4, 5), [1, 2, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1])
    yield Call(make(1, 2, 4, 5), [1, 2, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
