"""Build a training-like pipeline for the files at a path."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core.errors import ArgumentValueError, MillraceError

from . import user_pipeline as script
from .input_files import InputFiles, find

__all__ = ["Target", "bytes_of", "build_target"]

IMAGE_STEPS = """\
data = data.map(vision.Decode(), input_columns={column!r})
data = data.map(vision.RandomResizedCrop(224), input_columns={column!r})
data = data.map(vision.RandomHorizontalFlip(), input_columns={column!r})
mean, std = [124, 116, 104], [58, 57, 57]
data = data.map(vision.Normalize(mean, std), input_columns={column!r})
data = data.map(vision.HWC2CHW(), input_columns={column!r})
"""

MAGIC = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM", b"RIFF", b"II*\0", b"MM\0*")
SAMPLE_ROWS = 16


@dataclasses.dataclass
class Target:
    """The pipeline to measure, and the code that builds it."""

    what: str
    data_format: str
    data: ds.Dataset
    # the code that builds it, for the user to copy; "" for the user's own pipeline
    code: str = ""
    unit: str = "rows"
    files: list[str] = dataclasses.field(default_factory=list)
    file_bytes: int = 0
    # file -> why it was skipped before the run
    bad: dict[str, str] = dataclasses.field(default_factory=dict)


def build_target(paths: list[str], batch: int, decode: bool) -> Target:
    """Build the pipeline for the files at these paths. Raises ArgumentValueError where none can be built."""
    input_files = find(paths)
    if input_files.data_format in ("python", "json"):
        if len(input_files.files) > 1:
            raise ArgumentValueError(f"expected one pipeline file, got {', '.join(input_files.files)}")
        load = script.from_python if input_files.data_format == "python" else script.from_json
        return Target(f"the pipeline of {input_files.files[0]}", "pipeline", load(input_files.files[0]))
    if input_files.data_format == "images":
        return _build_image_target(input_files, batch, decode)
    return _build_record_target(input_files, batch, decode)


def _format_count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _build_image_target(input_files: InputFiles, batch: int, decode: bool) -> Target:
    """Target for a folder of images at any nesting: each folder that contains images is a class."""
    folders = sorted({os.path.relpath(os.path.dirname(file), input_files.root) for file in input_files.files})
    classes = {folder: number for number, folder in enumerate(folders)}
    endings = sorted({os.path.splitext(file)[1] for file in input_files.files}, key=str.lower)
    plain = all(os.sep not in folder and folder != "." for folder in folders) and _only_classes(
        input_files, folders
    )
    code = f"folder = {input_files.root!r}\n"
    if not plain:
        code += "# each folder with images in it is a class\n"
        code += f"classes = {classes if len(classes) <= 2 else _abridge_classes(classes)}\n"
        code += (
            f"data = ds.ImageFolderDataset(\n    folder, extensions={endings!r}, class_indexing=classes\n)\n"
        )
    else:
        code += f"data = ds.ImageFolderDataset(folder, extensions={endings!r})\n"
    if decode:
        code += f"{IMAGE_STEPS.format(column='image')}data = data.batch({batch})"
    else:
        code += f"data = data.padded_batch({batch}, pad_info={{}})"
    what = f"{_format_count(len(input_files.files), 'image')} in {_format_count(len(folders), 'folder')}"
    data = _run(code.replace(_abridge_classes(classes), repr(classes)), {})
    return Target(what, "images", data, code, "images", input_files.files, input_files.bytes)


def _abridge_classes(classes: dict[str, int]) -> str:
    """A long class table, shortened for display."""
    first = next(iter(classes))
    return f"{{{first!r}: 0, ...}}  # {len(classes)} in all"


def _only_classes(input_files: InputFiles, folders: list[str]) -> bool:
    """Whether every folder below the root is a class, as ImageFolderDataset reads them."""
    below = [e.name for e in os.scandir(input_files.root) if e.is_dir() and not e.name.startswith(".")]
    return sorted(below) == folders


def _run(code: str, names: dict[str, Any]) -> ds.Dataset:
    """Execute the code that is shown to the user, and return its dataset."""
    names = {"ds": ds, "vision": vision, **names}
    exec(compile(code, "pipeline", "exec"), names)
    dataset: ds.Dataset = names["data"]
    return dataset


_OPENERS = {
    "mindrecord": "ds.MindDataset({files}, shuffle=True)",
    "tfrecord": "ds.TFRecordDataset({files}, shuffle=True)",
    "csv": "ds.CSVDataset({files}, shuffle=True)",
    "text": "ds.TextFileDataset({files}, shuffle=True)",
}
_NAMES = {
    "mindrecord": "MindRecord file",
    "tfrecord": "TFRecord file",
    "csv": "CSV file",
    "text": "text file",
}


def _build_record_target(input_files: InputFiles, batch: int, decode: bool) -> Target:
    files, bad = list(input_files.files), {}
    while True:
        source = repr(files[0]) if len(files) == 1 else "files"
        code = f"data = {_OPENERS[input_files.data_format].format(files=source)}\n"
        try:
            data = _run(code, {"files": files})
            rows = data.get_dataset_size()
            break
        except MillraceError as error:
            culprit = next((file for file in files if _is_same(file, error)), None)
            if culprit is None or len(files) == 1:
                raise ArgumentValueError(_first_line(error)) from error
            bad[culprit] = _first_line(error)
            files.remove(culprit)
    columns, ragged = _inspect_columns(data)
    images = [name for name, is_image in columns.items() if is_image]
    if decode and images:
        code += IMAGE_STEPS.format(column=images[0])
        ragged.discard(images[0])
    code += f"data = data.padded_batch({batch}, pad_info={{}})" if ragged else f"data = data.batch({batch})"
    what = f"{_format_count(rows, 'row')} in {_format_count(len(files), _NAMES[input_files.data_format])}"
    size = sum(os.path.getsize(file) for file in files)
    dataset = _run(code, {"files": files})
    if len(files) > 1:
        code = f"files = [{files[0]!r}, ...]  # {len(files)} in all\n{code}"
    return Target(what, input_files.data_format, dataset, code, "rows", files, size, bad)


def _first_line(error: MillraceError) -> str:
    """First line of an error; the lines below it name the place, which is known."""
    return str(error).partition("\n")[0]


def _is_same(file: str, error: MillraceError) -> bool:
    named = getattr(error, "file", None)
    return os.path.realpath(named) == os.path.realpath(file) if named else file in str(error)


def _inspect_columns(data: ds.Dataset) -> tuple[dict[str, bool], set[str]]:
    """Columns that contain image files, and columns whose rows differ in shape."""
    images: dict[str, bool] = {}
    shapes: dict[str, set[Any]] = {}
    for row in data.take(SAMPLE_ROWS).create_dict_iterator(num_epochs=1, output_numpy=True):
        for name, value in row.items():
            images[name] = images.get(name, True) and _is_image(value)
            shapes.setdefault(name, set()).add(np.shape(value))
    return images, {name for name, seen in shapes.items() if len(seen) > 1}


def _is_image(value: Any) -> bool:
    return bytes_of(value)[:8].startswith(MAGIC)


def bytes_of(value: Any) -> bytes:
    """The bytes of a file in a row: from an array of uint8 or of one bytes value; b"" for other values."""
    array = np.asarray(value)
    if array.dtype == np.uint8 and array.ndim == 1:
        return array.tobytes()
    return bytes(array.item()) if array.dtype.kind == "S" and array.size == 1 else b""
