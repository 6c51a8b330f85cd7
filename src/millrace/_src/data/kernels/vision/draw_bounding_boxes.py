"""Draw detections on an image: boxes, class names, scores and masks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public

from .lazy_imports import cv2

__all__ = ["imshow_det_bbox"]

Colour = tuple[int, int, int]


@public("dataset.utils")
def imshow_det_bbox(
    image: npt.NDArray[Any],
    bboxes: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    segm: npt.NDArray[Any] | None = None,
    class_names: Sequence[str] | Mapping[int, str] | None = None,
    score_threshold: float = 0,
    bbox_color: Colour = (0, 255, 0),
    text_color: Colour = (203, 192, 255),
    mask_color: Colour = (128, 0, 128),
    thickness: int = 2,
    font_size: float = 0.8,
    show: bool = True,
    win_name: str = "win",
    wait_time: int = 2000,
    out_file: str | None = None,
) -> npt.NDArray[Any]:
    """Draw bounding boxes and optional masks on an RGB image; return it in OpenCV's channel order, BGR.

    ``bboxes`` is (N, 4) of x, y, width, height, or (N, 5) with a score in the last column; ``labels`` is (N, 1),
    ``segm`` (N, H, W) with ones inside the object. Colours are (B, G, R). ``show`` opens a window for ``wait_time``
    milliseconds; ``out_file`` is the file that the image is written to.

    >>> import numpy as np
    >>> image = np.zeros((40, 60, 3), np.uint8)
    >>> boxes, labels = np.array([[5, 5, 30, 20, 0.9]]), np.array([[0]])
    >>> drawn = imshow_det_bbox(image, boxes, labels, class_names=["cat"], show=False, out_file="cat.png")
    >>> drawn[5, 20].tolist()
    [0, 255, 0]
    """
    _check_arrays(image, bboxes, labels, segm)
    _check_style(class_names, score_threshold, bbox_color, text_color, mask_color, thickness, font_size)
    _check_output(show, win_name, wait_time, out_file)
    assert class_names is not None
    if image.shape[2] not in (1, 3) and image.shape[0] in (1, 3):
        image = image.transpose(1, 2, 0)
    canvas: npt.NDArray[Any] = np.ascontiguousarray(image[:, :, ::-1])
    for number, box in enumerate(bboxes):
        score = float(box[4]) if len(box) == 5 else None
        if score is not None and score < score_threshold:
            continue
        x, y, width, height = (float(part) for part in box[:4])
        corner = int(x), int(y + height)
        cv2.rectangle(canvas, (int(x), int(y)), (int(x + width), corner[1]), bbox_color, thickness)
        text = _class_name(class_names, int(labels[number, 0])) + (
            f"|{score:.2f}" if score is not None else ""
        )
        cv2.putText(canvas, text, corner, cv2.FONT_HERSHEY_SIMPLEX, font_size, text_color, thickness)
        if segm is not None:
            inside = segm[number].astype(bool)
            canvas[inside] = (canvas[inside] * 0.5 + np.array(mask_color) * 0.5).astype(canvas.dtype)
    if out_file is not None:
        _write_image(canvas, out_file)
    if show:
        cv2.imshow(win_name, canvas)
        cv2.waitKey(wait_time)
        cv2.destroyWindow(win_name)
    return canvas


def _class_name(names: Sequence[str] | Mapping[int, str], label: int) -> str:
    if isinstance(names, Mapping):
        return str(names.get(label, f"class {label}"))
    return str(names[label]) if 0 <= label < len(names) else f"class {label}"


def _write_image(image: npt.NDArray[Any], path: str) -> None:
    succeeded, data = cv2.imencode(os.path.splitext(path)[1] or ".png", image)
    if not succeeded:
        raise ArgumentValueError(f"out_file {path!r} cannot be written as an image of that format")
    with open(path, "wb") as file:
        file.write(data.tobytes())


def _require(condition: bool, text: str, got: Any, error_class: type[Exception] = ArgumentTypeError) -> None:
    if not condition:
        shown = f"an array of shape {got.shape}" if isinstance(got, np.ndarray) else repr(got)
        raise error_class(f"{text} Got {shown}.")


def _check_arrays(image: Any, bboxes: Any, labels: Any, segm: Any) -> None:
    def array(value: Any, dimensions: int) -> bool:
        return isinstance(value, np.ndarray) and value.ndim == dimensions

    is_image = array(image, 3) and (image.shape[0] in (1, 3) or image.shape[2] in (1, 3))
    _require(is_image, "image must be a ndarray in (H, W, C) or (C, H, W) format.", image)
    boxes = array(bboxes, 2) and bboxes.shape[1] in (4, 5)
    _require(boxes, "bboxes must be a ndarray in (N, 4) or (N, 5) format.", bboxes)
    paired = array(labels, 2) and labels.shape == (len(bboxes), 1)
    _require(paired, "labels must be a ndarray in (N, 1) format and has same N with bboxes.", labels)
    if segm is not None:
        _require(array(segm, 3), "segm must be a ndarray in (M, H, W) format.", segm)
        enough = len(segm) >= len(bboxes)
        _require(
            enough,
            "number of segm masks must not be less than the number of bboxes.",
            segm,
            ArgumentValueError,
        )


def _check_style(
    names: Any, threshold: Any, box: Any, text: Any, mask: Any, thickness: Any, font_size: Any
) -> None:
    _require(isinstance(names, (tuple, list, dict)), "class_names must be a list, tuple or dict.", names)
    _require(isinstance(threshold, (int, float)), "score_threshold must be an int or float.", threshold)
    for name, colour in (("bbox_color", box), ("text_color", text), ("mask_color", mask)):
        three = isinstance(colour, tuple) and len(colour) == 3
        _require(three, f"{name} must be a three tuple, formatted (B, G, R).", colour)
    _require(type(thickness) is int, "thickness must be an int.", thickness)
    _require(thickness >= 0, "thickness must be larger than or equal to zero.", thickness, ArgumentValueError)
    _require(isinstance(font_size, (int, float)), "font_size must be an int or float.", font_size)


def _check_output(show: Any, win_name: Any, wait_time: Any, out_file: Any) -> None:
    _require(isinstance(show, bool), "show must be a bool.", show)
    _require(isinstance(win_name, str), "win_name must be a str.", win_name)
    _require(type(wait_time) is int, "wait_time must be an int.", wait_time)
    _require(wait_time >= 0, "wait_time must be larger than or equal to zero.", wait_time, ArgumentValueError)
    _require(out_file is None or isinstance(out_file, str), "out_file must be a str.", out_file)
