"""Worker processes: a class with settings of its own module, large rows, functions over several columns."""

import detection_settings as settings
import mindspore.dataset as ds
import numpy as np
from report import report, rows


class Pairs:
    """Pictures and masks of one size, as set when the script runs."""

    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        height, width = settings.image_size
        image = np.full((height, width, 3), index, np.uint8)
        return image, (image[..., 0] % 2).astype(np.int32), str(index)

    def __len__(self):
        return self.count


def scaled(image, mask):
    return (image * settings.scales[0]).astype(np.float32), mask, np.float32(settings.scales[0])


def joined(names, info):
    return [np.array(f"{name} of {len(names)}") for name in names]


def main(folder):
    settings.image_size = (3, 4)
    settings.scales = [0.5]
    data = ds.GeneratorDataset(
        Pairs(5), ["image", "mask", "name"], shuffle=False, num_parallel_workers=2, python_multiprocessing=True,
        max_rowsize=8,
    )  # fmt: skip
    data = data.map(
        scaled, ["image", "mask"], ["image", "mask", "scale"], python_multiprocessing=True, num_parallel_workers=2,
        max_rowsize=8,
    )  # fmt: skip
    data = data.batch(
        2, per_batch_map=joined, input_columns=["name"], python_multiprocessing=True, num_parallel_workers=2
    )
    return {"rows": rows(data), "size": data.get_dataset_size(), "names": data.get_col_names()}


if __name__ == "__main__":
    report(main)
