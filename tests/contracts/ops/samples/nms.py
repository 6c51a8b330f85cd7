import numpy as np

from millrace._src.runtime.ops.image import boxes as boxes_ops
from millrace._src.runtime.ops.image import nms as s
from tests.contracts.ops.samples import Call, Fails, samples

BOXES = np.float32(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [1, 0.9, 0, -0.1], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]
)
SCORES = np.float32([0.9, 0.75, 0.6, 0.95, 0.5, 0.3])


def i32(value):
    return np.array(value, "int32")


def f32(value):
    return np.array(value, "float32")


@samples(s.non_max_suppression)
def _(make):
    yield Call(BOXES, SCORES, i32(3), f32(0.5), f32(0.0))
    yield Call(BOXES, SCORES, i32(30), f32(0.5), f32(0.4))
    yield Fails(BOXES, SCORES[:3], i32(3), f32(0.5), f32(0.0))
    yield Fails(BOXES, SCORES, i32(3), f32(1.5), f32(0.0))


@samples(s.combined_non_max_suppression)
def _(make):
    boxes = f32(
        [[[[0.1, 0.1, 0.5, 0.5]], [[0.1, 0.12, 0.5, 0.5]], [[0.6, 0.6, 1.2, 0.9]], [[0, 0, 0.1, 0.1]]]]
    )
    scores = f32([[[0.2, 0.7, 0.1], [0.1, 0.8, 0.1], [0.3, 0.6, 0.1], [0.05, 0.9, 0.05]]])
    yield Call(boxes, scores, i32(2), i32(5), f32(0.5), f32(0.15))
    yield Call(boxes, scores, i32(1), i32(5), f32(0.5), f32(0.15), pad_per_class=True, clip_boxes=False)
    yield Call(boxes.repeat(3, 2), scores, i32(4), i32(3), f32(0.9), f32(0.0))
    yield Call(
        make(2, 5, 1, 4, low=0, high=1), make(2, 5, 2, low=0, high=1), i32(3), i32(4), f32(0.3), f32(0.1)
    )
    yield Fails(boxes[0], scores, i32(2), i32(5), f32(0.5), f32(0.15))
    yield Fails(boxes, scores, i32(0), i32(5), f32(0.5), f32(0.15))
    yield Fails(boxes, scores, i32(2), i32(5), f32(1.5), f32(0.15))


@samples(boxes_ops.sample_distorted_bounding_box)
def _(make):
    size, box, least = i32([640, 480, 3]), f32([[[0.2, 0.1, 0.9, 0.8]]]), f32([0.1])
    yield Call(size, box, least)
    yield Call(size, np.zeros((0, 0, 4), "float32"), least, use_image_if_no_bounding_boxes=True)
    yield Fails(size[:2], box, least)
    yield Fails(size, box, least, area_range=(0.5, 1.5))
