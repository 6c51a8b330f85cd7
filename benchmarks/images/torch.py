"""PyTorch: torchvision's datasets and transforms (v2) in a DataLoader; and OpenCV in place of both, for speed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import pictures

from . import BATCH, CROP, LABELLED, MASKED, MEAN, SHORT, SIDE, STD, opencv, timed

__all__ = ["evaluate", "loader", "pairs", "pil_evaluate", "pil_train", "train", "variants"]

MODULES = ("cv2", "torch.utils.data", "torchvision.transforms.v2")


def _finish() -> list[Any]:
    import torch
    from torchvision.transforms import v2

    mean, std = [m / 255 for m in MEAN], [s / 255 for s in STD]
    return [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)]


def pil_train() -> Any:
    """As torchvision's reference scripts have it."""
    from torchvision.transforms import v2

    return v2.Compose([v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), *_finish()])


def pil_evaluate() -> Any:
    from torchvision.transforms import v2

    return v2.Compose([v2.Resize(SHORT), v2.CenterCrop(SIDE), *_finish()])


def tensor_read(path: str) -> Any:
    """torchvision's own decoder, in place of Pillow."""
    from torchvision.io import ImageReadMode, decode_image, read_file

    return decode_image(read_file(path), ImageReadMode.RGB)


def loader(rows: Any, workers: int, shuffle: bool, **options: Any) -> Any:
    import torch
    from torch.utils.data import DataLoader

    if workers:
        torch.set_num_threads(1)
    return DataLoader(
        rows, BATCH, shuffle=shuffle, num_workers=workers, persistent_workers=workers > 0, **options
    )


class Rows:
    """What OpenCV makes of each file, as users write it who do not use torchvision."""

    def __init__(self, items: list[Any], function: Callable[..., Any]) -> None:
        self.items, self.function = items, function
        self.random: Any = None

    def __getitem__(self, i: int) -> tuple[Any, ...]:
        if self.random is None:  # one stream per worker
            import torch

            self.random = np.random.default_rng(torch.initial_seed())
        return self.function(self.items[i], self.random)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.items)


def _folder(quick: bool, decode: str, transform: Callable[[], Any], row: Callable[..., Any]) -> Any:
    from torchvision.datasets import ImageFolder

    if decode == "OpenCV":
        return Rows(list(zip(*pictures.paths(quick), strict=True)), row)
    root = str(pictures.classes(quick))
    if decode == "decode_image":
        return ImageFolder(root, transform=transform(), loader=tensor_read)
    return ImageFolder(root, transform=transform())


def train(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    def build() -> Any:
        return loader(_folder(quick, decode, pil_train, opencv.train_file), workers, shuffle=True)

    return timed(build, quick, LABELLED, *MODULES)


def evaluate(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    def build() -> Any:
        return loader(_folder(quick, decode, pil_evaluate, opencv.evaluate_file), workers, shuffle=False)

    return timed(build, quick, LABELLED, *MODULES)


class Pairs:
    """An image and its mask through v2's transforms together: the mask is a Mask, so v2 resizes it as one."""

    def __init__(self, files: list[tuple[str, str]]) -> None:
        from torchvision.transforms import v2

        self.files = files
        self.both = v2.Compose([v2.RandomCrop(CROP), v2.RandomHorizontalFlip(), v2.Resize((SIDE, SIDE))])
        self.finish = v2.Compose(_finish())

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        from PIL import Image

        return self.together(*map(Image.open, self.files[i]))

    def together(self, image: Any, mask: Any) -> tuple[Any, Any]:
        from torchvision import tv_tensors
        from torchvision.transforms.v2.functional import pil_to_tensor

        image, mask = self.both(image.convert("RGB"), tv_tensors.Mask(pil_to_tensor(mask.convert("L"))))
        return self.finish(image), mask[0]

    def __len__(self) -> int:
        return len(self.files)


def pairs(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    def build() -> Any:
        files = pictures.pairs(quick)
        rows: Any = Rows(files, opencv.pair_files) if decode == "OpenCV" else Pairs(files)
        return loader(rows, workers, shuffle=True)

    return timed(build, quick, MASKED, *MODULES)


def variants(work: Any, decoders: tuple[str, ...] = ("Pillow", "decode_image", "OpenCV")) -> dict[str, Any]:
    """Each decoder in two worker processes; Pillow in none was the slowest wherever it was measured."""
    return {f"{name}, 2 workers": functools.partial(work, workers=2, decode=name) for name in decoders}
