"""The module names of MindSpore 1.x, which 2.7 still has: c_transforms and py_transforms side by side."""

import mindspore.dataset as de
import mindspore.dataset.transforms.c_transforms as C2
import mindspore.dataset.transforms.py_transforms as P2
import mindspore.dataset.vision.c_transforms as C
import mindspore.dataset.vision.py_transforms as P
import numpy as np
from mindspore.common import dtype as mstype
from mindspore.dataset.vision import Inter
from report import attempt, report, rows


class Pictures:
    def __getitem__(self, index):
        return (np.arange(8 * 6 * 3, dtype=np.int64) * (index + 3) % 256).reshape(8, 6, 3).astype(
            np.uint8
        ), index

    def __len__(self):
        return 3


def pictures():
    return de.GeneratorDataset(Pictures(), ["image", "label"], shuffle=False)


def main(folder):
    native = pictures().map(
        [C.Resize((4, 4), interpolation=Inter.LINEAR), C.Rescale(1 / 255.0, 0.0), C.HWC2CHW()], "image"
    )
    native = native.map(C2.TypeCast(mstype.int32), "label").map(C2.OneHot(3), "label").batch(3)
    pillow = pictures().map(
        P2.Compose([P.ToPIL(), P.CenterCrop(4), P.ToTensor(), P.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]),
        "image",
    )
    return {
        "native": rows(native),
        "pillow": rows(pillow.batch(2)),
        "eager": C.Pad(1)(Pictures()[0][0][:2, :2]),
        "flip": C.RandomHorizontalFlip(1.0)(Pictures()[1][0][:2, :2]),
        "pair": rows(pictures().map(C2.Duplicate(), ["label"], ["one", "two"]).project(["one", "two"])),
        "hot": attempt(lambda: P2.OneHotOp(4)(np.array(2))),
    }


if __name__ == "__main__":
    report(main)
