"""A detector's loader: a class over annotations, its own sampler, multi-scale batches by the batch's number."""

import io
import math

import detection_settings as settings
import mindspore.dataset as ds
import numpy as np
from PIL import Image
from report import report, rows


class Boxes:
    """Pictures as encoded bytes, a list of boxes, and empty places that the batch function fills."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        pixels = np.full((8 + index, 10, 3), index * 20, np.uint8)
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        data = np.frombuffer(file.getvalue(), np.uint8)
        boxes = [[k, k + 1, k + 4, k + 5, index % 3] for k in range(index % 3 + 1)]
        return data, boxes, [], []


class EveryRank:
    """A sampler that is no subclass of anything: each rank takes every nth row, padded to equal shares."""

    def __init__(self, size, ranks, rank, shuffle):
        self.size, self.ranks, self.rank, self.shuffle = size, ranks, rank, shuffle
        self.share = math.ceil(size / ranks)
        self.epoch = 0

    def __iter__(self):
        order = list(range(self.size))
        if self.shuffle:
            order = np.random.RandomState(self.epoch).permutation(self.size).tolist()
            self.epoch += 1
        order += order[: self.share * self.ranks - self.size]
        return iter(order[self.rank :: self.ranks])

    def __len__(self):
        return self.share


class MultiScale:
    """A per_batch_map with state, called with lists and the number of the batch."""

    def __init__(self):
        self.scales = [(4, 4), (6, 6)]

    def __call__(self, images, boxes, small, large, info):
        side = self.scales[info.get_batch_num() % 2][0]
        made, targets, counts = [], [], []
        for image, box in zip(images, boxes):
            made.append(image[:side, :side].transpose(2, 0, 1).astype(np.float32) / 255)
            padded = np.zeros((settings.max_boxes, 5), np.float32)
            padded[: min(len(box), settings.max_boxes)] = np.asarray(box, np.float32)[: settings.max_boxes]
            targets.append(padded)
            counts.append(np.int32(len(box)))
        epoch = [np.int32(info.get_epoch_num())] * len(made)
        return np.stack(made), np.stack(targets), counts, epoch


def shape_of(image, number):
    height, width = image.shape[:2]
    return (
        image[: settings.image_size[0], : settings.image_size[1]],
        np.array([height, width], np.int32),
        number,
    )


class Evaluation(Boxes):
    def __getitem__(self, index):
        return Image.fromarray(np.full((5 + index, 6, 3), index, np.uint8)).convert("RGB"), index


def main(folder):
    settings.image_size = (4, 5)
    settings.max_boxes = 3
    columns = ["image", "annotation", "small", "large"]
    train = ds.GeneratorDataset(Boxes(7), column_names=columns, sampler=EveryRank(7, 2, 1, False))
    train = train.map(operations=ds.vision.Decode(), input_columns=["image"])
    train = train.batch(
        2, per_batch_map=MultiScale(), input_columns=columns, num_parallel_workers=2, drop_remainder=True
    )
    shuffled = ds.GeneratorDataset(
        Boxes(5), columns, sampler=EveryRank(5, 1, 0, True), num_parallel_workers=1
    )
    shuffled = shuffled.project(["annotation"]).map(lambda box: np.int32(len(box)), "annotation").batch(5)
    test = ds.GeneratorDataset(Evaluation(4), ["image", "number"], sampler=EveryRank(4, 2, 0, False))
    test = test.map(
        operations=shape_of, input_columns=["image", "number"], output_columns=["image", "shape", "number"],
        num_parallel_workers=2,
    )  # fmt: skip
    test = test.map(operations=ds.vision.HWC2CHW(), input_columns=["image"], num_parallel_workers=2)
    test = test.batch(2, drop_remainder=True)
    return {
        "train": rows(train, 2),
        "size": train.get_dataset_size(),
        "shuffled": rows(shuffled, 2),
        "test": rows(test),
        "names": test.get_col_names(),
        "shapes": test.output_shapes(),
        "types": [str(kind) for kind in test.output_types()],
    }


if __name__ == "__main__":
    report(main)
